/** Our packs under the eyes of other readers: git's strictest checks, and isomorphic-git. */

import * as fs from 'node:fs';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import isomorphic from 'isomorphic-git';
import { describe, expect, test } from 'vitest';
import { applyDelta, composeDeltas, treeDelta } from '../../../src/git/objects/delta.ts';
import { objectId } from '../../../src/git/objects/object-id.ts';
import { Tree } from '../../../src/git/objects/tree.ts';
import { buildPack, type PackObject } from '../../../src/git/packs/pack-writer.ts';
import {
  bareRepository,
  commitOf,
  expectSound,
  git,
  openForTest,
  packFiles,
  publish,
  temporaryFolder,
} from '../../support/git.ts';
import { runs } from '../../support/properties.ts';

/** Indexes every pack anew with git, and compares with our index. */
function expectGitAgrees(gitDir: string): void {
  const folder = temporaryFolder();
  for (const name of packFiles(gitDir).filter((file) => file.endsWith('.pack'))) {
    const ours = join(gitDir, 'objects', 'pack', name);
    const copy = join(folder, name);
    copyFileSync(ours, copy);
    git(gitDir, ['index-pack', '--strict', copy]);
    const index = (path: string) => fs.readFileSync(path.replace(/pack$/, 'idx'));
    expect(index(ours).equals(index(copy))).toBe(true);
    git(gitDir, ['verify-pack', ours]);
  }
}

test('the index of a pack equals the one that git creates', async () => {
  const repository = await openForTest();
  const files = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`dir-${i % 7}/sub/file-${i}`, `content of ${i}\n`]),
  );
  await publish(repository, commitOf(files));
  const changes = Array.from({ length: 150 }, (_, i) =>
    commitOf({ [`dir-${i % 3}/sub/file-${i % 3}`]: `version ${i}`, [`new/${i % 40}`]: `${i}` }),
  );
  await publish(repository, ...changes);
  expectGitAgrees(repository.gitDir);
  expectSound(repository.gitDir);
});

test('versions of a tree are stored as deltas of bounded depth', async () => {
  const repository = await openForTest();
  const wide = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`w/f${i}`, `${i}`]));
  await publish(repository, commitOf(wide));
  const before = packFiles(repository.gitDir);
  await publish(
    repository,
    ...Array.from({ length: 100 }, (_, i) => commitOf({ [`w/f${(i * 7) % 2000}`]: `v${i}` })),
  );
  const [pack = ''] = packFiles(repository.gitDir).filter(
    (name) => name.endsWith('.pack') && !before.includes(name),
  );
  const path = join(repository.gitDir, 'objects', 'pack', pack);
  // A tree of 2,000 entries is about 58 KB: a hundred whole ones would be over 4 MB.
  expect(fs.statSync(path).size).toBeLessThan(500_000);

  const depths = git(repository.gitDir, ['verify-pack', '-v', path])
    .split('\n')
    .map((line) => Number(/^[0-9a-f]{40} tree +\d+ \d+ \d+ (\d+)/.exec(line)?.[1] ?? 0));
  expect(Math.max(...depths)).toBeGreaterThan(10);
  expect(Math.max(...depths)).toBeLessThanOrEqual(35);
  expectSound(repository.gitDir);
});

test('isomorphic-git reads the same commit, tree and blobs', async () => {
  const repository = await openForTest();
  const { gitDir } = repository;
  await publish(repository, commitOf({ 'a/b': 'one', 'a/c': 'two', d: '' }));
  const ids = await publish(
    repository,
    ...Array.from({ length: 40 }, (_, i) => commitOf({ 'a/b': `version ${i}` })),
  );
  const oid = await isomorphic.resolveRef({ fs, gitdir: gitDir, ref: 'main' });
  expect(oid).toBe(ids.at(-1));
  const { commit } = await isomorphic.readCommit({ fs, gitdir: gitDir, oid });
  expect(commit.author).toMatchObject({ name: 'Ada Lovelace', timestamp: 1_700_000_000 });
  const old = await isomorphic.readBlob({ fs, gitdir: gitDir, oid: ids[3] ?? '', filepath: 'a/b' });
  expect(Buffer.from(old.blob).toString()).toBe('version 3');
  const log = await isomorphic.log({ fs, gitdir: gitDir, ref: 'main' });
  expect(log.map((entry) => entry.oid)).toEqual([...ids.toReversed(), log.at(-1)?.oid]);
});

