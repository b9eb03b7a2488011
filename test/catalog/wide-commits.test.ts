/** Commits that change many files: a replay has the changes of few of them in memory. */
import { expect, test } from 'vitest';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { type ReplayContext, replay } from '../../src/catalog/replay.ts';
import type { HistoryCommit } from '../../src/git/index.ts';
import { commitOf, openForTest, publish } from '../support/git.ts';
import { kinds } from '../support/platform.ts';

const FILES = 1500;
const COMMITS = 6;
const TEAM = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: a}\n';

/** Alternate commits add and remove the files. */
function wideCommits(ending: string): Record<string, string | null>[] {
  const paths = Array.from({ length: FILES }, (_, i) => `wide/${i}.${ending}`);
  return Array.from({ length: COMMITS }, (_, at) =>
    Object.fromEntries(paths.map((path) => [path, at % 2 === 0 ? '# nothing\n' : null])),
  );
}

interface Read {
  readonly context: ReplayContext;
  /** Changes that the replay was given. */
  changes: number;
  /** Most changes of commits that were read and not folded. */
  ahead: number;
}

/** A branch with the commits, and what a replay of it reads. */
async function branchOf(
  commits: readonly Record<string, string | null>[],
): Promise<{ readonly read: Read; readonly head: string }> {
  const repository = await openForTest();
  await publish(repository, commitOf({ 'teams/a.yaml': TEAM }));
  const [head = ''] = (
    await publish(repository, ...commits.map((files) => commitOf(files)))
  ).reverse();
  const unfolded = new Map<string, number>();
  async function* history(
    ...asked: Parameters<typeof repository.history>
  ): AsyncGenerator<HistoryCommit> {
    for await (const commit of repository.history(...asked)) {
      const [{ length } = []] = commit.changes;
      read.changes += length;
      unfolded.set(commit.id, length);
      read.ahead = Math.max(
        read.ahead,
        [...unfolded.values()].reduce((sum, n) => sum + n, 0),
      );
      yield commit;
    }
  }
  const read: Read = {
    context: {
      repository: {
        history,
        readBlobs: repository.readBlobs.bind(repository),
        listFiles: repository.listFiles.bind(repository),
        rootCommit: repository.rootCommit.bind(repository),
      },
      reader: fileReader(kinds, ''),
      under: '',
      onStep: ({ commit }) => void unfolded.delete(commit.id),
    },
    changes: 0,
    ahead: 0,
  };
  return { read, head };
}

test('a replay is given the changes of manifests alone', async () => {
  const { read, head } = await branchOf(wideCommits('txt'));
  const folded = await replay(read.context, head);
  expect(read.changes).toBe(1);
  expect(folded.catalog.revision).toBe(head);
  expect([...folded.catalog.files()].map(({ path }) => path)).toEqual(['teams/a.yaml']);
});

test('a replay reads a commit with many changes once it is there', async () => {
  const { read, head } = await branchOf(wideCommits('yaml'));
  const folded = await replay(read.context, head);
  expect(read.changes).toBe(1 + COMMITS * FILES);
  // The commit that is folded, and one that ends a window.
  expect(read.ahead).toBeLessThanOrEqual(2 * FILES);
  expect(folded.catalog.revision).toBe(head);
});
