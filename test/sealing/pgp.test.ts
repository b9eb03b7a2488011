/** Files for age and PGP recipients, with the real gpg and sops: each side reads and keeps what the other wrote. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, describe, expect } from 'vitest';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf, openStream } from '../../src/sealing/open.ts';
import { type PgpKeys, wrapForPgp } from '../../src/sealing/pgp.ts';
import { documentsOf, Reuse, sealText, unsealText } from '../../src/sealing/seal.ts';
import { ruleOfKeys } from '../../src/sealing/sops-config.ts';
import { openGpgKeyring } from '../../src/signatures/gpg-keyring.ts';
import { GPG_MISSING, PgpHome } from './pgp-home.ts';
import { findOlderSops, findSops, OLDER_RELEASES, Sops } from './sops.ts';

const RULE = ruleOfKeys(['data']);
const CLEAR = 'kind: SharedSecret\nspec:\n  data:\n    user: YW5u\n    password: aHVudGVyMg==\n';
const CHANGED = CLEAR.replace('aHVudGVyMg==', 'bmV3');
const PROGRAMS = [
  ...OLDER_RELEASES.map((release) => [release, findOlderSops(release)] as const),
  ['the newest', findSops()] as const,
];

const test = anyTest.skipIf(GPG_MISSING !== undefined);
if (GPG_MISSING) process.stderr.write(`SKIPPED: ${GPG_MISSING}\n`);

let gpg: PgpHome;
let ann: string;
let bob: string;
let old: string;
let keys: PgpKeys;
let ring: Keyring;
let own: { identity: string; recipient: string };

beforeAll(async () => {
  if (GPG_MISSING) return;
  gpg = new PgpHome();
  [ann, bob] = [gpg.newKey('ann'), gpg.newKey('bob')];
  old = gpg.newKey('old', '2020-02-01', '--faked-system-time', '20200101T000000');
  keys = await openGpgKeyring(gpg.exported(ann, bob, old), join(gpg.folder, 'public'));
  own = await makeIdentity();
  ring = await Keyring.open([own.identity], { marks: true });
});
afterAll(() => gpg?.close());

async function sealed(...fingerprints: readonly string[]): Promise<string> {
  const key = await ring.make([own.recipient], (dataKey) =>
    wrapForPgp(dataKey, fingerprints, keys),
  );
  return sealText(CLEAR, { key, rule: RULE, now: 0 });
}

async function opened(text: string) {
  const metadata = metadataOf(documentsOf(text));
  const dataKey = metadata && (await ring.dataKey(metadata.age));
  if (metadata === undefined || dataKey === undefined) throw new Error('it does not open');
  return { metadata, dataKey, file: openStream({ text, documents: documentsOf(text) }, dataKey) };
}

/** As `gitplane edit` does it. */
async function edited(text: string): Promise<string> {
  const { metadata, dataKey, file } = await opened(text);
  const clear = unsealText(text, dataKey).replace('aHVudGVyMg==', 'bmV3');
  const key = { dataKey, age: metadata.age, ...(metadata.pgp && { pgp: metadata.pgp }) };
  const of = { key, rule: RULE, reuse: new Reuse(file.sealed), previous: metadata };
  return sealText(clear, { ...of, now: Date.now() });
}

const pgpBlock = (text: string): string =>
  /^ {2,4}pgp:\n(?:(?: {4,}| {2,4}-).*\n|\n)+/m.exec(text)?.[0] ?? '';

test('each PGP recipient opens the data key, and the file tells them apart', async () => {
  const text = await sealed(ann, bob);
  const { metadata, dataKey } = await opened(text);

  expect(metadata.pgp?.map(({ fp }) => fp)).toEqual([ann, bob]);
  for (const { enc } of metadata.pgp ?? []) expect(gpg.decrypt(enc).equals(dataKey)).toBe(true);
  expect(metadata.age.map(({ recipient }) => recipient)).toEqual([own.recipient]);
});

