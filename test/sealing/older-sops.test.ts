/** Earlier releases of sops with the `.sops.yaml` and the files that are written here, and back. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formatManifest } from '../../src/manifests/write.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf, openStream } from '../../src/sealing/open.ts';
import { documentsOf, sealText } from '../../src/sealing/seal.ts';
import { formatSopsConfig, ruleOfKeys } from '../../src/sealing/sops-config.ts';
import { findOlderSops, findSops, OLDER_RELEASES, type OlderRelease, Sops } from './sops.ts';

const PATCHES: Readonly<Record<OlderRelease, string>> = { '3.8': '1', '3.9': '4', '3.10': '2' };
const PROGRAMS: readonly (readonly [string, string | undefined])[] = [
  ...OLDER_RELEASES.map((release) => [release, findOlderSops(release)] as const),
  ['the newest', findSops()],
];
for (const release of OLDER_RELEASES) {
  if (findOlderSops(release) !== undefined) continue;
  const version = `${release}.${PATCHES[release]}`;
  process.stderr.write(
    `SKIPPED: sops ${release}. Install it: GOBIN=~/.cache/gitplane/sops-${version} go install github.com/getsops/sops/v3/cmd/sops@v${version}\n`,
  );
}

const SECRET = {
  kind: 'SharedSecret',
  spec: {
    displayName: 'x',
    data: { '-': 'eA==', '---': 'eA==', lines: 'aHVudGVyMg==\n', user: 'cm9ib3Q=' },
  },
};

describe.each(PROGRAMS)('sops %s', (release, program) => {
  async function folder() {
    const sops = new Sops(program ?? '', mkdtempSync(join(tmpdir(), 'gitplane-sops-')));
    onTestFinished(() => rmSync(sops.folder, { recursive: true, force: true }));
    const [ann, bob] = await Promise.all([makeIdentity(), makeIdentity()]);
    sops.identities(ann.identity);
    mkdirSync(join(sops.folder, 'files'));
    const path = join(sops.folder, 'files/a.yaml');
    const kinds = [{ folder: 'files', keys: ['data'] }];
    const recipients = [ann.recipient, bob.recipient];
    writeFileSync(join(sops.folder, '.sops.yaml'), formatSopsConfig(kinds, recipients));
    return { sops, path, recipients, rings: [ann, bob].map(({ identity }) => [identity]) };
  }

  test.skipIf(program === undefined)(
    'encrypts with the .sops.yaml that is made, for each of its recipients',
    async () => {
      const { sops, path, rings } = await folder();
      writeFileSync(path, formatManifest(SECRET));
      sops.run('-e', '-i', 'files/a.yaml');

      const text = readFileSync(path, 'utf8');
      for (const identities of rings) {
        const ring = await Keyring.open(identities);
        const documents = documentsOf(text);
        const metadata = metadataOf(documents);
        const key = metadata && (await ring.dataKey(metadata.age));
        const [opened] = openStream({ text, documents }, key).documents;
        expect(opened).toMatchObject({ problems: [], value: SECRET });
      }
    },
  );

  test.skipIf(program === undefined)(
    release === '3.8'
      ? 'finds another MAC in a file with mac_only_encrypted, which it does not know'
      : 'opens a file with mac_only_encrypted, and one whose encrypted values are block scalars',
    async () => {
      const { sops, path, recipients, rings } = await folder();
      const ring = await Keyring.open(rings[0] ?? []);
      const rule = ruleOfKeys(['data']);
      const key = await ring.make(recipients);
      const text = sealText(formatManifest(SECRET), { key, rule, now: Date.now() });
      writeFileSync(path, text);
      const open = (): string => sops.run('-d', 'files/a.yaml');
      if (release === '3.8') {
        expect(open).toThrow(/MAC mismatch/);
        return;
      }
      expect(documentsOf(open())[0]?.value).toEqual(SECRET);

      const blocks = text.replace(/^( +)user: (ENC\S+)$/m, '$1user: |\n$1  $2');
      expect(blocks).not.toBe(text);
      writeFileSync(path, blocks);
      expect(documentsOf(open())[0]?.value).toEqual(SECRET);
      const documents = documentsOf(blocks);
      const [ours] = openStream({ text: blocks, documents }, key.dataKey).documents;
      expect(ours).toMatchObject({ problems: [], value: SECRET });
    },
  );

  test.skipIf(program === undefined)('quotes keys as this program does', async () => {
    const { sops, path } = await folder();
    writeFileSync(path, formatManifest(SECRET));
    sops.run('-e', '-i', 'files/a.yaml');
    const keys = (text: string): string[] => text.match(/^ +["']?[-.]+["']?(?=:)/gm) ?? [];
    const trimmed = (text: string): string[] => keys(text).map((key) => key.trim());

    expect(trimmed(readFileSync(path, 'utf8'))).toEqual(trimmed(formatManifest(SECRET)));
    expect(trimmed(formatManifest(SECRET))).toEqual(["'-'", "'---'"]);
  });
});
