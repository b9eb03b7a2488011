/** A pinned catalog, and its views of earlier commits, stay as they are while the catalog moves on. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PinnedCatalog } from '../../src/catalog/catalog.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { foldAhead } from '../../src/catalog/fold-ahead.ts';
import { readPaths } from '../../src/catalog/reading.ts';
import { replay } from '../../src/catalog/replay.ts';
import type { HistoryCommit } from '../../src/git/repository.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { openForTest } from '../support/git.ts';
import { forMilliseconds } from '../support/properties.ts';
import { picture } from './picture.ts';
import { randomSteps, writeHistory } from './random-history.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');

interface Pinned {
  readonly pin: PinnedCatalog;
  readonly looked: unknown;
  /** An earlier commit; undefined: the step to the pin was undone. */
  readonly past: string | undefined;
}

test('pins stay where they were, whatever is applied and undone below them', {
  timeout: 120_000,
}, async () => {
  let moved = 0;
  await fc.assert(
    fc.asyncProperty(
      randomSteps,
      forMilliseconds(10_000, async (steps) => {
        const repository = await openForTest();
        const { line } = writeHistory(repository.gitDir, steps);
        const read = (paths: Parameters<typeof readPaths>[2]) =>
          readPaths(repository, reader, paths);
        let now = await replay({ repository, reader, under: '' }, line[0] ?? '');
        const pins: Pinned[] = [];
        const addPin = (past: string | undefined): void => {
          pins.push({ pin: now.catalog.pin(), looked: picture(now.catalog), past });
        };
        addPin(line[0] ?? '');
        for (const [i, to] of line.slice(1).entries()) {
          const commits: HistoryCommit[] = [];
          for await (const commit of repository.history(now.catalog.revision, to)) {
            commits.push(commit);
          }
          const context = { repository, under: '', read };
          const ahead = await foldAhead(context, now, commits);
          if (ahead === undefined) break;
          const undo = now.catalog.adopt(ahead.catalog, ahead.sides);
          addPin(undefined);
          undo();
          // Pins that were made before the step, and after it.
          for (const { pin, looked } of pins) expect(picture(pin.catalog)).toEqual(looked);
          const again = await foldAhead(context, now, commits);
          if (again === undefined) throw new Error('The second try had no result');
          now.catalog.adopt(again.catalog, again.sides);
          now = { catalog: now.catalog, view: again.view };
          addPin(line[i] ?? to);
        }
        for (const { pin, looked, past } of pins) {
          if (pin.catalog.revision !== now.catalog.revision) moved += 1;
          expect(picture(pin.catalog)).toEqual(looked);
          const view = past === undefined ? undefined : await pin.catalog.viewOf(past);
          if (past === undefined || view === undefined) continue;
          const wanted = await replay({ repository, reader, under: '' }, past);
          if (wanted.catalog.rootCommit === view.rootCommit) {
            expect(picture(view)).toEqual(picture(wanted.catalog));
          }
          pin.release();
        }
      }),
    ),
    { numRuns: 30 },
  );
  expect(moved).toBeGreaterThan(0);
});
