/** API writes to files that holders of PGP keys read as well. */
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, beforeEach, describe, expect } from 'vitest';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf } from '../../src/sealing/open.ts';
import type { PgpKeys } from '../../src/sealing/pgp.ts';
import { documentsOf } from '../../src/sealing/seal.ts';
import { openGpgKeyring } from '../../src/signatures/gpg-keyring.ts';
import { GPG_MISSING, PgpHome } from '../sealing/pgp-home.ts';
import { git } from '../support/git.ts';
import { kindOf, openTestPlatform, type TestPlatform, writeOptions } from '../support/platform.ts';

const PATH = 'namespaces/web/sharedsecrets/cdn.yaml';
const test = anyTest.skipIf(GPG_MISSING !== undefined);

let gpg: PgpHome;
let ann: string;
let bob: string;
let keys: PgpKeys;
let ours: { identity: string; recipient: string };
let keyring: Keyring;
let platform: TestPlatform;

beforeAll(async () => {
  if (GPG_MISSING) return;
  gpg = new PgpHome();
  [ann, bob] = [gpg.newKey('ann'), gpg.newKey('bob')];
  keys = await openGpgKeyring(gpg.exported(ann), join(gpg.folder, 'public'));
  ours = await makeIdentity();
  keyring = await Keyring.open([ours.identity], { marks: true });
});
afterAll(() => gpg?.close());

const config = (...pgp: string[]): string =>
  `creation_rules:\n  - encrypted_regex: ^data$\n    mac_only_encrypted: true\n    age: ${ours.recipient}\n${pgp.length > 0 ? `    pgp: ${pgp.join(',')}\n` : ''}`;

const inGit = (): string => git(platform.repository.gitDir, ['show', `main:${PATH}`]);
const entries = () => metadataOf(documentsOf(inGit()))?.pgp ?? [];
const changedLines = (): number =>
  git(platform.repository.gitDir, ['show', '--format=', '-U0', 'main'])
    .split('\n')
    .filter((line) => /^\+(?!\+\+)/.test(line)).length;

function create(): Promise<unknown> {
  const spec = { displayName: 'CDN', data: { user: 'YW5u', password: 'aHVudGVyMg==' } };
  return platform.create('sharedsecrets', { metadata: { name: 'cdn' }, spec }, 'web');
}

function change(data: object): Promise<unknown> {
  return platform.registry.update({
    verb: 'patch',
    kind: kindOf('sharedsecrets'),
    namespace: 'web',
    name: 'cdn',
    duplicates: [],
    options: writeOptions,
    change: (current) => {
      const copy = structuredClone(current);
      Object.assign(copy.spec?.['data'] ?? {}, data);
      return copy;
    },
  });
}

async function dataKey(): Promise<Buffer | undefined> {
  return await keyring.dataKey(metadataOf(documentsOf(inGit()))?.age ?? []);
}

describe('a repository whose .sops.yaml names PGP keys beside age', () => {
  beforeEach(async () => {
    if (GPG_MISSING) return;
    platform = await openTestPlatform({ keyring, pgpKeys: keys });
    await platform.commit({ '.sops.yaml': config(ann) });
  });

  test('has new files for both, and keeps the entries byte for byte', async () => {
    await create();
    const [entry] = entries();
    expect(entry?.fp).toBe(ann);
    const key = await dataKey();
    expect(gpg.decrypt(entry?.enc ?? '').equals(key ?? Buffer.alloc(0))).toBe(true);
    await change({ password: 'bmV3' });

    // The value and the MAC, and the time in another second.
    expect([2, 3]).toContain(changedLines());
    expect(entries()).toEqual([entry]);
    expect(await dataKey()).toEqual(key);
  });

  test('a PGP key that is added later is in every file from its next write on', async () => {
    await platform.commit({ '.sops.yaml': config() });
    await create();
    expect(entries()).toEqual([]);
    await platform.commit({ '.sops.yaml': config(ann) });
    await change({ password: 'bmV3' });

    expect(entries().map(({ fp }) => fp)).toEqual([ann]);
    const [{ enc = '' } = {}] = entries();
    expect(gpg.decrypt(enc)).toEqual(await dataKey());
  });

  test('a removed PGP key opens no later write', async () => {
    await create();
    const before = await dataKey();
    await platform.commit({ '.sops.yaml': config() });
    await change({ password: 'bmV3' });

    expect(entries()).toEqual([]);
    expect(await dataKey()).not.toEqual(before);
  });

  test('takes no write without the public key, which the refusal asks for', async () => {
    await create();
    const before = inGit();
    await platform.commit({ '.sops.yaml': config(ann, bob) });

    await expect(change({ password: 'bmV3' })).rejects.toMatchObject({
      code: 409,
      message: expect.stringMatching(
        new RegExp(
          `${PATH}: the PGP key ${bob} is named, .*gpg --armor --export ${bob}.*--pgp-keys`,
        ),
      ),
    });
    expect(inGit()).toBe(before);
  });

  test('takes no PGP recipient from the file alone', async () => {
    await create();
    const before = await dataKey();
    await platform.commit({ [PATH]: inGit().replaceAll(ann, bob) });
    await change({ user: 'Ym9i' });

    expect(entries().map(({ fp }) => fp)).toEqual([ann]);
    expect(await dataKey()).not.toEqual(before);
  });
});
