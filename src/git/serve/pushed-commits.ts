/** Checks the commits of a push, before any process reads their trees. */

import { rootsOfCommit } from '../objects/commit-object.ts';
import { assertObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { gitLines } from '../process/git-process.ts';
import { AddedPaths } from '../reading/added-paths.ts';
import type { CatFileReply } from '../reading/cat-file.ts';
import type { CommitLimits, CommitRoots } from '../reading/commit-limits.ts';
import type { HistoryRange } from '../reading/history.ts';
import { MAX_COMMIT_BYTES, TreeLimitError } from '../reading/tree-limits.ts';
import type { ReadTrees } from '../reading/tree-sizes.ts';
import type { PushedTips, PushObjection } from '../repository.ts';

export interface PushedCommitsParts {
  /** Commits that a push brings, newest first. */
  newCommits(commits: readonly string[], known: PushedTips['known']): AsyncIterable<string>;
  /** Limits of the pushed commits. */
  readonly bounds: CommitLimits;
  /** Limits of what is read: commits that are here already, which may be larger. */
  readonly readBounds: CommitLimits;
  readonly maxPaths: number;
  readonly maxCommits: number;
  readonly readTrees: ReadTrees;
  ask(id: string): Promise<CatFileReply>;
}

export const MAX_COMMITS = 100_000;
/** Limit for a tag of a tag of a tag. */
const MAX_TAGS = 8;

/** Reasons to refuse the commits; empty if they are accepted. */
export async function commitObjections(
  parts: PushedCommitsParts,
  { tips, known }: PushedTips,
): Promise<readonly PushObjection[]> {
  try {
    const commits: string[] = [];
    for (const tip of tips) commits.push(await peeled(parts, tip));
    const added = new AddedPaths({ ...parts, read: parts.readTrees, bounds: parts.readBounds });
    const checked = new CheckedCommits(parts, added);
    let count = 0;
    for await (const id of parts.newCommits(commits, known)) {
      count += 1;
      if (count > parts.maxCommits) throw new PushLimitError(tooMany(parts.maxCommits));
      await checked.add(id);
    }
    return added.flaws;
  } catch (error) {
    if (!(error instanceof PushLimitError || error instanceof TreeLimitError)) throw error;
    return [{ path: undefined, problem: error.message }];
  }
}

const tooMany = (max: number): string =>
  `This push has more than ${max} commits; push the older ones first, to a branch`;

class PushLimitError extends Error {}

class CheckedCommits {
  readonly #parts: PushedCommitsParts;
  readonly #added: AddedPaths;
  /** Tree per parent, or per commit that replaces it; undefined: the empty tree. */
  readonly #trees = new Map<string, string | undefined>();

  constructor(parts: PushedCommitsParts, added: AddedPaths) {
    this.#parts = parts;
    this.#added = added;
  }

  async add(id: string): Promise<void> {
    const { bounds } = this.#parts;
    const roots = await readRoots(this.#parts, id);
    const problem = await bounds.problemOf(roots);
    if (problem !== undefined) throw new PushLimitError(`In commit ${id.slice(0, 12)}: ${problem}`);
    this.#trees.set(id, roots.tree);
    if (roots.parents.length === 0) await this.#added.add(undefined, roots.tree);
    for (const parent of roots.parents) {
      await this.#added.add(await this.#treeOf(parent), roots.tree);
    }
  }

  async #treeOf(commit: string): Promise<string | undefined> {
    if (this.#trees.has(commit)) return this.#trees.get(commit);
    const { standIn } = await this.#parts.readBounds.of(commit);
    const tree = standIn === undefined ? undefined : (await readRoots(this.#parts, standIn)).tree;
    this.#trees.set(commit, tree);
    return tree;
  }
}

async function readRoots(parts: PushedCommitsParts, id: string): Promise<CommitRoots> {
  const found = await parts.ask(id);
  if (found?.type !== 'commit') throw new PushLimitError(`${id} is not a commit of this push`);
  assertSmall(id, found.size);
  return rootsOfCommit(found.content ?? Buffer.alloc(0), id);
}

/** Commit that a tag or commit leads to. */
async function peeled(parts: PushedCommitsParts, tip: string): Promise<string> {
  let id = tip;
  for (let tags = 0; tags <= MAX_TAGS; tags += 1) {
    const found = await parts.ask(id);
    if (found?.type === 'commit') return id;
    if (found?.type !== 'tag') {
      throw new PushLimitError(
        `${tip} leads to a ${found?.type ?? 'missing object'}, not to a commit`,
      );
    }
    assertSmall(id, found.size);
    id = found.content?.toString('latin1', 'object '.length, 'object '.length + 40) ?? '';
    assertObjectId(id);
  }
  throw new PushLimitError(`${tip} is a tag of more than ${MAX_TAGS} tags`);
}

function assertSmall(id: string, size: number): void {
  if (size <= MAX_COMMIT_BYTES) return;
  throw new PushLimitError(
    `${id} has ${size} bytes; a commit or tag with its message has at most ${MAX_COMMIT_BYTES}`,
  );
}

/** The same by a process of git. */
export async function* newCommits(
  context: GitContext,
  { tips, not, beyond = [] }: HistoryRange,
): AsyncGenerator<string> {
  if (tips.length === 0) return;
  const stops = [...(not === undefined || not === 'all refs' ? [] : [not]), ...beyond];
  const refs = not === 'all refs' ? ['--not', '--all'] : [];
  yield* gitLines(context, ['rev-list', ...new Set(tips), ...stops.map((id) => `^${id}`), ...refs]);
}
