/**
 * Replays the history of a push whose base is not recent, without the mutex: the catalog at the pushed
 * commit does not depend on the tip.
 */
import {
  type Folded,
  type FoldedStep,
  type ReplayContext,
  replay,
} from '../../../catalog/index.ts';
import type { HistoryCommit } from '../../../git/index.ts';
import type { Branch } from '../../branch.ts';
import { ChangedManifests } from '../changed-manifests.ts';
import type { PushSource } from '../push-source.ts';

export interface Replayed {
  readonly heads: ReadonlyMap<string, Folded>;
  /** Steps of the pushed commits. */
  readonly steps: readonly FoldedStep[];
}

export async function replayPushed(of: {
  readonly repository: PushSource;
  readonly branch: Branch;
  readonly commits: readonly HistoryCommit[];
  readonly to: string;
}): Promise<Replayed> {
  const { repository, branch, commits, to } = of;
  const { reader, under, state } = branch;
  // With their changes against every parent, which a replay does not ask for.
  const pushed = new Map(commits.map((commit) => [commit.id, commit]));
  const steps: FoldedStep[] = [];
  const changed = new ChangedManifests();
  const { rootCommit } = state.catalog;
  const source = sameRoot(repository, rootCommit);
  const onStep = (step: FoldedStep): void => {
    const commit = pushed.get(step.commit.id);
    if (commit === undefined) return;
    changed.add(step);
    steps.push({ ...step, commit });
  };
  const folded = await replay({ repository: source, reader, under, onStep }, to);
  return { heads: new Map([[to, folded]]), steps };
}

/** Identities count from the first commit of the branch, also in a line that began elsewhere. */
function sameRoot(repository: PushSource, rootCommit: string): ReplayContext['repository'] {
  const { context } = repository;
  return {
    ...(context && { context }),
    readBlobs: (ids) => repository.readBlobs(ids),
    listFiles: (revision, under) => repository.listFiles(revision, under),
    history: (from, to, scope) => repository.history(from, to, scope),
    rootCommit: async () => rootCommit,
  };
}
