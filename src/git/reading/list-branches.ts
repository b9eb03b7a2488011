/** Branches of the repository, the one with the newest commit first. */
import type { GitContext } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';

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

const FIELDS = ['refname', 'objectname', 'committerdate:unix', 'authorname', 'contents:subject'];
const HEADS = 'refs/heads/';

/** At most `limit` branches. */
export async function listBranches(context: GitContext, limit: number): Promise<Branch[]> {
  const format = FIELDS.map((field) => `%(${field})`).join('%00');
  const order = ['--sort=-committerdate', `--count=${limit}`, `--format=${format}`];
  const listed = await runGit(context, ['for-each-ref', ...order, HEADS, 'refs/remotes/']);
  return listed
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [ref = '', tip = '', time, author = '', subject = ''] = line.split('\0');
      const name = ref.startsWith(HEADS) ? ref.slice(HEADS.length) : ref;
      return { name, tip, time: Number(time), author, subject };
    });
}
