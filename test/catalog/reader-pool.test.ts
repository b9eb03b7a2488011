/**
 * Whether files are read here or by other threads must not show in anything (invariants 9 and 12).
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { FileEntry } from '../../src/catalog/file.ts';
import { fileReader, type Readers, type WantedFile } from '../../src/catalog/file-reader.ts';
import { PrefetchedFiles } from '../../src/catalog/reader-pool/prefetched-files.ts';
import { packFiles, unpackFiles } from '../../src/catalog/reader-pool/protocol.ts';
import { ReaderPool } from '../../src/catalog/reader-pool/reader-pool.ts';
import { replay } from '../../src/catalog/replay.ts';
import type { BareRepository } from '../../src/git/bare-repository.ts';
import { git, openForTest } from '../support/git.ts';
import { kinds } from '../support/platform.ts';
import { runs } from '../support/properties.ts';
import { picture } from './picture.ts';
import { randomFiles } from './random-history.ts';

const reader = fileReader(kinds, '');
const rules = { apiGroup: 'management.gitplane.dev', under: '' };

const pool = new ReaderPool({ ...rules, workers: 2, filesPerWorker: 100, minFiles: 2 });
afterAll(() => pool.close());

/** Of one name each, so that which document wins never depends on anything but its place. */
function plain(entry: FileEntry): unknown {
  const documents = entry.documents.map((document) => {
    const { index, key, manifest, problems, warnings, line, blob } = document;
    return { index, key, manifest, problems, warnings, line, blob };
  });
  return JSON.parse(JSON.stringify({ ...entry, documents }));
}

/** Many files of every sort, in two commits; the second one changes some of the first. */
async function randomRepository(seed: number): Promise<BareRepository> {
  const samples = fc.sample(randomFiles, { numRuns: 300, seed });
  const lines: string[] = [];
  for (const [i, part] of [samples.slice(0, 250), samples.slice(200)].entries()) {
    const message = `commit ${i}`;
    lines.push('commit refs/heads/main', `committer G <g@example.com> ${1_700_000_000 + i} +0000`);
    lines.push(`data ${message.length}`, message);
    for (const [at, files] of part.entries()) {
      for (const [path, text] of Object.entries(files)) {
        const link = text?.startsWith('\0') === true;
        const content = (link ? text?.slice(1) : text) ?? '';
        lines.push(
          text === null
            ? `D ${at}/${path}`
            : `M ${link ? '120000' : '100644'} inline ${at}/${path}`,
        );
        if (text !== null) lines.push(`data ${Buffer.byteLength(content)}`, content);
      }
    }
  }
  const repository = await openForTest();
  git(repository.gitDir, ['fast-import', '--quiet', '--force'], { input: `${lines.join('\n')}\n` });
  return repository;
}

async function headOf(repository: BareRepository): Promise<string> {
  const head = await repository.head();
  if (head === undefined) throw new Error('The repository is empty');
  return head;
}

describe('a prefetched file', () => {
  const listed = ['a', 'b/c', 'b/d', 'e'].map(
    (path): WantedFile => ({ path, id: `of ${path}`, mode: '100644' }),
  );
  const entryOf = ({ path, id }: WantedFile): FileEntry => ({ path, blob: id, documents: [] });

  test('is given once, in whatever order it came and is asked for', () => {
    const order = fc.shuffledSubarray([...listed.keys()]);
    fc.assert(
      fc.property(order, fc.array(fc.constantFrom(...listed)), (came, asked) => {
        const ahead = new PrefetchedFiles(listed);
        const left = new Set<WantedFile>();
        for (const at of came) {
          const file = listed[at];
          if (file === undefined) continue;
          left.add(file);
          ahead.add(entryOf(file), at);
        }
        for (const file of asked) {
          const given: unknown[] = [];
          const isGiven = ahead.give({ ...file }, (_file, entry) => void given.push(entry));
          expect(isGiven).toBe(left.delete(file));
          expect(given).toEqual(isGiven ? [entryOf(file)] : []);
        }
      }),
    );
  });

  test.each([
    { path: 'b', id: 'of b/c', mode: '100644' },
    { path: 'b/c', id: 'of another', mode: '100644' },
    { path: 'b/c', id: 'of b/c', mode: '100755' },
    { path: 'z', id: 'of e', mode: '100644' },
  ])('is not given for $path as $mode with $id', (file) => {
    const ahead = new PrefetchedFiles(listed);
    for (const [at, one] of listed.entries()) ahead.add(entryOf(one), at);
    expect(ahead.give(file, () => undefined)).toBe(false);
  });
});

