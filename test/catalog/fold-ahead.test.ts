/** A range that is folded ahead comes to the same as a replay, merges of old forks included. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { foldAhead } from '../../src/catalog/fold-ahead.ts';
import { readPaths } from '../../src/catalog/reading.ts';
import { replay } from '../../src/catalog/replay.ts';
import type { HistoryCommit } from '../../src/git/repository.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { commitOf, openForTest, publish } from '../support/git.ts';
import { forMilliseconds } from '../support/properties.ts';
import { picture } from './picture.ts';
import { randomSteps, writeHistory } from './random-history.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');

test('the result, and every view of a recent commit, are those of a replay', {
  timeout: 120_000,
}, async () => {
  let folds = 0;
  let merges = 0;
  await fc.assert(
    fc.asyncProperty(
      randomSteps,
      fc.array(fc.nat(3), { minLength: 1 }),
      forMilliseconds(10_000, async (steps, strides) => {
        const repository = await openForTest();
        const { line } = writeHistory(repository.gitDir, steps);
        const context = {
          repository,
          under: '',
          read: (paths: Parameters<typeof readPaths>[2]) => readPaths(repository, reader, paths),
        };
        let now = await replay({ repository, reader, under: '' }, line[0] ?? '');
        const passed = [line[0] ?? ''];
        for (let at = 0, i = 0; at < line.length - 1; i += 1) {
          at = Math.min(line.length - 1, at + 1 + (strides[i % strides.length] ?? 0));
          const to = line[at] ?? '';
          const commits: HistoryCommit[] = [];
          for await (const commit of repository.history(now.catalog.revision, to)) {
            commits.push(commit);
          }
          const ahead = await foldAhead(context, now, commits);
          const wanted = await replay({ repository, reader, under: '' }, to);
          if (ahead === undefined) now = wanted;
          else {
            folds += 1;
            if (commits.some(({ parents }) => parents.length > 1)) merges += 1;
            const undo = now.catalog.adopt(ahead.catalog, ahead.sides);
            undo();
            expect(now.catalog.revision).toBe(commits.length === 0 ? to : passed.at(-1));
            const again = await foldAhead(context, now, commits);
            if (again === undefined) throw new Error('The second try had no result');
            now.catalog.adopt(again.catalog, again.sides);
            now = { catalog: now.catalog, view: again.view };
          }
          passed.push(to);
          expect(picture(now.catalog)).toEqual(picture(wanted.catalog));
          expect(now.view.ignoreBlob).toBe(wanted.view.ignoreBlob);
          for (const commit of [passed[Math.floor(passed.length / 2)], commits[0]?.id]) {
            const view = commit === undefined ? undefined : await now.catalog.viewOf(commit);
            if (commit === undefined || view === undefined) continue;
            const past = await replay({ repository, reader, under: '' }, commit);
            if (past.catalog.rootCommit === view.rootCommit) {
              expect(picture(view)).toEqual(picture(past.catalog));
            }
          }
        }
      }),
    ),
    { numRuns: 40 },
  );
  expect([folds > 0, merges > 0]).toEqual([true, true]);
});

test('a range has the files of its newest commits alone in memory', async () => {
  const repository = await openForTest();
  const texts = ['a', 'b'].map((name) => '---\nkind: Team\n'.repeat(1000) + name);
  const [base = ''] = await publish(repository, commitOf({ 'a.yaml': '' }));
  const files = Array.from({ length: 40 }, (_, i) => commitOf({ 'a.yaml': texts[i % 2] ?? '' }));
  await publish(repository, ...files);
  const commits: HistoryCommit[] = [];
  const head = (await repository.head()) ?? '';
  for await (const commit of repository.history(base, head)) commits.push(commit);
  const read = (paths: Parameters<typeof readPaths>[2]) => readPaths(repository, reader, paths);
  const now = await replay({ repository, reader, under: '' }, base);

  const ahead = await foldAhead({ repository, under: '', read }, now, commits);

  expect(commits).toHaveLength(40);
  expect(ahead?.sides.map(({ commit }) => commit.id)).toEqual(
    commits.slice(-20, -1).map(({ id }) => id),
  );
});
