/**
 * The past, read from the index, is what a fold of all of history up to the commit comes to: object
 * by object, list by list, for every commit of histories with forks, merges, moves and mistakes.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyString, type ObjectKey } from '../../src/apimachinery/key.ts';
import type { CatalogObject } from '../../src/catalog/catalog-object.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { replay } from '../../src/catalog/replay.ts';
import { History } from '../../src/history/history.ts';
import type { PastObject } from '../../src/history/past-object.ts';
import { randomSteps, type WrittenHistory, writeHistory } from '../catalog/random-history.ts';
import { git, openForTest } from '../support/git.ts';
import { kindOf, kinds, openTestPlatform, type TestPlatform } from '../support/platform.ts';
import { forMilliseconds } from '../support/properties.ts';

const WANTED = process.env['GITPLANE_TEST_HISTORIES'];
const RUNS = Number(WANTED ?? 40);
const LIMIT_MS = WANTED === undefined ? 15_000 : Number.POSITIVE_INFINITY;
const TIMEOUT_MS = Math.max(60_000, RUNS * 5000);

const reader = fileReader(kinds, '');
const PLURALS = ['teams', 'sharedsecrets'] as const;

function historyOf({ repository, branch }: TestPlatform): History {
  return new History({ repository, branch, kinds, reader, under: '' });
}

type Picture = Pick<CatalogObject, 'identity' | 'manifest' | 'problems'> & { path: string };

function picture({ identity, manifest, problems, place }: CatalogObject): Picture {
  return { identity, manifest, problems, path: place.path };
}

const byKey = (a: { key: ObjectKey }, b: { key: ObjectKey }): number =>
  keyString(a.key) < keyString(b.key) ? -1 : 1;

/** Objects of one kind in a fold of the whole history. */
async function folded(platform: TestPlatform, revision: string): Promise<CatalogObject[]> {
  const { repository } = platform;
  const { catalog } = await replay({ repository, reader, under: '' }, revision);
  return [...catalog.objects()].sort(byKey);
}

async function expectPast(history: History, platform: TestPlatform, id: string): Promise<void> {
  const wanted = await folded(platform, id);
  const point = await history.find({ revision: id });
  for (const plural of PLURALS) {
    const kind = kindOf(plural);
    const own = wanted.filter(({ key }) => key.kind === kind.kind);
    const list = await history.listAt(kind, { group: kind.group, kind: kind.kind }, point);
    expect(
      list
        .map(({ source }) => source)
        .sort(byKey)
        .map(picture),
    ).toEqual(own.map(picture));
    const names = ['a', 'b', 'c'];
    const namespaces = kind.scope === 'Cluster' ? [''] : ['default', 'n1', 'n2'];
    for (const name of names) {
      for (const namespace of namespaces) {
        const key = { group: kind.group, kind: kind.kind, namespace, name };
        const found: PastObject | undefined = await history.objectAt(kind, key, point);
        const there = own.find((object) => keyString(object.key) === keyString(key));
        expect(found && picture(found.source), `${keyString(key)} at ${id}`).toEqual(
          there && picture(there),
        );
      }
    }
  }
}

/** Commits of a history that the branch reaches, in an order that jumps about. */
function reached(gitDir: string, { line }: WrittenHistory, head: string): string[] {
  const all = git(gitDir, ['rev-list', head]).split('\n');
  return line.length % 2 === 0 ? all : all.reverse();
}

describe('the past', () => {
  test(
    'equals the fold of all history, for every commit of the branch',
    async () => {
      const repository = await openForTest();
      const property = fc.asyncProperty(
        randomSteps,
        fc.nat(3),
        forMilliseconds(LIMIT_MS, async (steps, stride) => {
          const written = writeHistory(repository.gitDir, steps);
          git(repository.gitDir, ['update-ref', '-d', 'refs/heads/main']);
          const platform = await openTestPlatform({ repository });
          const history = historyOf(platform);
          // The branch comes in a few leaps, so that the index is extended as well as made.
          const stops = written.line.filter((_, i) => i % (stride + 1) === 0);
          for (const head of new Set([...stops, written.line.at(-1) as string])) {
            git(repository.gitDir, ['update-ref', 'refs/heads/main', head]);
            await platform.branch.sync();
            for (const id of reached(repository.gitDir, written, head)) {
              await expectPast(history, platform, id);
            }
          }
          history.close();
          await platform.close();
        }),
      );

      await fc.assert(property, { numRuns: RUNS });
    },
    TIMEOUT_MS,
  );
});
