/** `serve --pgp-keys` and `doctor`: holders of PGP keys read what the daemon seals, with gpg alone. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import { metadataOf, openStream } from '../../src/sealing/open.ts';
import { documentsOf, unsealText } from '../../src/sealing/seal.ts';
import { GPG_MISSING, PgpHome } from '../sealing/pgp-home.ts';
import { findSops } from '../sealing/sops.ts';
import {
  type Answer,
  API,
  type Daemon,
  type RunResult,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { git } from '../support/git.ts';

const test = anyTest.skipIf(GPG_MISSING !== undefined);
const SECRETS = `${API}/namespaces/web/sharedsecrets`;
const PATH = 'namespaces/web/sharedsecrets/cdn.yaml';
const MAIN = join(import.meta.dirname, '../../dist/main.js');
const HUNTER = Buffer.from('hunter2').toString('base64');

let gpg: PgpHome;
let ann: string;
let bob: string;
let old: string;
let file: string;
let daemon: Daemon;

beforeAll(async () => {
  if (GPG_MISSING) return;
  gpg = new PgpHome();
  [ann, bob] = [gpg.newKey('ann'), gpg.newKey('bob')];
  old = gpg.newKey('old', '2020-02-01', '--faked-system-time', '20200101T000000');
  file = gpg.exported(ann, old);
  daemon = await startDaemon({ args: ['--pgp-keys', file] });
});

afterAll(async () => {
  await daemon?.stop();
  gpg?.close();
});

/** Names PGP keys beside the age recipient of the daemon, by a push. */
async function pushRecipients(...fingerprints: readonly string[]): Promise<RunResult> {
  const clone = await daemon.clone();
  const config = join(clone, '.sops.yaml');
  const text = readFileSync(config, 'utf8').replaceAll(/^ +pgp: .*\n/gm, '');
  writeFileSync(config, text.replaceAll(/^( +)age: .*$/gm, `$&\n$1pgp: ${fingerprints.join(',')}`));
  await daemon.git(['commit', '-qam', 'Recipients'], clone);
  return await daemon.git(['push'], clone);
}

async function create(name: string, data: object): Promise<Answer> {
  return await daemon.call('POST', SECRETS, { body: { metadata: { name }, spec: { data } } });
}

function inGit(path = PATH): string {
  return git(join(daemon.dataDir, 'repo.git'), ['show', `main:${path}`]);
}

async function checked(...args: readonly string[]): Promise<string | undefined> {
  const command = [MAIN, 'doctor', '--data-dir', daemon.dataDir, ...args];
  const { stdout } = await run(process.execPath, command, { cwd: scratchDir() });
  return /^\S+ +recipients.*$/m.exec(stdout)?.[0];
}

test('a repository without PGP keys is not checked', async () => {
  expect(await checked()).toBeUndefined();
});

test('a secret of the API is opened with the PGP key alone, before and after a change', async () => {
  const pushed = await pushRecipients(ann);
  expect(pushed.code, pushed.stderr).toBe(0);
  const made = await create('cdn', { password: HUNTER });
  expect(made.code, made.text).toBe(201);
  const [entry] = metadataOf(documentsOf(inGit()))?.pgp ?? [];
  expect(entry?.fp).toBe(ann);
  const dataKey = gpg.decrypt(entry?.enc ?? '');
  expect(unsealText(inGit(), dataKey)).toContain(HUNTER);

  const body = { spec: { data: { user: 'YW5u' } } };
  const type = 'application/merge-patch+json';
  const changed = await daemon.call('PATCH', `${SECRETS}/cdn`, { body, type });
  expect(changed.code, changed.text).toBe(200);
  const text = inGit();
  expect(metadataOf(documentsOf(text))?.pgp).toEqual([entry]);
  expect(() => openStream({ text, documents: documentsOf(text) }, dataKey)).not.toThrow();
  expect(unsealText(text, dataKey)).toContain('YW5u');
});

anyTest.skipIf(GPG_MISSING !== undefined || findSops() === undefined)(
  'sops opens it for the holder of the PGP key',
  () => {
    const path = join(scratchDir(), 'cdn.yaml');
    writeFileSync(path, inGit());
    const env = { ...process.env, GNUPGHOME: gpg.home, SOPS_AGE_KEY_FILE: '/dev/null' };
    const clear = execFileSync(findSops() ?? '', ['decrypt', path], { env, encoding: 'utf8' });
    expect(clear).toContain(HUNTER);
  },
);

test('a push that names a key without its public key is refused with its place', async () => {
  const { code, stderr } = await pushRecipients(ann, bob);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    new RegExp(`\\.sops\\.yaml:\\d+:\\d+: .*${bob}.*gpg --armor --export ${bob}`),
  );
});

test('doctor reports each key that cannot be encrypted for', async () => {
  expect(await checked('--pgp-keys', file)).toBe(
    'ok       recipients: every PGP key of .sops.yaml can be encrypted for',
  );
  expect(await checked()).toMatch(
    new RegExp(`^PROBLEM +recipients: .*${ann}.* --pgp-keys. Writes`),
  );
  expect(await checked('--pgp-keys', gpg.exported(bob))).toMatch(
    new RegExp(`^PROBLEM +recipients: .*gpg --armor --export ${ann}`),
  );
  expect(await checked('--pgp-keys', join(gpg.folder, 'none'))).toMatch(
    /^PROBLEM +recipients: Cannot use the keyring .*none/,
  );
});

test('a key that has expired refuses writes, and doctor reports it', async () => {
  const pushed = await pushRecipients(ann, old);
  expect(pushed.code, pushed.stderr).toBe(0);
  const refused = await create('late', { password: HUNTER });
  expect([refused.code, refused.json().message]).toEqual([
    409,
    expect.stringContaining(`gpg cannot encrypt for the key ${old}`),
  ]);
  expect(await checked('--pgp-keys', file)).toMatch(
    new RegExp(`^PROBLEM +recipients: gpg cannot encrypt for the key ${old}`),
  );
  expect((await pushRecipients(ann)).code).toBe(0);
});

test('a start without the keys reads the existing files, and refuses to seal', async () => {
  await daemon.stop();
  daemon = await startDaemon({ dataDir: daemon.dataDir });
  const found = await daemon.call('GET', `${SECRETS}/cdn`);
  expect(found.json().spec.data.password).toBe(HUNTER);
  const refused = await create('later', { password: HUNTER });
  expect([refused.code, refused.json().message]).toEqual([
    409,
    expect.stringContaining(`gpg --armor --export ${ann}`),
  ]);
});
