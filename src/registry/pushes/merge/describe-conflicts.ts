/** Conflicts in words: each with the newest change on the branch, its author and time. */

import { shownPath } from '../../../apimachinery/index.ts';
import type { HistoryCommit, Repository } from '../../../git/index.ts';
import { capped } from '../verdict.ts';
import { type Conflict, subjectOf } from './conflict.ts';

/** Conflicts whose authors are looked up. */
const MAX_LOOKED_UP = 20;
const REASON_LIMIT = 120;
/** A branch that went on further is not searched for the authors of changes. */
const MAX_SEARCHED = 20_000;
const SHORT_ID = 12;

/** A commit, without the list of all that it changed. */
type Change = Pick<HistoryCommit, 'id' | 'committerTime'>;
type Source = Pick<Repository, 'history' | 'commitMetadata'>;

export async function describeConflicts(
  { repository }: { readonly repository: Source },
  conflicts: readonly Conflict[],
  range: { readonly base: string; readonly head: string },
): Promise<{ readonly lines: readonly string[]; readonly reason: string }> {
  const wanted = new Set(conflicts.slice(0, MAX_LOOKED_UP).map(({ path }) => path));
  const newest = new Map<string, Change>();
  let searched = 0;
  for await (const commit of repository.history(range.base, range.head, {
    against: 'first parent',
  })) {
    searched += 1;
    if (searched > MAX_SEARCHED) {
      newest.clear();
      break;
    }
    // A merge repeats the changes of its parents.
    if (commit.parents.length > 1) continue;
    const { id, committerTime } = commit;
    for (const { path } of commit.changes[0] ?? []) {
      if (wanted.has(path)) newest.set(path, { id, committerTime });
    }
  }
  const lines: string[] = [];
  for (const [i, conflict] of conflicts.entries()) {
    const commit = i < MAX_LOOKED_UP ? newest.get(conflict.path) : undefined;
    lines.push(describeConflict(conflict, commit && (await described(repository, commit))));
  }
  const [first] = conflicts;
  const others = conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : '';
  const reason = `conflict: ${first === undefined ? '' : subjectOf(first)}`.slice(0, REASON_LIMIT);
  const count = `${conflicts.length} conflict${conflicts.length === 1 ? '' : 's'}; nothing was changed`;
  const remedy = 'fetch, merge or rebase, and push again';
  return { lines: [...capped(lines), `${count}: ${remedy}`], reason: `${reason}${others}` };
}

/** One line for the pusher. `last`: the change on the branch. */
function describeConflict(conflict: Conflict, last: string | undefined): string {
  const place = conflict.key === undefined ? '' : `${shownPath(conflict.path)}: `;
  return `${place}${subjectOf(conflict)}: ${conflict.why}${last === undefined ? '' : ` (${last})`}`;
}

async function described(repository: Source, { id, committerTime }: Change): Promise<string> {
  const { author } = await repository.commitMetadata(id);
  const time = new Date(committerTime * 1000).toISOString().replace('.000Z', 'Z');
  return `changed by ${author.name} <${author.email}> at ${time} in ${id.slice(0, SHORT_ID)}`;
}
