/**
 * Walks of history by git. Some commands keep every commit in memory with its message, but only if git
 * has to read it: commits of the commit-graph file are walked without. A walk that meets the limit of
 * memory writes the file and starts again.
 */
import type { GitContext } from './git-environment.ts';
import { type GitResult, gitLines, tryGit } from './git-process.ts';
import { GitLimitError } from './process-limits.ts';

/** Adds what refs reach to the commit-graph file of the repository. Never rejects: a failure leaves the file as it is. */
export async function writeCommitGraph({ gitDir }: GitContext): Promise<void> {
  const args = ['commit-graph', 'write', '--reachable', '--split', '--no-progress'];
  // Without the environment of a quarantine, where the file would be lost.
  await tryGit({ gitDir }, args).catch(() => undefined);
}

/** As `tryGit`. */
export async function tryWalk(context: GitContext, args: readonly string[]): Promise<GitResult> {
  try {
    return await tryGit(context, args);
  } catch (error) {
    await writeAfter(error, context);
    return await tryGit(context, args);
  }
}

/** As `gitLines`, for commands that list nothing before they have read everything. */
export async function* walkLines(
  context: GitContext,
  args: readonly string[],
): AsyncGenerator<string> {
  let isBegun = false;
  try {
    for await (const line of gitLines(context, args)) {
      isBegun = true;
      yield line;
    }
  } catch (error) {
    if (isBegun) throw error;
    await writeAfter(error, context);
    yield* gitLines(context, args);
  }
}

/** Throws every error but that of the memory. */
async function writeAfter(error: unknown, context: GitContext): Promise<void> {
  if (!(error instanceof GitLimitError && error.limit === 'memory')) throw error;
  await writeCommitGraph(context);
}
