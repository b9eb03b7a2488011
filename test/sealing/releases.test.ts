/**
 * 200 random files both ways with four releases of sops: the newest, 3.8, 3.9 and 3.10. Many files
 * are documents of one stream, because a process of sops takes longer than a document.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { formatManifest } from '../../src/manifests/write.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf, type OpenedFile, openStream } from '../../src/sealing/open.ts';
import { documentsOf, Reuse, sealText, unsealText } from '../../src/sealing/seal.ts';
import { formatSopsConfig } from '../../src/sealing/sops-config.ts';
import { file, RULE } from './documents.ts';
import { findOlderSops, findSops, OLDER_RELEASES, Sops } from './sops.ts';

const FILES = 200;
const FILES_IN_STREAM = 50;

const PROGRAMS: readonly (readonly [release: string, program: string | undefined])[] = [
  ...OLDER_RELEASES.map((release) => [release, findOlderSops(release)] as const),
  ['the newest', findSops()],
];

const ADDED = { kind: 'SharedSecret', metadata: { name: 'added' }, spec: { data: { a: 'Yg==' } } };

const values = (text: string): unknown[] => documentsOf(text).map(({ value }) => value);

function* streams(): Generator<string> {
  for (let seed = 0; seed * FILES_IN_STREAM < FILES; seed++) {
    yield fc.sample(file, { numRuns: FILES_IN_STREAM, seed }).join('---\n');
  }
}

/** As `gitplane edit` does it: opened, changed, and encrypted with what was encrypted before. */
function edited(text: string, { metadata, dataKey, sealed }: OpenedFile): string {
  if (metadata === undefined || dataKey === undefined) throw new Error('it does not open');
  const clear = `${unsealText(text, dataKey)}---\n${formatManifest(ADDED)}`;
  const key = { dataKey, age: metadata.age };
  const of = { key, rule: RULE, reuse: new Reuse(sealed), previous: metadata };
  return sealText(clear, { ...of, now: Date.now() });
}

describe.each(PROGRAMS)(`${FILES} files with sops %s`, (release, program) => {
  async function prepare() {
    const sops = new Sops(program ?? '', mkdtempSync(join(tmpdir(), 'gitplane-sops-')));
    onTestFinished(() => rmSync(sops.folder, { recursive: true, force: true }));
    const { identity, recipient } = await makeIdentity();
    sops.identities(identity);
    mkdirSync(join(sops.folder, 'files'));
    const kinds = [{ folder: 'files', keys: ['data', 'secret'] }];
    writeFileSync(join(sops.folder, '.sops.yaml'), formatSopsConfig(kinds, [recipient]));
    const path = join(sops.folder, 'files/a.yaml');
    const ring = await Keyring.open([identity], { marks: true });
    return { sops, path, ring, recipient };
  }

  test.skipIf(program === undefined)('open in gitplane, and in sops after an edit', async () => {
    const { sops, path, ring } = await prepare();
    for (const text of streams()) {
      writeFileSync(path, text);
      sops.run('-e', '-i', 'files/a.yaml');
      const theirs = readFileSync(path, 'utf8');
      const documents = documentsOf(theirs);
      const metadata = metadataOf(documents);
      const key = metadata && (await ring.dataKey(metadata.age));
      const opened = openStream({ text: theirs, documents }, key);
      expect(opened.documents.flatMap(({ problems }) => problems)).toEqual([]);
      expect(opened.documents.map(({ value }) => value)).toEqual(values(text));

      writeFileSync(path, edited(theirs, opened));
      expect(values(sops.run('-d', 'files/a.yaml'))).toEqual([...values(text), ADDED]);
    }
  });

  // 3.8 does not know mac_only_encrypted, which every file that is made here says.
  test.skipIf(program === undefined || release === '3.8')(
    'open in sops after gitplane made them',
    async () => {
      const { sops, path, ring, recipient } = await prepare();
      for (const text of streams()) {
        const key = await ring.make([recipient]);
        writeFileSync(path, sealText(text, { key, rule: RULE, now: Date.now() }));
        expect(values(sops.run('-d', 'files/a.yaml'))).toEqual(values(text));
      }
    },
  );
});
