/** Text search in the files of a commit, with git grep. */
import type { GitContext } from '../process/git-environment.ts';
import { processError, tryGit } from '../process/git-process.ts';

/** Matches of an extended regular expression, by file; empty if the revision does not exist. */
export async function grepRevision(
  context: GitContext,
  revision: string,
  pattern: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const known = ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`];
  if ((await tryGit(context, known)).code !== 0) return new Map();
  const args = ['grep', '-z', '-I', '-o', '-E', '-e', pattern, revision, '--'];
  const { code, stdout, stderr } = await tryGit(context, args);
  // 1: no match.
  if (code !== 0 && code !== 1) throw processError(args, { code, signal: null }, stderr);
  const found = new Map<string, string[]>();
  for (const line of stdout.toString('utf8').split('\n')) {
    const [file = '', text] = line.split('\0');
    if (text === undefined) continue;
    const path = file.slice(revision.length + 1);
    found.set(path, [...(found.get(path) ?? []), text]);
  }
  return found;
}
