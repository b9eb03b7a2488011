/** Ancestry of two commits, for callers that have a git directory and no open repository. */
import { runGit, tryGit } from '../process/git-process.ts';
import { tryWalk } from '../process/git-walk.ts';

/** True if `commit` is part of the history of the local commit `tip`. */
export async function containsCommit(
  gitDir: string,
  tip: string,
  commit: string,
): Promise<boolean> {
  if (tip === commit) return true;
  const context = { gitDir };
  // A commit that is missing here is in no local history.
  if ((await tryGit(context, ['cat-file', '-e', commit])).code !== 0) return false;
  const { code } = await tryWalk(context, ['merge-base', '--is-ancestor', commit, tip]);
  if (code === 0 || code === 1) return code === 0;
  await runGit(context, ['cat-file', '-e', tip]);
  return false;
}
