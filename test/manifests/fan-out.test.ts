/** The moves of a fan-out, for trees of any shape. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fanOutMoves } from '../../src/manifests/fan-out.ts';
import { FULL_FOLDER, fanOutPaths, folderNamespace } from '../../src/manifests/layout.ts';
import { pathFilter } from '../../src/manifests/path-filter.ts';
import { runs } from '../support/properties.ts';

const filter = pathFilter('', 'ignored/\n');

function movesOf(paths: readonly string[], folder = ''): Map<string, string> {
  const moves = fanOutMoves(paths, { under: '', folder, filter });
  return new Map(moves.map(({ from, to }) => [from, to]));
}

function after(paths: readonly string[]): string[] {
  const moves = movesOf(paths);
  return paths.map((path) => moves.get(path) ?? path);
}

const widths = fc.constantFrom(0, 3, FULL_FOLDER - 1, FULL_FOLDER, FULL_FOLDER + 1, 900);
const folders = fc.constantFrom(
  'teams',
  'namespaces/web/roles',
  'namespaces',
  'ignored',
  'a/b',
  '',
);
const trees = fc.array(fc.tuple(folders, widths), { maxLength: 4 }).map((parts) => {
  const all = parts.flatMap(([folder, width]) =>
    Array.from({ length: width }, (_, i) => `${folder === '' ? '' : `${folder}/`}f${i}.yaml`),
  );
  return [...new Set(all)].sort();
});

test('moves lose no file, keep namespaces, and leave no manifest in a full folder', () => {
  fc.assert(
    fc.property(trees, (paths) => {
      const moved = after(paths);
      expect(new Set(moved).size).toBe(paths.length);
      moved.forEach((to, i) => {
        const from = paths[i] ?? '';
        expect(folderNamespace('', to)).toBe(folderNamespace('', from));
        if (to !== from) expect(fanOutPaths(from)).toContain(to);
      });
      const counts = new Map<string, number>();
      for (const path of moved) {
        const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
      for (const [folder, count] of counts) {
        if (!['ignored', 'namespaces'].includes(folder))
          expect(count).toBeLessThanOrEqual(FULL_FOLDER);
      }
      expect([...movesOf(moved.toSorted())]).toEqual([]);
    }),
    { numRuns: runs(40) },
  );
});

test('the named folder and those below it move, and no other', () => {
  const wide = (folder: string): string[] =>
    Array.from({ length: FULL_FOLDER }, (_, i) => `${folder}/f${i}.yaml`);
  const paths = [...wide('teams'), ...wide('teams2'), ...wide('users')].sort();
  expect([...movesOf(paths, 'teams').keys()].toSorted()).toEqual(wide('teams').toSorted());
});

test('100,000 manifests of one folder go two levels down, where no folder is full', () => {
  const paths = Array.from({ length: 100_000 }, (_, i) => `teams/team-${i}.yaml`).sort();
  const moved = after(paths);
  const counts = new Map<string, number>();
  for (const path of moved) {
    const folder = path.slice(0, path.lastIndexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  expect(Math.max(...counts.values())).toBe(FULL_FOLDER);
  expect(counts.has('teams')).toBe(false);
});
