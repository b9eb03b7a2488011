/** The identities that a daemon opens sealed secrets with. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openIdentities } from '../../src/bootstrap/age-key.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-age-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

test('a first start makes one, for its owner alone, and the next one keeps it', async () => {
  const first = await openIdentities({ own: at('age.key'), given: [] });
  const again = await openIdentities({ own: at('age.key'), given: [] });

  expect(again).toEqual(first);
  expect(statSync(at('age.key')).mode & 0o777).toBe(0o600);
  expect(readFileSync(at('age.key'), 'utf8')).toContain(`# public key: ${first.recipient}\n`);
});

test('further files open what is sealed for them, and ours is the one to seal for', async () => {
  const [ann, bob] = await Promise.all([makeIdentity(), makeIdentity()]);
  writeFileSync(at('others'), `# two\n${ann.identity}\n\n${bob.identity}\n`);
  writeFileSync(at('again'), `${bob.identity}\n`);
  const given = [at('others'), at('again')];
  const { identities, recipient = '' } = await openIdentities({ own: at('age.key'), given });
  const ring = await Keyring.open(identities);

  expect(await ring.recipients()).toEqual([recipient, ann.recipient, bob.recipient]);
  for (const name of [recipient, ann.recipient, bob.recipient]) {
    const { age, dataKey } = await new Keyring([]).make([name]);
    expect(ring.known(age)).toEqual(dataKey);
  }
});

test.each<[string, string | undefined, RegExp]>([
  ['is not there', undefined, /^Cannot read .*given: it does not exist$/],
  ['is empty', '# nothing\n', /^Cannot use .*given: it holds no age identity$/],
  [
    'has a typing error',
    'AGE-SECRET-KEY-1QQ!\n',
    /^Cannot use .*given: line 1 is not an age identity/,
  ],
])('a file that %s stops the start, and is not quoted', async (_, text, words) => {
  if (text !== undefined) writeFileSync(at('given'), text);
  const opening = openIdentities({ own: at('age.key'), given: [at('given')] });

  await expect(opening).rejects.toThrow(words);
  await expect(opening).rejects.not.toThrow(/QQ!/);
});
