/**
 * The commits of a range with what each changed: `git rev-list` names them, one `git diff-tree`
 * compares each with every parent, some groups of commits ahead of the reader.
 */
import type { Readable } from 'node:stream';
import { compareCommits, type DiffTreeReply, diffTreeProtocol } from './diff-tree.ts';
import type { GitContext } from './git-environment.ts';
import { MissingObjectError } from './git-error.ts';
import { collectStderr, ending, processError, spawnGit } from './git-process.ts';
import { assertObjectId } from './object-id.ts';
import type { HistoryCommit } from './repository.ts';
import { RequestProcess } from './request-process.ts';

const GROUP = 64;
const GROUPS_AHEAD = 4;

interface ListedCommit {
  readonly id: string;
  readonly parents: readonly string[];
  readonly committerTime: number;
}

export async function* history(
  context: GitContext,
  from: string | undefined,
  to: string,
): AsyncGenerator<HistoryCommit> {
  assertObjectId(to);
  if (from !== undefined) assertObjectId(from);
  // Its own process: a long history must not delay other questions.
  const diffs = new RequestProcess(context, diffTreeProtocol);
  try {
    const ahead: Promise<HistoryCommit[]>[] = [];
    for await (const group of grouped(listCommits(context, from, to))) {
      const compared = compareGroup(context, diffs, group);
      // Awaited in its turn; until then a failure must not count as unhandled.
      compared.catch(() => undefined);
      if (ahead.push(compared) >= GROUPS_AHEAD) yield* (await ahead.shift()) ?? [];
    }
    for (const compared of ahead) yield* await compared;
  } finally {
    await diffs.close();
  }
}

async function compareGroup(
  context: GitContext,
  diffs: RequestProcess<DiffTreeReply>,
  group: readonly ListedCommit[],
): Promise<HistoryCommit[]> {
  const comparisons = group.flatMap(({ id, parents }) =>
    (parents.length === 0 ? [undefined] : parents).map((parent) => ({ commit: id, parent })),
  );
  const lists = await compareCommits(diffs, comparisons);
  if (lists === undefined) throw new MissingObjectError(group[0]?.id ?? '', context.gitDir);
  let next = 0;
  return group.map((commit) => {
    const start = next;
    next += Math.max(commit.parents.length, 1);
    return { ...commit, changes: lists.slice(start, next) };
  });
}

async function* grouped(commits: AsyncIterable<ListedCommit>): AsyncGenerator<ListedCommit[]> {
  let group: ListedCommit[] = [];
  for await (const commit of commits) {
    if (group.push(commit) < GROUP) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** `--timestamp --parents`: `<committer time> SP <id> (SP <parent>)*` a line. */
async function* listCommits(
  context: GitContext,
  from: string | undefined,
  to: string,
): AsyncGenerator<ListedCommit> {
  const args = ['rev-list', '--topo-order', '--reverse', '--parents', '--timestamp', to];
  if (from !== undefined) args.push(`^${from}`);
  const child = spawnGit(context, args);
  const stderr = collectStderr(child);
  const end = ending(child);
  child.stdin.end();
  try {
    for await (const line of lines(child.stdout)) {
      const [time, id = '', ...parents] = line.split(' ');
      yield { id, parents, committerTime: Number(time) };
    }
    const how = await end;
    if (how.code !== 0) throw processError(args, how, stderr());
  } finally {
    child.kill('SIGKILL');
    await end;
  }
}

async function* lines(stream: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + (chunk as Buffer).toString('latin1')).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}
