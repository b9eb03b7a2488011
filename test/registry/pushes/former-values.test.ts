/** Limits of the search for former encrypted values. */
import { expect, test } from 'vitest';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { FormerValues } from '../../../src/registry/pushes/former-values.ts';
import { ciphertextOf, ciphertextsIn, sealValue } from '../../../src/sealing/sealed-value.ts';
import { commitOf, openForTest, publish } from '../../support/git.ts';
import { kinds } from '../../support/platform.ts';

const COMMITS = 40;
const KEY = Buffer.alloc(32);

/** A history of one new encrypted file per commit. */
async function opened(mostValues?: number) {
  const repository = await openForTest();
  const values = Array.from({ length: COMMITS }, (_, at) =>
    sealValue({ bytes: Buffer.from(`secret ${at}`), type: 'str' }, KEY, 'a:'),
  );
  const files = values.map((value, at) => commitOf({ [`${at}.yaml`]: `a: ${value}\n` }));
  const head = (await publish(repository, ...files)).at(-1) ?? '';
  const stop = new AbortController();
  const reads: number[] = [];
  const source = {
    history: repository.history.bind(repository),
    listFiles: repository.listFiles.bind(repository),
    readBlobs: (ids: readonly string[]) => {
      reads.push(ids.length);
      stop.abort();
      return repository.readBlobs(ids);
    },
  };
  const former = new FormerValues({
    repository: source,
    reader: fileReader(kinds, ''),
    ...(mostValues === undefined ? {} : { mostValues }),
  });
  const wanted = new Set(values.flatMap((value) => ciphertextOf(value) ?? []));
  return { former, head, stop, reads, wanted };
}

const never = new AbortController().signal;

test('a read of the history ends at its limit, and the next one goes on from there', async () => {
  const { former, head, stop, reads, wanted } = await opened();

  await expect(former.read(head, stop.signal)).rejects.toThrow(
    'The encrypted values of the history could not be read in time; push again',
  );
  const stopped = reads.reduce((sum, count) => sum + count, 0);
  await former.read(head, never);

  expect(stopped).toBeLessThan(COMMITS);
  expect(reads.reduce((sum, count) => sum + count, 0)).toBe(COMMITS);
  const found = await former.versionsWith(wanted, head);
  expect([...(found?.values() ?? [])].map((versions) => versions.length)).toEqual(
    Array<number>(COMMITS).fill(1),
  );
});

test('a history with too many values has no answer, at once when it is asked for again', async () => {
  const { former, head, reads, wanted } = await opened(COMMITS - 1);

  await former.read(head, never);
  expect(reads.reduce((sum, count) => sum + count, 0)).toBe(COMMITS);
  expect(await former.versionsWith(wanted, head)).toBeUndefined();
  await former.read(head, never);
  expect(await former.versionsWith(wanted, head)).toBeUndefined();
  expect(reads.reduce((sum, count) => sum + count, 0)).toBeLessThan(2 * COMMITS);
});

test('values are found behind the beginning of others, in a time that follows their length', () => {
  const value = sealValue({ bytes: Buffer.from('secret'), type: 'str' }, KEY, 'a:');
  const begun = 'ENC[AES256_GCM,'.repeat(2 ** 19);
  const found = new Set([ciphertextOf(value)]);
  expect(ciphertextsIn(begun + value)).toEqual(found);
  expect(ciphertextsIn(value + begun)).toEqual(found);
});

test('a read of former versions ends at its limit', async () => {
  const { former, head, wanted } = await opened();
  await former.read(head, never);
  const found = [...((await former.versionsWith(wanted, head)) ?? [])];
  const [value = '', [version] = []] = found[0] ?? [];
  if (version === undefined) throw new Error('The value has no version');

  expect(await former.holders(version, value, never)).toEqual([]);
  await expect(former.holders(version, value, AbortSignal.abort())).rejects.toThrow(
    'could not be read in time; push fewer files at once',
  );
});

test('a commit of hundreds of thousands of files is read', async () => {
  const repository = await openForTest();
  const value = sealValue({ bytes: Buffer.from('secret'), type: 'str' }, KEY, 'a:');
  const names = Array.from({ length: 200_000 }, (_, at) => `${at % 500}/${at}.txt`);
  const files = Object.fromEntries(names.map((name) => [name, `a: ${value}\n`]));
  const head = (await publish(repository, commitOf(files))).at(-1) ?? '';
  const former = new FormerValues({ repository, reader: fileReader(kinds, '') });

  await former.read(head, never);

  const wanted = ciphertextOf(value) ?? '';
  const found = await former.versionsWith(new Set([wanted]), head);
  expect(found?.get(wanted)?.length).toBeGreaterThan(1);
});