describe('a file read by another thread', () => {
  test('comes back as it was', () => {
    fc.assert(
      fc.property(fc.array(randomFiles, { maxLength: 5 }), (all) => {
        const texts = all.flatMap((files, i) =>
          Object.entries(files).map(
            ([path, text]) => [`${i}/${path}`, text ?? 'a: \ud83d\ude00\n'] as const,
          ),
        );
        const wanted = texts.map(([path], i): WantedFile => ({ path, id: `${i}`, mode: '100644' }));
        const files = texts.map(([path, text], i) => reader.read(path, `${i}`, Buffer.from(text)));
        const back = unpackFiles(wanted, structuredClone(packFiles(files)));
        expect(back.map(plain)).toEqual(files.map(plain));
      }),
      { numRuns: runs(50) },
    );
  });

  test('makes the same catalog as what is read here', async () => {
    const repository = await randomRepository(fc.readConfigureGlobal()?.seed ?? 1);
    const head = await headOf(repository);
    let left = 0;
    let taken = 0;
    const spy: Readers = {
      edits: pool.edits,
      encryptionIn: (content) => pool.encryptionIn(content),
      readLarge: (files) => pool.readLarge(files),
      read: async (context, files, take) => {
        const rest = await pool.read(context, files, (file, entry) => {
          taken += 1;
          take(file, entry);
        });
        left += rest.length;
        return rest;
      },
    };

    const apart = await replay({ repository, reader: { ...reader, pool: spy }, under: '' }, head);
    const here = await replay({ repository, reader, under: '' }, head);

    expect(picture(apart.catalog)).toEqual(picture(here.catalog));
    expect({ left, taken: taken > 300 }).toEqual({ left: 0, taken: true });
  });

  test('makes the same catalog where the newest commit was read ahead', async () => {
    const repository = await randomRepository(fc.readConfigureGlobal()?.seed ?? 1);
    const head = await headOf(repository);
    const sizes = { filesPerWorker: 100, minFiles: 100_000, minFilesAhead: 2 };
    const guessing = new ReaderPool({ ...rules, workers: 2, ...sizes });
    let left = 0;
    let taken = 0;
    const spy: Readers = {
      edits: guessing.edits,
      encryptionIn: (content) => guessing.encryptionIn(content),
      readLarge: (files) => guessing.readLarge(files),
      read: async (context, files, take) => {
        const rest = await guessing.read(context, files, (file, entry) => {
          taken += 1;
          expect(entry).toMatchObject({ path: file.path, blob: file.id });
          take(file, entry);
        });
        left += rest.length;
        return rest;
      },
    };

    guessing.expect({ gitDir: repository.gitDir }, 'refs/heads/main');
    const apart = await replay({ repository, reader: { ...reader, pool: spy }, under: '' }, head);
    guessing.close();
    const here = await replay({ repository, reader, under: '' }, head);

    expect(picture(apart.catalog)).toEqual(picture(here.catalog));
    // Files that the second commit changed differ from the prefetched ones.
    expect({ left: left > 0, taken: taken > 200 }).toEqual({ left: true, taken: true });
  });

  test('is nothing where there is no branch to read ahead', async () => {
    const guessing = new ReaderPool({ ...rules, workers: 2, minFilesAhead: 0 });
    const files = [{ path: 'a', id: 'a'.repeat(40), mode: '100644' }];
    guessing.expect({ gitDir: join('/', 'nowhere') }, 'refs/heads/main');
    const left = await guessing.read({ gitDir: join('/', 'nowhere') }, files, () => undefined);
    guessing.close();
    expect(left).toEqual(files);
  });

  test('is left to the caller if a thread cannot read it', async () => {
    const broken = new ReaderPool({ ...rules, workers: 2, minFiles: 2 });
    const files = ['a', 'b', 'c'].map((path) => ({ path, id: 'a'.repeat(40), mode: '100644' }));
    const left = await broken.read({ gitDir: join('/', 'nowhere') }, files, () => {
      throw new Error('There is nothing to take');
    });
    broken.close();
    expect(left).toEqual(files);
  });

  test('is left to the caller when the threads are ended', async () => {
    const ended = new ReaderPool({ ...rules, workers: 2, minFiles: 2 });
    const files = Array.from({ length: 2000 }, (_, i) => ({
      path: `${i}`,
      id: 'a'.repeat(40),
      mode: '100644',
    }));
    const reading = ended.read({ gitDir: join('/', 'nowhere') }, files, () => undefined);
    ended.close();
    expect(await reading).toHaveLength(files.length);
  });

  test('is read here where it is little', async () => {
    const unused = new ReaderPool({ ...rules, workers: 2, minFiles: 10 });
    const files = ['a', 'b'].map((path) => ({ path, id: 'a'.repeat(40), mode: '100644' }));
    expect(await unused.read({ gitDir: join('/', 'nowhere') }, files, () => undefined)).toBe(files);
  });
});
