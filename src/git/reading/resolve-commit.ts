/** Resolution of user input to a commit id. No input becomes an option of git. */

import { isObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { tryGit } from '../process/git-process.ts';
import { tryWalk } from '../process/git-walk.ts';

/** Commit that a git revision names, as in `HEAD~1`; undefined: none. */
export async function resolveCommit(
  context: GitContext,
  expression: string,
): Promise<string | undefined> {
  if (expression === '' || expression.startsWith('-') || expression.includes('\0'))
    return undefined;
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${expression}^{commit}`];
  const { code, stdout } = await tryGit(context, args);
  const id = stdout.toString('latin1').trim();
  return code === 0 && isObjectId(id) ? id : undefined;
}

/** True if a branch or tag reaches the commit. */
export async function isOnSomeRef(context: GitContext, commit: string): Promise<boolean> {
  if (!isObjectId(commit)) return false;
  const args = ['for-each-ref', '--count=1', '--format=%(refname)', `--contains=${commit}`];
  const { code, stdout } = await tryWalk(context, args);
  return code === 0 && stdout.length > 0;
}
