/** Ignore files, held against git itself. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ignorePatterns } from '../../src/manifests/ignore-patterns.ts';
import { processorMs } from '../support/calls.ts';
import { git, gitEnv, temporaryFolder } from '../support/git.ts';

/** Which of the paths git ignores in an empty work tree with these patterns. */
function ignoredByGit(folder: string, text: string, paths: readonly string[]): string[] {
  writeFileSync(join(folder, '.gitignore'), text);
  const args = ['-c', 'core.ignoreCase=true', 'check-ignore', '--no-index', '-z', '--stdin'];
  const input = paths.map((path) => `${path}\0`).join('');
  const { stdout } = spawnSync('git', args, { cwd: folder, env: gitEnv, input });
  return stdout.toString('utf8').split('\0').filter(Boolean);
}

function workTree(): string {
  const folder = temporaryFolder();
  git(folder, ['init', '-q']);
  return folder;
}

test.each([
  'charts/',
  '/charts',
  'charts/x.yaml',
  '*.yaml\n!keep.yaml',
  'charts\n!charts/keep.yaml',
  'charts/*\n!charts/keep.yaml',
  '**/deep/**',
  'a/**/x.yaml',
  'a/**',
  '**/x.yaml',
  '**x.yaml',
  '[a-c]/x.yaml\n[!a].yaml',
  '[[:digit:]].yaml',
  '[]x].yaml',
  '[x.yaml',
  '\\#x.yaml\n#y.yaml\n\\!z.yaml',
  'blank.yaml  \nkept\\ \n',
  '?.yaml',
  'A/X.YAML',
  '*',
  '*\n!*/\n!*.yaml',
  '/',
  '\\*.yaml',
  'x.yaml\r\na/\r\n',
])('%j means what it means to git', (text) => {
  const names = ['x', 'y', 'keep', '1', '#x', '#y', '!z', 'blank', 'kept ', '*', ']', 'charts'];
  const folders = ['', 'charts/', 'a/', 'a/b/', 'a/b/c/', 'x/deep/', 'deep/y/', 'b/charts/', 'd/'];
  const paths = folders.flatMap((folder) => names.map((name) => `${folder}${name}.yaml`));
  const more = [...paths, 'kept ', 'a/kept ', '[x.yaml', 'x', 'deep'];
  const patterns = ignorePatterns(text);
  const folder = workTree();
  const own = more.filter((path) => patterns.ignores(path));
  // Git reads a carriage return as part of the pattern.
  expect(own).toEqual(ignoredByGit(folder, text.replaceAll('\r', ''), more));
});

test('random patterns mean what they mean to git', () => {
  const folder = workTree();
  const piece = fc.constantFrom(
    ...['a', 'b', 'ab', '*', '?', '**', '[ab]', '[!a]', 'a*', '*b', '*a*b'],
    ...['[[:alpha:]]', '[^b]a', '\\a', '?b*', '[a-', 'ba ', 'b\\ '],
  );
  const pattern = fc
    .tuple(
      fc.constantFrom('', '!', '/', '!/'),
      fc.array(piece, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('', '/'),
    )
    .map(([before, pieces, behind]) => before + pieces.join('/') + behind);
  const path = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'ba', 'aab'), { minLength: 1, maxLength: 5 })
    .map((names) => names.join('/'));
  fc.assert(
    fc.property(
      fc.array(pattern, { minLength: 1, maxLength: 4 }),
      fc.uniqueArray(path, { minLength: 1, maxLength: 40 }),
      (lines, paths) => {
        const patterns = ignorePatterns(lines.join('\n'));
        const own = paths.filter((one) => patterns.ignores(one));
        expect(own).toEqual(ignoredByGit(folder, lines.join('\n'), paths));
      },
    ),
    { numRuns: 100 },
  );
});

test('the line that ignores a file is the last one that decides', () => {
  const patterns = ignorePatterns('a/\n*.yaml\n\n!keep.yaml\na/keep.yaml\n# b\n');

  expect(patterns.lineOf('x.yaml')).toBe(1);
  expect(patterns.lineOf('keep.yaml')).toBe(-1);
  expect(patterns.lineOf('a/keep.yaml')).toBe(4);
  expect(patterns.lineOf('a/x')).toBe(0);
  expect(patterns.lineOf('b')).toBe(-1);
});

test('patterns mean the same once more states are met than memory is for', () => {
  const letters = (count: number) =>
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength: count, maxLength: count });
  const words = fc.sample(letters(16), { numRuns: 2000, seed: 1 });
  const paths = fc.sample(letters(40), { numRuns: 300, seed: 2 });
  const patterns = ignorePatterns(words.map((word) => `*${word}*`).join('\n'));

  const ignored = paths.filter((path) => patterns.ignores(path));

  expect(ignored).toEqual(paths.filter((path) => words.some((word) => path.includes(word))));
  expect(ignored.length).toBeGreaterThan(20);
  expect(ignored.length).toBeLessThan(280);
});

test('no pattern takes longer than in proportion to the path', () => {
  const deep = `${'a/'.repeat(1000)}c.yaml`;
  const long = `${'a'.repeat(250)}.yaml`;
  const ms = processorMs(() => {
    expect(ignorePatterns(`${'**/a/'.repeat(20)}**/b.yaml`).ignores(deep)).toBe(false);
    expect(ignorePatterns(`${'*a'.repeat(60)}*b.yaml`).ignores(long)).toBe(false);
  });
  // By backtracking it would be years.
  expect(ms).toBeLessThan(60_000);
});

test('a thousand patterns take little longer than one', () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `${'**/a/'.repeat(10)}**/b${i}`);
  const paths = Array.from({ length: 250 }, (_, i) => `${i}/${'a/'.repeat(1000)}.yaml`);
  const ms = processorMs(() => {
    const patterns = ignorePatterns(lines.join('\n'));
    expect(paths.filter((path) => patterns.ignores(path))).toEqual([]);
  });
  // One after the other, they took 90 s.
  expect(ms).toBeLessThan(20_000);
});
