/**
 * Both ways with the real sops: what one writes the other reads, MAC included. With
 * GITPLANE_TEST_RUNS=170 it is 10,000 random files each way.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { editDocument } from '../../src/manifests/edit.ts';
import { formatManifest } from '../../src/manifests/write.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { metadataOf, type OpenedFile, openStream } from '../../src/sealing/open.ts';
import { documentsOf, Reuse, sealText, unsealText } from '../../src/sealing/seal.ts';
import { formatSopsConfig } from '../../src/sealing/sops-config.ts';
import { runs } from '../support/properties.ts';
import { file, RULE } from './documents.ts';
import { findSops, Sops } from './sops.ts';

const program = findSops();
if (program === undefined) {
  process.stderr.write(
    'SKIPPED: interoperability with sops. Install it: go install github.com/getsops/sops/v3/cmd/sops@v3.13.2\n',
  );
}

describe.skipIf(program === undefined)('the real sops', () => {
  let sops: Sops;
  let ann: Awaited<ReturnType<typeof makeIdentity>>;
  let bob: typeof ann;
  let ring: Keyring;

  beforeAll(async () => {
    sops = new Sops(program ?? '', mkdtempSync(join(tmpdir(), 'gitplane-sops-')));
    [ann, bob] = await Promise.all([makeIdentity(), makeIdentity()]);
    ring = await Keyring.open([ann.identity], { marks: true });
    sops.identities(ann.identity);
    config([ann.recipient]);
  });
  afterAll(() => rmSync(sops.folder, { recursive: true, force: true }));

  const at = (name: string): string => join(sops.folder, name);
  const write = (name: string, text: string): void => writeFileSync(at(name), text);
  const read = (name: string): string => readFileSync(at(name), 'utf8');
  const config = (recipients: readonly string[]): void => {
    const files = [{ folder: 'files', keys: ['data', 'secret'] }];
    write('.sops.yaml', formatSopsConfig(files, recipients));
  };
  const values = (text: string): unknown[] => documentsOf(text).map(({ value }) => value);

  async function seal(text: string, recipients = [ann.recipient]): Promise<string> {
    return sealText(text, { key: await ring.make(recipients), rule: RULE, now: Date.now() });
  }

  async function open(text: string, by = ring): Promise<OpenedFile> {
    const documents = documentsOf(text);
    const metadata = metadataOf(documents);
    return openStream({ text, documents }, metadata && (await by.dataKey(metadata.age)));
  }

  function expectValues(opened: OpenedFile, expected: unknown[]): void {
    expect(opened.documents.flatMap(({ problems }) => problems)).toEqual([]);
    expect(opened.documents.map(({ value }) => value)).toEqual(expected);
  }

  const SECRET = `kind: SharedSecret
spec:
  displayName: x
  data:
    # the robot
    user: cm9ib3Q=
    "123": MTIz
    password: "aHVudGVyMg=="
`;

  /** Random files, many in one stream: a process of sops takes longer than a document. */
  function* streams(): Generator<string> {
    const wanted = runs(60);
    for (let done = 0, seed = fuzzSeed(); done < wanted; seed++) {
      const samples = fc.sample(file, { numRuns: Math.min(wanted - done, 60), seed });
      done += samples.length;
      yield samples.join('---\n');
    }
  }

  test('sops reads past the mark of a data key, and drops it where it writes', async () => {
    write('marked.yaml', await seal(SECRET));
    expect(metadataOf(documentsOf(read('marked.yaml')))?.mark).toBeDefined();
    expect(values(sops.run('decrypt', 'marked.yaml'))).toEqual(values(SECRET));

    sops.run('set', 'marked.yaml', '["spec"]["data"]["user"]', '"bmV3"');
    const text = read('marked.yaml');
    expect(metadataOf(documentsOf(text))?.mark).toBeUndefined();
    const [{ value } = { value: undefined }] = (await open(text)).documents;
    expect(value).toMatchObject({ spec: { data: { user: 'bmV3', password: 'aHVudGVyMg==' } } });
  });

  test('random files go both ways, for two recipients, and survive rotate, updatekeys and edits', async () => {
    const bobs = await Keyring.open([bob.identity]);
    config([ann.recipient, bob.recipient]);
    for (const text of streams()) {
      const expected = values(text);
      write('ours.yaml', await seal(text, [bob.recipient, ann.recipient]));
      expect(values(sops.run('decrypt', 'ours.yaml'))).toEqual(expected);
      sops.run('rotate', '-i', 'ours.yaml');
      expectValues(await open(read('ours.yaml'), bobs), expected);

      config([ann.recipient]);
      write('theirs.yaml', text);
      sops.run('encrypt', '-i', 'theirs.yaml');
      expectValues(await open(read('theirs.yaml')), expected);
      config([ann.recipient, bob.recipient]);
      sops.run('updatekeys', '-y', 'theirs.yaml');
      const theirs = await open(read('theirs.yaml'), bobs);
      expectValues(theirs, expected);

      write('theirs.yaml', await edited(read('theirs.yaml'), theirs));
      expect(values(sops.run('decrypt', 'theirs.yaml'))).toEqual([...expected, ADDED]);
    }
    config([ann.recipient]);
  });

  const ADDED = {
    kind: 'SharedSecret',
    metadata: { name: 'added' },
    spec: { data: { a: 'Yg==' } },
  };

  /** As `gitplane edit` does it: opened, changed, and sealed with what was sealed before. */
  async function edited(text: string, { metadata, dataKey, sealed }: OpenedFile): Promise<string> {
    if (metadata === undefined || dataKey === undefined) throw new Error('it does not open');
    const clear = `${unsealText(text, dataKey)}---\n${formatManifest(ADDED)}`;
    const key = { dataKey, age: metadata.age };
    const of = { key, rule: RULE, reuse: new Reuse(sealed), previous: metadata };
    return sealText(clear, { ...of, now: Date.now() });
  }

  test('gitplane reads a MAC over everything, for any YAML style of a value', async () => {
    const text = `a: 014
b: 1_000
c: 0b11
d: 2020-01-02
e: 2020-01-02T03:04:05+02:00
f: .5
g: 1e3
h: yes
i: "007"
j: ~
k: True
l: 0x1F
m: -0.0000001
o: 2020-1-2 3:04:05.6
data: {x: 'y'}
`;
    write('full.yaml', text);
    const sealed = sops.run(
      '--config',
      '/dev/null',
      'encrypt',
      '--encrypted-regex',
      '^data$',
      '--age',
      ann.recipient,
      'full.yaml',
    );
    // In the form in which people wrote it: sops writes other scalars with the same meaning.
    const own = text.slice(0, text.indexOf('data:')) + sealed.slice(sealed.indexOf('data:'));

    expect((await open(sealed)).documents[0]?.problems).toEqual([]);
    expect((await open(own)).documents[0]?.problems).toEqual([]);
    expect((await open(own.replace('014', '015'))).documents[0]?.problems).toHaveLength(1);
  });

  test('sops sets a value in a file of gitplane, and the others keep their bytes', async () => {
    const sealed = await seal(SECRET);
    write('set.yaml', sealed);
    sops.run('set', 'set.yaml', '["spec"]["data"]["user"]', '"YW5u"');
    const after = read('set.yaml');
    const line = /"?password"?: "?(ENC\[[^\]]*\])/;

    expect((await open(after)).documents[0]?.value).toMatchObject({
      spec: { data: { user: 'YW5u', password: 'aHVudGVyMg==' } },
    });
    expect(line.exec(after)?.[1]).toBe(line.exec(sealed)?.[1]);
    expect(
      unsealText(after, ring.known(metadataOf(documentsOf(after))?.age ?? []) as Buffer),
    ).toContain('# the robot');
  });

  test('we change a value in a file of theirs, in three lines, and sops reads it', async () => {
    write('change.yaml', SECRET);
    sops.run('encrypt', '-i', 'change.yaml');
    const before = read('change.yaml');
    const opened = await open(before);
    const { metadata, dataKey } = opened;
    if (metadata === undefined || dataKey === undefined) throw new Error('it does not open');
    const clear = {
      ...(opened.documents[0]?.value as JsonObject),
      spec: { data: { user: 'YW5u', '123': 'MTIz', password: 'aHVudGVyMg==' }, displayName: 'x' },
    };
    const [document] = documentsOf(before);
    const { sops: block } = (document?.value ?? {}) as JsonObject;
    const key = { dataKey, age: metadata.age };
    const reuse = new Reuse(opened.sealed);
    // As an API write does it: ciphertext of what stays, then the metadata.
    const edited = editDocument(before, 0, sealedAgain(clear, opened, block));
    const after = sealText(edited, { key, rule: RULE, reuse, now: Date.now() + 5000 });
    write('change.yaml', after);

    const changed = after.split('\n').filter((text) => !before.split('\n').includes(text));
    expect(changed.map((text) => text.trim().split(':')[0])).toEqual([
      'user',
      'lastmodified',
      'mac',
    ]);
    expect(sops.run('decrypt', 'change.yaml')).toContain('YW5u');
  });

  /** The document with sealed values where they are as they were. */
  function sealedAgain(clear: JsonObject, opened: OpenedFile, block: unknown): JsonObject {
    const texts = new Map(
      opened.sealed.map(({ clear: { bytes }, text }) => [bytes.toString(), text]),
    );
    const json = JSON.stringify({ ...clear, sops: block });
    return JSON.parse(json, (_, value: unknown) =>
      typeof value === 'string' ? (texts.get(value) ?? value) : value,
    ) as JsonObject;
  }

  test('two recipients, updatekeys and rotate', async () => {
    write('files.yaml', await seal(SECRET));
    config([ann.recipient, bob.recipient]);
    sops.run('updatekeys', '-y', 'files.yaml');
    const bobs = await Keyring.open([bob.identity]);
    expectValues(await open(read('files.yaml'), bobs), values(SECRET));

    sops.run('rotate', '-i', 'files.yaml');
    expectValues(await open(read('files.yaml'), bobs), values(SECRET));
    config([ann.recipient]);
  });

  test('sops reads a file that gitplane sealed for two', async () => {
    write('two.yaml', await seal(SECRET, [bob.recipient, ann.recipient]));

    expect(values(sops.run('decrypt', 'two.yaml'))).toEqual(values(SECRET));
  });
});

function fuzzSeed(): number {
  const { seed } = fc.readConfigureGlobal();
  return seed ?? Math.floor(Math.random() * 2 ** 31);
}
