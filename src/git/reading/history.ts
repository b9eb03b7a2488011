/**
 * The commits of a range with their changes. `git rev-list` lists them, and one `git diff-tree`
 * compares each with every parent, a few chunks of commits ahead of the reader.
 */

import { MissingObjectError } from '../git-error.ts';
import { asAddition, parseFileList } from '../objects/file-list.ts';
import { assertObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';
import { walkLines } from '../process/git-walk.ts';
import { GitLimitError, replies } from '../process/process-limits.ts';
import type { HistoryCommit, HistoryScope, PathChange, PathSelection } from '../repository.ts';
import type { CommitLimits, CommitRoots } from './commit-limits.ts';
import type { ParentsOf, ParentsRange } from './commit-walk.ts';
import {
  type Comparison,
  compareCommits,
  type DiffTreeReply,
  diffTreeOf,
  selectedAdditions,
} from './diff-tree.ts';
import { RequestProcess } from './request-process.ts';

const CHUNK = 64;
const CHUNKS_AHEAD = 4;
/** Changes of a chunk, of which several are in memory. A longer one is read in parts. */
const SHORT_BYTES = 8 * 1024 * 1024;

export interface ListedCommit extends CommitRoots {
  readonly id: string;
  readonly committerTime: number;
}

/** Reads of one walk. */
export interface HistorySource {
  /** Commits of a range, parents before children. */
  list(range: HistoryRange): AsyncIterable<ListedCommit>;
  /** One list per comparison, in order. Rejects with GitLimitError if several of them are too long together. */
  compare(comparisons: readonly Comparison[]): Promise<readonly (readonly PathChange[])[]>;
  /** Every file of a commit, as an addition. */
  additions(commit: string): Promise<PathChange[]>;
  /** Called once, at the end of the walk. */
  close(): Promise<void>;
}

/** A walk by processes of git; a long one must not delay other questions, so they are its own. */
export function historyOfGit(context: GitContext, paths?: PathSelection): HistorySource {
  const protocol = diffTreeOf(paths);
  const diffs = new RequestProcess(context, protocol);
  const short = new RequestProcess(context, { ...protocol, limits: replies(SHORT_BYTES) });
  const list = (range: HistoryRange) => listCommits(context, range);
  return {
    ...knownHistory(context, diffs, { commits: [], paths }),
    list,
    compare: (all) => compareAll(context, all.length === 1 ? diffs : short, all),
    close: async () => void (await Promise.all([diffs.close(), short.close()])),
  };
}

/** A short walk over known commits, which takes no process of its own. */
export function knownHistory(
  context: GitContext,
  diffs: RequestProcess<DiffTreeReply>,
  {
    commits,
    paths,
  }: {
    readonly commits: readonly ListedCommit[];
    readonly paths: PathSelection | undefined;
  },
): HistorySource {
  return {
    list: async function* () {
      yield* commits;
    },
    compare: (comparisons) => compareAll(context, diffs, comparisons),
    additions: (commit) => additionsOf(context, commit, paths),
    close: () => Promise.resolve(),
  };
}

async function compareAll(
  { gitDir }: GitContext,
  diffs: RequestProcess<DiffTreeReply>,
  comparisons: readonly Comparison[],
): Promise<readonly (readonly PathChange[])[]> {
  const lists = await compareCommits(diffs, comparisons);
  if (lists !== undefined) return lists;
  throw new MissingObjectError(comparisons[0]?.commit ?? '', gitDir);
}

/** Commits that `tips` reach, and `not`, a commit or all refs, does not. */
export interface HistoryRange extends HistoryScope {
  readonly tips: readonly string[];
  readonly not: string | undefined;
  /** More commits that `not` reaches, and where git can stop. */
  readonly beyond?: readonly string[];
}

/**
 * A commit above the limits is reported without changes. Its children are compared with its stand-in.
 */
export async function* history(
  source: HistorySource,
  range: HistoryRange,
  bounds: CommitLimits,
): AsyncGenerator<HistoryCommit> {
  const standIns = new StandIns(bounds, range.against === 'first parent' ? 1 : undefined);
  try {
    if (range.against === 'no parent') {
      for await (const { tree: _tree, ...commit } of source.list(range))
        yield { ...commit, changes: [] };
      return;
    }
    const ahead: ReadAhead[] = [];
    for await (const chunk of chunked(source.list(range))) {
      const next = readAhead(source, await standIns.planFor(chunk));
      const first = ahead.push(next) >= CHUNKS_AHEAD ? ahead.shift() : undefined;
      if (first !== undefined) yield* inParts(source, first);
    }
    for (let next = ahead.shift(); next !== undefined; next = ahead.shift()) {
      yield* inParts(source, next);
    }
  } finally {
    await source.close();
  }
}

/** A commit and the commits to compare it with. */
interface PlannedCommit extends ListedCommit {
  /** An `undefined` item stands for the empty tree. Absent: the tree is not read. */
  readonly against?: readonly (string | undefined)[];
}

/** Stand-in of each commit whose children may still follow. */
class StandIns {
  readonly #bounds: CommitLimits;
  /** Stand-ins of commits above the limits and of commits outside of the range. */
  readonly #found = new Map<string, string | undefined>();
  readonly #listed = new Set<string>();
  /** Number of parents that each commit is compared with. Undefined: all. */
  readonly #compared: number | undefined;

  constructor(bounds: CommitLimits, compared: number | undefined) {
    this.#bounds = bounds;
    this.#compared = compared;
  }

  async planFor(chunk: readonly ListedCommit[]): Promise<PlannedCommit[]> {
    await this.#bounds.prepare(chunk.map(({ tree }) => tree));
    const planned: PlannedCommit[] = [];
    for (const commit of chunk) planned.push(await this.#plan(commit));
    return planned;
  }

  async #plan(commit: ListedCommit): Promise<PlannedCommit> {
    const { id, parents } = commit;
    this.#listed.add(id);
    if ((await this.#bounds.problemOf(commit)) !== undefined) {
      const [first] = parents;
      this.#found.set(id, first === undefined ? undefined : await this.#of(first));
      return commit;
    }
    if (parents.length === 0) return { ...commit, against: [undefined] };
    const against: (string | undefined)[] = [];
    for (const parent of parents.slice(0, this.#compared)) against.push(await this.#of(parent));
    return { ...commit, against };
  }

  async #of(id: string): Promise<string | undefined> {
    if (this.#found.has(id)) return this.#found.get(id);
    if (this.#listed.has(id)) return id;
    const { standIn } = await this.#bounds.of(id);
    this.#found.set(id, standIn);
    return standIn;
  }
}

interface ReadAhead {
  readonly chunk: readonly PlannedCommit[];
  readonly compared: Promise<HistoryCommit[]>;
}

function readAhead(source: HistorySource, chunk: readonly PlannedCommit[]): ReadAhead {
  const compared = compareChunk(source, chunk);
  // Awaited later, in order; until then a failure must not count as unhandled.
  compared.catch(() => undefined);
  return { chunk, compared };
}

/** A chunk that is too long for one process is read again by halves, when its reader gets there. */
async function* inParts(
  source: HistorySource,
  { chunk, compared }: ReadAhead,
): AsyncGenerator<HistoryCommit> {
  const commits = await compared.catch((error: unknown) => {
    if (chunk.length > 1 && error instanceof GitLimitError && isOfLength(error)) return [];
    throw error;
  });
  yield* commits;
  const middle = commits.length > 0 ? 0 : chunk.length >> 1;
  if (middle === 0) return;
  yield* inParts(source, readAhead(source, chunk.slice(0, middle)));
  yield* inParts(source, readAhead(source, chunk.slice(middle)));
}

/** The process keeps every commit in memory, with its message. */
function isOfLength({ limit }: GitLimitError): boolean {
  return limit === 'output' || limit === 'memory';
}

async function compareChunk(
  source: HistorySource,
  chunk: readonly PlannedCommit[],
): Promise<HistoryCommit[]> {
  const comparisons = chunk.flatMap((commit) => comparisonsOf(commit));
  const lists = comparisons.length === 0 ? [] : await source.compare(comparisons);
  const compared = lists.values();
  const commits: HistoryCommit[] = [];
  for (const { against, tree: _tree, ...commit } of chunk) {
    const changes: (readonly PathChange[])[] = [];
    for (const parent of against ?? commit.parents) {
      if (against === undefined) changes.push([]);
      else if (isListed(commit, parent)) changes.push(await source.additions(commit.id));
      else changes.push(compared.next().value ?? []);
    }
    commits.push({ ...commit, changes });
  }
  return commits;
}

function comparisonsOf(commit: PlannedCommit): Comparison[] {
  const { id, against = [] } = commit;
  return against
    .filter((parent) => !isListed(commit, parent))
    .map((parent) => ({ commit: id, parent }));
}

/** git compares a commit with the empty tree only if it has no parents. */
function isListed(
  { parents }: Pick<ListedCommit, 'parents'>,
  against: string | undefined,
): boolean {
  return against === undefined && parents.length > 0;
}

async function additionsOf(
  context: GitContext,
  commit: string,
  paths: PathSelection | undefined,
): Promise<PathChange[]> {
  if (paths !== undefined) return await selectedAdditions(context, commit, paths);
  const args = ['ls-tree', '-r', '-z', '--full-tree', commit];
  return parseFileList(await runGit(context, args)).map(asAddition);
}

async function* chunked(commits: AsyncIterable<ListedCommit>): AsyncGenerator<ListedCommit[]> {
  let chunk: ListedCommit[] = [];
  for await (const commit of commits) {
    if (chunk.push(commit) < CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** Each line is `<committer time> SP <id> SP <tree> SP (<parent> SP)*`. */
async function* listCommits(
  context: GitContext,
  { tips, not, beyond = [] }: HistoryRange,
): AsyncGenerator<ListedCommit> {
  for (const id of tips) assertObjectId(id);
  if (not !== undefined && not !== 'all refs') assertObjectId(not);
  const format = ['--timestamp', '--no-commit-header', '--format=%H %T %P'];
  const args = ['rev-list', '--topo-order', '--reverse', ...format, ...tips];
  args.push(...beyond.map((id) => `^${id}`));
  if (not === 'all refs') args.push('--not', '--all');
  else if (not !== undefined) args.push(`^${not}`);
  for await (const line of walkLines(context, args)) {
    const [time, id = '', tree = '', ...parents] = line.trimEnd().split(' ');
    yield { id, tree, parents, committerTime: Number(time) };
  }
}

/** Newest first. */
export async function* listParents(
  context: GitContext,
  { to, from, isLine = false, max }: ParentsRange,
): AsyncGenerator<ParentsOf> {
  const stop = from === undefined ? [] : [`^${from}`];
  const line = isLine ? ['--first-parent'] : [];
  // The parents of `--parents` are rewritten; these are not.
  const args = ['rev-list', ...line, '--no-commit-header', '--format=%H %P', `--max-count=${max}`];
  for await (const text of walkLines(context, [...args, to, ...stop])) {
    const [id = '', ...parents] = text.trimEnd().split(' ');
    yield { id, parents };
  }
}
