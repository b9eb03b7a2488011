/** The merge of a push: a commit with the tip as its first parent and the pushed commit as its second. */
import { describeKey, type ObjectKey, type User } from '../../../apimachinery/index.ts';
import type { Catalog } from '../../../catalog/index.ts';
import { type HistoryCommit, PathError, type Repository } from '../../../git/index.ts';
import type { Branch } from '../../branch.ts';
import { authorOf, COMMITTER } from '../../writes/commit-message.ts';
import type { Conflict } from './conflict.ts';
import type { PushedFiles } from './pushed-files.ts';
import { type MergedCommits, mergeTrees } from './tree-merge.ts';

export interface MergeParts {
  readonly branch: Branch;
  readonly repository: Repository;
  readonly files: PushedFiles;
  readonly user: User;
  /** The catalog at the pushed commit, if the base is not recent. */
  readonly replayed: Catalog | undefined;
}

/** Objects that a message names. */
const MAX_IN_SUBJECT = 2;
const MAX_IN_BODY = 100;

/**
 * Stores the merge without moving the branch. Callers hold the mutex, and the catalog is at the tip.
 */
export async function makeMerge(
  { branch, repository, files, user, replayed }: MergeParts,
  commits: MergedCommits,
): Promise<{ readonly commit: HistoryCommit } | { readonly conflicts: readonly Conflict[] }> {
  const { state, merger, under, clock } = branch;
  const { catalog, view } = state;
  const context = { repository, files, merger, under, catalog, view, replayed };
  const { changes, conflicts, keys } = await mergeTrees(context, commits);
  if (conflicts.length > 0) return { conflicts };
  const { tip, pushed } = commits;
  const time = Math.floor(clock.now() / 1000);
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
    if (problem !== undefined) {
      return { conflicts: [{ path: '', why: `the merge is too large: ${problem}` }] };
    }
    const parents = [tip, pushed];
    const lists = await Promise.all(parents.map((parent) => repository.diff(parent, id)));
    return { commit: { id, parents, committerTime: time, changes: lists } };
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
