/**
 * Sealed secrets: what sealing and reading a file costs, and what a start on nothing but sealed
 * shared secrets does. Every file has a data key of its own, as a platform makes them.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileReader, fileReader } from '../../../src/catalog/file-reader.ts';
import { buildKindTable } from '../../../src/kinds/table.ts';
import { Keyring, makeIdentity } from '../../../src/sealing/data-keys.ts';
import { sealText } from '../../../src/sealing/seal.ts';
import { ruleOfKeys } from '../../../src/sealing/sops-config.ts';
import { API_GROUP, type CorpusFile } from '../corpus.ts';
import type { Fixture } from '../fixture.ts';
import type { Line, Reference } from '../report.ts';
import { summarize, timed } from '../statistics.ts';

interface Key {
  readonly identity: string;
  readonly recipient: string;
}

export async function measureSeal(fixture: Fixture): Promise<Line[]> {
  const clear = secretsOf(fixture);
  const key = await makeIdentity();
  const times = { seal: [] as number[], first: [] as number[], again: [] as number[] };
  const others = { clear: [] as number[], encrypt: [] as number[], decrypt: [] as number[] };
  let sealed: CorpusFile[] = [];
  for (let i = 0; i < fixture.repetitions; i++) {
    const bare = bareCrypto(clear);
    others.encrypt.push(bare.encrypt);
    others.decrypt.push(bare.decrypt);
    others.clear.push(await readAll(readerWith([]), clear));
    const made = await timed(() => sealAll(clear, key));
    sealed = made.result;
    times.seal.push((made.ms * 1000) / clear.length);
    const reader = readerWith([key.identity]);
    times.first.push(await readAll(reader, sealed));
    times.again.push(await readAll(reader, sealed));
  }
  const line = (name: string, samples: number[], reference: [string, number[]]): Line => {
    return { name, unit: 'us', measured: summarize(samples), reference: referenceOf(reference) };
  };
  return [
    line('seal a new file', times.seal, ['AES-256-GCM of its values', others.encrypt]),
    line('read a sealed file', times.first, ['AES-256-GCM of its values', others.decrypt]),
    line('read a sealed file, key known', times.again, ['the file in the clear', others.clear]),
    ...(await starts(fixture, { clear, sealed, key })),
  ];
}

function referenceOf([name, samples]: [string, number[]]): Reference {
  return { name, measured: summarize(samples) };
}

function secretsOf({ corpus }: Fixture): CorpusFile[] {
  return Array.from({ length: corpus.secrets }, (_, i) => corpus.secretFile(i, 'change-0'));
}

async function sealAll(files: readonly CorpusFile[], { recipient }: Key): Promise<CorpusFile[]> {
  // Not the ring that reads: it would know every key.
  const ring = new Keyring([]);
  const rule = ruleOfKeys(['data']);
  const sealed: CorpusFile[] = [];
  for (const { path, content } of files) {
    const key = await ring.make([recipient]);
    const text = sealText(content.toString(), { key, rule, now: Date.now() });
    sealed.push({ path, content: Buffer.from(text) });
  }
  return sealed;
}

function readerWith(identities: readonly string[]): FileReader {
  const secrets = { keyring: new Keyring(identities), mindsClear: false };
  return fileReader(buildKindTable(API_GROUP), '', secrets);
}

/** Microseconds a file, from its bytes to its manifest. */
async function readAll(reader: FileReader, files: readonly CorpusFile[]): Promise<number> {
  const { ms } = await timed(async () => {
    await reader.prepare(files.map(({ content }) => content));
    for (const { path, content } of files) {
      const [document] = reader.read(path, '0'.repeat(40), content).documents;
      if (document?.manifest === undefined) throw new Error(`${path} is not read`);
    }
  });
  return (ms * 1000) / files.length;
}

/** The least that any format costs: each value encrypted, and decrypted, under a key of its file. */
function bareCrypto(files: readonly CorpusFile[]): { encrypt: number; decrypt: number } {
  const values = files.map(({ content }) => valuesIn(content.toString()));
  const made: { key: Buffer; iv: Buffer; data: Buffer; tag: Buffer }[] = [];
  const start = performance.now();
  for (const texts of values) {
    const key = randomBytes(32);
    for (const text of texts) {
      const iv = randomBytes(32);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      const data = Buffer.concat([cipher.update(text), cipher.final()]);
      made.push({ key, iv, data, tag: cipher.getAuthTag() });
    }
  }
  const middle = performance.now();
  for (const { key, iv, data, tag } of made) {
    const decipher = createDecipheriv('aes-256-gcm', key, iv).setAuthTag(tag);
    Buffer.concat([decipher.update(data), decipher.final()]);
  }
  const per = (ms: number): number => (ms * 1000) / files.length;
  return { encrypt: per(middle - start), decrypt: per(performance.now() - middle) };
}

function valuesIn(text: string): string[] {
  const data = /\n {2}data:\n((?: {4}.*\n)+)/.exec(text)?.[1] ?? '';
  return [...data.matchAll(/: (.*)/g)].map(([, value = '']) => value);
}

async function starts(
  fixture: Fixture,
  of: { clear: CorpusFile[]; sealed: CorpusFile[]; key: Key },
): Promise<Line[]> {
  const { clear, sealed, key } = of;
  const dataDirs = {
    clear: await fixture.platformOf(clear, key.identity),
    sealed: await fixture.platformOf(sealed, key.identity),
  };
  const cold = { clear: [] as number[], sealed: [] as number[] };
  const warm = { clear: [] as number[], sealed: [] as number[] };
  for (let i = 0; i < fixture.repetitions; i++) {
    for (const which of ['clear', 'sealed'] as const) {
      await rm(join(dataDirs[which], 'state'), { recursive: true });
      cold[which].push(await startOnce(fixture, dataDirs[which]));
      warm[which].push(await startOnce(fixture, dataDirs[which]));
    }
  }
  const line = (name: string, { clear, sealed }: typeof cold): Line => ({
    name,
    unit: 's',
    measured: summarize(sealed),
    reference: referenceOf(['the same in the clear', clear]),
  });
  return [line('cold start, all sealed', cold), line('warm start, all sealed', warm)];
}

async function startOnce(fixture: Fixture, dataDir: string): Promise<number> {
  const daemon = await fixture.start(dataDir);
  await daemon.stop();
  return daemon.readyMs / 1000;
}
