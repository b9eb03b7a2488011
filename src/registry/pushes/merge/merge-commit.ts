/** The merge of a push: a commit with the tip as its first parent and the pushed commit as its second. */
import { describeKey, type ObjectKey, type User } from '../../../apimachinery/index.ts';
import type { Catalog, CommitPoint, Folded } from '../../../catalog/index.ts';
import { type HistoryCommit, PathError, type Repository } from '../../../git/index.ts';
import type { Branch } from '../../branch.ts';
import { authorOf, COMMITTER } from '../../writes/commit-message.ts';
import type { Conflict } from './conflict.ts';
import type { FileMerger } from './file-merger.ts';
import type { PushedFiles } from './pushed-files.ts';
import { type MergedCommits, mergeTrees, type TreeMerge } from './tree-merge.ts';

export interface MergeParts {
  readonly branch: Branch;
  readonly repository: Repository;
  readonly files: PushedFiles;
  readonly merger: FileMerger;
  readonly user: User;
}

export interface StoredMerge {
  readonly merge: TreeMerge;
  readonly commit: HistoryCommit;
}

interface Conflicts {
  readonly conflicts: readonly Conflict[];
}

/** Objects that a message names. */
const MAX_IN_SUBJECT = 2;
const MAX_IN_BODY = 100;

/** Stores the merge without moving the branch. The catalog is at the tip. */
export async function makeMerge(
  parts: MergeParts,
  at: Folded & { readonly replayed?: Catalog | undefined },
  commits: MergedCommits,
): Promise<StoredMerge | Conflicts> {
  const { repository, files, merger } = parts;
  const { under } = parts.branch;
  const { catalog, view, replayed } = at;
  const context = { repository, files, merger, under, catalog, view, replayed };
  const merge = await mergeTrees(context, commits);
  if (merge.conflicts.length > 0) return merge;
  const stored = await storeMerge(parts, merge, commits);
  if ('conflicts' in stored) return stored;
  const { id, committerTime } = stored;
  const parents = [commits.tip, commits.pushed];
  // Against the pushed commit it differs in all that came to the branch, which nobody has to judge again.
  const changes = [await repository.diff(commits.tip, id)];
  return { merge, commit: { id, parents, committerTime, changes } };
}

/**
 * Stores a merge on a tip, without moving the branch: the one that it was made on, or one that has gone
 * on and differs in nothing of its footprint.
 */
export async function storeMerge(
  { branch, repository, user }: MergeParts,
  { changes, keys }: TreeMerge,
  { tip, pushed }: Pick<MergedCommits, 'tip' | 'pushed'>,
): Promise<CommitPoint | Conflicts> {
  const time = Math.floor(branch.clock.now() / 1000);
  const batch = repository.begin(tip);
  try {
    const { id } = await batch.add({
      changes,
      merged: pushed,
      author: authorOf(user),
      committer: COMMITTER,
      time,
      message: messageOf(pushed, keys),
    });
    await batch.store();
    const { problem } = await repository.checkLimits(id, 'push');
    if (problem === undefined) return { id, committerTime: time };
    return { conflicts: [{ path: '', why: `the merge is too large: ${problem}` }] };
  } catch (error) {
    if (!(error instanceof PathError)) throw error;
    return { conflicts: [{ path: error.path, why: error.message }] };
  }
}

function messageOf(pushed: string, keys: readonly ObjectKey[]): string {
  const names = keys.map(describeKey).sort();
  const shown = names.slice(0, MAX_IN_SUBJECT).join(', ');
  const more = names.length > MAX_IN_SUBJECT ? ` and ${names.length - MAX_IN_SUBJECT} more` : '';
  const subject = names.length === 0 ? `merge ${pushed.slice(0, 12)}` : `merge ${shown}${more}`;
  const listed = names.length <= MAX_IN_SUBJECT ? [] : names.slice(0, MAX_IN_BODY);
  const left = names.length - MAX_IN_BODY;
  const rest = left > 0 ? [`and ${left} more`] : [];
  return [subject, [...listed, ...rest].join('\n')].filter((part) => part !== '').join('\n\n');
}