test('a mark covers them: an added or changed entry is foreign', async () => {
  const { metadata, dataKey } = await opened(await sealed(ann));
  const { age, pgp = [], mark } = metadata;

  expect(ring.isOwn({ dataKey, age, pgp, mark })).toBe(true);
  expect(ring.isOwn({ dataKey, age, mark })).toBe(false);
  expect(ring.isOwn({ dataKey, age, mark, pgp: [...pgp, ...pgp] })).toBe(false);
  const changed = pgp.map((entry) => ({ ...entry, enc: 'x' }));
  expect(ring.isOwn({ dataKey, age, mark, pgp: changed })).toBe(false);
});

test.each<[string, () => string, RegExp]>([
  [
    'that is not here',
    () => 'A'.repeat(40),
    /^the PGP key A{40} is named, .*gpg --armor --export A{40}.*--pgp-keys$/,
  ],
  [
    'that has expired',
    () => old,
    /^gpg cannot encrypt for the key [0-9A-F]{40}: .*(expired|unusable|skipped|failed)/,
  ],
])('a key %s is refused with the reason', async (_what, fingerprint, expected) => {
  await expect(sealed(fingerprint())).rejects.toThrow(expected);
});

test('a file for PGP keys alone names its readers, and the remedy', async () => {
  const text = (await sealed(ann)).replace(
    /^ {2,4}age:\n(?: {4,}.*\n|\n| {2,4}-.*\n)+?(?= {2}\w)/m,
    '',
  );
  const { unreadable } = openStream({ text, documents: documentsOf(text) }, undefined);

  expect(unreadable).toMatch(new RegExp(`for the PGP keys ${ann} alone, .*updatekeys`));
});

describe.each(PROGRAMS)('sops %s', (release, program) => {
  const it = anyTest.skipIf(GPG_MISSING !== undefined || program === undefined);
  let sops: Sops;

  beforeAll(() => {
    if (program === undefined || GPG_MISSING) return;
    sops = new Sops(program, mkdtempSync(join(tmpdir(), 'gitplane-sops-')));
    process.env['GNUPGHOME'] = gpg.home;
    sops.identities();
  });
  afterAll(() => {
    delete process.env['GNUPGHOME'];
    if (sops !== undefined) rmSync(sops.folder, { recursive: true, force: true });
  });

  const decrypted = (text: string): unknown => {
    writeFileSync(join(sops.folder, 'a.yaml'), text);
    return documentsOf(sops.run('-d', 'a.yaml'))[0]?.value;
  };

  // 3.8 does not know mac_only_encrypted, which every file that is made here says.
  anyTest.skipIf(GPG_MISSING !== undefined || program === undefined || release === '3.8')(
    'opens with gpg alone what is made here',
    async () => {
      expect(decrypted(await sealed(ann))).toEqual(documentsOf(CLEAR)[0]?.value);
    },
  );

  function byTheirs(): string {
    writeFileSync(
      join(sops.folder, '.sops.yaml'),
      `creation_rules:\n  - encrypted_regex: ^data$\n    age: ${own.recipient}\n    pgp: ${ann},${bob}\n`,
    );
    writeFileSync(join(sops.folder, 'a.yaml'), CLEAR);
    sops.run('-e', '-i', 'a.yaml');
    return readFileSync(join(sops.folder, 'a.yaml'), 'utf8');
  }

  it('keeps its PGP recipients through an edit of its file here', async () => {
    const theirs = byTheirs();
    const ours = await edited(theirs);

    expect(metadataOf(documentsOf(theirs))?.pgp?.map(({ fp }) => fp)).toEqual([ann, bob]);
    expect(metadataOf(documentsOf(ours))?.pgp).toEqual(metadataOf(documentsOf(theirs))?.pgp);
    expect(decrypted(ours)).toEqual(documentsOf(CHANGED)[0]?.value);
  });

  it('keeps them byte for byte when a value is added to its file here', async () => {
    const theirs = byTheirs();
    const { metadata, dataKey } = await opened(theirs);
    const more = theirs.replace(/^( +)user:/m, '$1more: bW9yZQ==\n$1user:');
    const key = { dataKey, age: metadata.age, ...(metadata.pgp && { pgp: metadata.pgp }) };
    const ours = sealText(more, { key, rule: RULE, now: Date.now() });

    expect(pgpBlock(theirs)).toContain(bob);
    expect(pgpBlock(ours)).toBe(pgpBlock(theirs));
    expect(decrypted(ours)).toMatchObject({ spec: { data: { more: 'bW9yZQ==' } } });
  });
});
