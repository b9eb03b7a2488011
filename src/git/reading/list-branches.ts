/** Branches of the repository, the one with the newest commit first. */
import { mapLimit } from '../../concurrency/index.ts';
import { runGit } from '../process/git-process.ts';
import type { Repository } from '../repository.ts';

export interface Branch {
  /** `main`, or `refs/remotes/origin/main` for a branch elsewhere. */
  readonly name: string;
  readonly tip: string;
  /** Committer time of the tip, in seconds since the epoch. */
  readonly time: number;
  readonly author: string;
  /** First line of the message of the tip. */
  readonly subject: string;
}

const HEADS = 'refs/heads/';
const READ_AT_ONCE = 16;
const LONGEST_SUBJECT = 256;

/**
 * At most `limit` branches. The daemon reads the tips: `git for-each-ref` would have all of them in
 * memory, with their messages.
 */
export async function listBranches(
  repository: Pick<Repository, 'gitDir' | 'commitMetadata'>,
  limit: number,
): Promise<Branch[]> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', HEADS, 'refs/remotes/'];
  const lines = (await runGit(repository, args)).toString('utf8').split('\n').filter(Boolean);
  const branches = await mapLimit(lines, READ_AT_ONCE, async (line): Promise<Branch> => {
    const [tip, ref] = [line.slice(0, 40), line.slice(41)];
    const { author, committerTime: time, message } = await repository.commitMetadata(tip);
    const name = ref.startsWith(HEADS) ? ref.slice(HEADS.length) : ref;
    return { name, tip, time, author: author.name, subject: subjectOf(message) };
  });
  return branches.sort((a, b) => b.time - a.time).slice(0, limit);
}

/** A text of its own: a slice would keep the whole message in memory. */
function subjectOf(message: string): string {
  const end = message.indexOf('\n');
  return Buffer.from(
    message.slice(0, end === -1 ? undefined : end).slice(0, LONGEST_SUBJECT),
  ).toString();
}