test.each(['deflated', 'stored'] as const)(
  'objects of every size and nature survive the way through a pack, %s',
  async (packing) => {
    const gitDir = await bareRepository();
    const sizes = [0, 1, 15, 16, 99, 100, 2047, 2048, 65_535, 65_536, 1_000_000];
    const objects = sizes.flatMap((size) => {
      const noise = Buffer.from(Array.from({ length: size }, (_, i) => (i * 2_654_435_761) >>> 24));
      return [noise, Buffer.alloc(size, 'a')].map(
        (data): PackObject => ({ id: objectId('blob', data), type: 'blob', data, base: undefined }),
      );
    });
    const distinct = [...new Map(objects.map((object) => [object.id, object])).values()];
    const { pack } = buildPack(distinct, packing);
    git(gitDir, ['index-pack', '--stdin', '--strict'], { input: pack });
    for (const { id, data } of distinct) {
      expect(git(gitDir, ['hash-object', '--stdin'], { input: data })).toBe(id);
      expect(git(gitDir, ['cat-file', '-s', id])).toBe(String(data.length));
    }
  },
);

test('a pack whose base comes too late is refused', () => {
  const id = 'a'.repeat(40);
  const object: PackObject = { id, type: 'tree', data: Buffer.alloc(9), base: 'b'.repeat(40) };
  expect(() => buildPack([object])).toThrow('must come before');
});

describe('trees', () => {
  const names = fc.constantFrom(
    'a',
    'a.b',
    'a-b',
    'a0',
    'b',
    'ab',
    'B',
    '~',
    'x'.repeat(200),
    '\xe4',
  );
  const entry = fc.record({
    mode: fc.constantFrom('100644', '100755', '40000', '120000'),
    id: fc.integer({ min: 0, max: 255 }).map((n) => n.toString(16).padStart(2, '0').repeat(20)),
  });
  const edits = fc.array(fc.tuple(names, fc.option(entry, { nil: undefined })), { maxLength: 8 });

  test('any series of edits gives the tree that git mktree creates', async () => {
    const gitDir = await bareRepository();
    const property = fc.property(fc.array(edits, { maxLength: 6 }), (series) => {
      let tree = Tree.empty;
      let sinceFirst = treeDelta(tree.bytes, tree.bytes, []);
      const model = new Map<string, { mode: string; id: string }>();
      for (const edit of series) {
        const older = tree;
        const edited = tree.edit(new Map(edit));
        tree = edited.tree;
        for (const [name, value] of new Map(edit)) {
          if (value === undefined) model.delete(name);
          else model.set(name, value);
        }
        const delta = treeDelta(older.bytes, tree.bytes, edited.splices);
        expect(applyDelta(older.bytes, delta).equals(tree.bytes)).toBe(true);
        sinceFirst = composeDeltas(sinceFirst, delta);
        expect(applyDelta(Tree.empty.bytes, sinceFirst).equals(tree.bytes)).toBe(true);
        expect(Tree.parse(tree.bytes)).toEqual(tree);
      }
      for (const [name, value] of model) expect(tree.find(name)).toEqual(value);
      const type = (mode: string) => (mode === '40000' ? 'tree' : 'blob');
      const input = [...model].map(([name, { mode, id }]) =>
        Buffer.from(`${mode.padStart(6, '0')} ${type(mode)} ${id}\t${name}\0`, 'latin1'),
      );
      const wanted = git(gitDir, ['mktree', '-z', '--missing'], { input: Buffer.concat(input) });
      expect(objectId('tree', tree.bytes)).toBe(wanted);
    });
    fc.assert(property, { numRuns: runs(60) });
  });

  test.each([
    ['no space', '100644'],
    ['no NUL', '100644 a'],
    ['half an id', '100644 a\x0a3'],
  ])('bytes with %s are no tree', (_title, text) => {
    expect(() => Tree.parse(Buffer.from(text))).toThrow('corrupt');
  });
});
