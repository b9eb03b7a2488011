/**
 * One history, three ways to its catalog: commit by commit as the branch moves, from scratch, and
 * from the notes of an earlier run. They must not differ in anything that anyone can see
 * (invariants 9 and 12).
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { replay } from '../../src/catalog/replay.ts';
import { restore } from '../../src/catalog/restore.ts';
import { HeadMovedError } from '../../src/git/repository.ts';
import { conditionsOf, DEGRADED } from '../../src/registry/projection/served-object.ts';
import type { Store } from '../../src/state/store.ts';
import { commitOf, git, openForTest, publish } from '../support/git.ts';
import { kinds, openTestPlatform, type TestPlatform } from '../support/platform.ts';
import { forMilliseconds } from '../support/properties.ts';
import { picture } from './picture.ts';
import { randomFiles, randomSteps, type WrittenHistory, writeHistory } from './random-history.ts';

/** Number of histories to try; default: as many as a few seconds allow. */
const WANTED = process.env['GITPLANE_TEST_HISTORIES'];
const RUNS = Number(WANTED ?? 40);
const LIMIT_MS = WANTED === undefined ? 15_000 : Number.POSITIVE_INFINITY;
const TIMEOUT_MS = Math.max(60_000, RUNS * 5000);

const reader = fileReader(kinds, '');

/** The served objects, as far as they follow from history. */
function served(store: Store): unknown {
  return kinds.kinds.flatMap(({ group, kind }) =>
    store.list({ group, kind }).items.map(({ object, hidden }) => {
      const { resourceVersion: _journal, managedFields: _record, ...metadata } = object.metadata;
      const degraded = conditionsOf(object.status).find(({ type }) => type === DEGRADED)?.message;
      return { kind: object.kind, metadata, spec: object.spec, degraded, hidden };
    }),
  );
}

/** The platform is at `revision`, and as if it had read all of history just now. */
async function expectExact(platform: TestPlatform, revision: string): Promise<void> {
  const { repository, branch, store } = platform;
  const scratch = await replay({ repository, reader, under: '' }, revision);
  const wanted = picture(scratch.catalog);
  expect(picture(branch.state.catalog)).toEqual(wanted);
  expect(branch.state.view.ignoreBlob).toBe(scratch.view.ignoreBlob);
  const kept = restore(store, 'rules');
  expect(kept && picture(kept.catalog)).toEqual(wanted);
  expect(kept?.ignoreBlob).toBe(scratch.view.ignoreBlob);
  const cold = await openTestPlatform({ repository });
  expect(served(store)).toEqual(served(cold.store));
  await cold.close();
}

/** Commits in the order in which the branch visits them, back and sideways now and then. */
function visits({ line, all }: WrittenHistory, strides: readonly number[]): string[] {
  const chosen: string[] = [];
  for (let at = 0, i = 0; at < line.length; i++) {
    const stride = strides[i % strides.length] ?? 0;
    if (stride === 4) chosen.push(all[(at * 7 + i) % all.length] as string);
    chosen.push(line[at] as string);
    at += 1 + stride;
  }
  return [...chosen, line.at(-1) as string];
}

type Act =
  | { readonly do: 'commit'; readonly files: Readonly<Record<string, string | null>> }
  | { readonly do: 'create' | 'delete' | 'restart'; readonly name: string }
  | { readonly do: 'patch'; readonly name: string; readonly text: string; readonly label: boolean };

const name = fc.constantFrom('a', 'b', 'c', 'd');

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constant('commit' as const), files: randomFiles }),
  fc.record({ do: fc.constantFrom('create', 'create', 'delete', 'restart'), name }),
  fc.record({
    do: fc.constant('patch' as const),
    name,
    text: fc.constantFrom('one', 'two'),
    label: fc.boolean(),
  }),
);

/** Returns the commit that was acknowledged. Refusals are fine, other failures are not. */
async function perform(platform: TestPlatform, act: Act): Promise<string | undefined> {
  try {
    switch (act.do) {
      case 'create':
        return (await platform.create('teams', { metadata: { name: act.name } })).commit;
      case 'delete':
        return (await platform.delete('teams', act.name)).commit;
      case 'patch': {
        const patched = await platform.patch('teams', act.name, (object) => {
          if (act.label) object.metadata.labels = { l: act.text };
          else object.spec = { ...object.spec, displayName: act.text };
        });
        return patched.commit;
      }
      case 'commit':
        await commitFiles(platform, act.files);
        return undefined;
      case 'restart':
        return undefined;
    }
  } catch (error) {
    if (!(error instanceof StatusError) || error.code >= 500) throw error;
    return undefined;
  }
}

/** Commits like a git user: on top of the branch, independent of other writers. */
async function commitFiles(
  platform: TestPlatform,
  files: Readonly<Record<string, string | null>>,
): Promise<void> {
  const head = await platform.repository.head();
  const there = head === undefined ? [] : await platform.repository.listFiles(head);
  const known = new Set(there.map(({ path }) => path));
  // Links are for histories that git itself writes.
  const possible = Object.entries(files).filter(([path, text]) =>
    text === null ? known.has(path) : !text.startsWith('\0'),
  );
  try {
    await publish(platform.repository, commitOf(Object.fromEntries(possible)));
  } catch (error) {
    if (!(error instanceof HeadMovedError)) throw error;
  }
}

describe('writes through the API and with git, many at a time', () => {
  test(
    'leave what history says, and every answer was true',
    async () => {
      const groups = fc.array(fc.array(act, { minLength: 1, maxLength: 6 }), { maxLength: 6 });
      const property = fc.asyncProperty(
        groups,
        forMilliseconds(LIMIT_MS, async (groups) => {
          const repository = await openForTest();
          let platform = await openTestPlatform({ repository });
          for (const group of groups) {
            const commits = await Promise.all(group.map((act) => perform(platform, act)));
            await platform.branch.sync();
            if (group.some((act) => act.do === 'restart')) platform = await platform.restart();
            const head = await repository.head();
            if (head === undefined) continue;
            await expectExact(platform, head);
            const history = git(repository.gitDir, ['rev-list', head]).split('\n');
            expect(history).toEqual(expect.arrayContaining(commits.filter(Boolean)));
          }
          await platform.close();
          await repository.close();
        }),
      );

      await fc.assert(property, { numRuns: RUNS });
    },
    TIMEOUT_MS,
  );
});

describe('a catalog', () => {
  test(
    'is the same commit by commit, from scratch, and from the notes of an earlier run',
    async () => {
      const repository = await openForTest();
      const strides = fc.array(fc.nat(4), { minLength: 1 });
      const property = fc.asyncProperty(
        randomSteps,
        strides,
        forMilliseconds(LIMIT_MS, async (steps, strides) => {
          const history = writeHistory(repository.gitDir, steps);
          git(repository.gitDir, ['update-ref', '-d', 'refs/heads/main']);
          let platform = await openTestPlatform({ repository });
          for (const [i, revision] of visits(history, strides).entries()) {
            git(repository.gitDir, ['update-ref', 'refs/heads/main', revision]);
            await platform.branch.sync();

            await expectExact(platform, revision);
            // Every other time the way goes on from a restart.
            if (i % 2 === 1) platform = await platform.restart();
          }
          await platform.close();
        }),
      );

      await fc.assert(property, { numRuns: RUNS });
    },
    TIMEOUT_MS,
  );
});
