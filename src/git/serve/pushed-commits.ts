/** Checks the commits of a push, before any process reads their trees. */

import { rootsOfCommit } from '../objects/commit-object.ts';
import { assertObjectId } from '../objects/object-id.ts';
import type { GitContext } from '../process/git-environment.ts';
import { gitLines } from '../process/git-process.ts';
import { AddedPaths } from '../reading/added-paths.ts';
import type { CatFileReply } from '../reading/cat-file.ts';
import type { CommitLimits } from '../reading/commit-limits.ts';
import type { HistoryRange } from '../reading/history.ts';
import {
  MAX_COMMIT_BYTES,
  MAX_COMMITS_BYTES,
  MAX_TAG_BYTES,
  TreeLimitError,
} from '../reading/tree-limits.ts';
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
  /** Called with the bytes of the commits and tags that were read. */
  readonly onRead?: ((bytes: number) => void) | undefined;
}

export const MAX_COMMITS = 100_000;
/** Limit for a tag of a tag of a tag. */
const MAX_TAGS = 8;

/** Reasons to refuse the commits; empty if they are accepted. */
export async function commitObjections(
  parts: PushedCommitsParts,
  { tips, known }: PushedTips,
): Promise<readonly PushObjection[]> {
  const objects = new PushedObjects(parts);
  try {
    const commits: string[] = [];
    for (const tip of tips) commits.push(await objects.peeled(tip));
    const added = new AddedPaths({ ...parts, read: parts.readTrees, bounds: parts.readBounds });
    const checked = new CheckedCommits(parts, objects, added);
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
  } finally {
    parts.onRead?.(objects.bytes);
  }
}

const tooMany = (max: number): string =>
  `This push has more than ${max} commits; push the older ones first, to a branch`;

class PushLimitError extends Error {}

class CheckedCommits {
  readonly #parts: PushedCommitsParts;
  readonly #objects: PushedObjects;
  readonly #added: AddedPaths;
  /** Tree per parent, or per commit that replaces it; undefined: the empty tree. */
  readonly #trees = new Map<string, string | undefined>();

  constructor(parts: PushedCommitsParts, objects: PushedObjects, added: AddedPaths) {
    this.#parts = parts;
    this.#objects = objects;
    this.#added = added;
  }

  async add(id: string): Promise<void> {
    const { bounds } = this.#parts;
    const roots = rootsOfCommit(await this.#objects.commit(id), id);
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
    const tree = standIn === undefined ? undefined : await this.#objects.treeOf(standIn);
    this.#trees.set(commit, tree);
    return tree;
  }
}

/** Commits and tags of a push. */
class PushedObjects {
  readonly #parts: Pick<PushedCommitsParts, 'ask'>;
  bytes = 0;

  constructor(parts: Pick<PushedCommitsParts, 'ask'>) {
    this.#parts = parts;
  }

  async commit(id: string): Promise<Buffer> {
    const found = await this.#parts.ask(id);
    if (found?.type !== 'commit') throw new PushLimitError(`${id} is not a commit of this push`);
    if (found.size > MAX_COMMIT_BYTES) throw new PushLimitError(tooLong('commit', id, found.size));
    this.#count(found.size);
    return found.content ?? NOTHING;
  }

  /** Tree of a commit that may be here already. */
  async treeOf(id: string): Promise<string> {
    const found = await this.#parts.ask(id);
    return rootsOfCommit(found?.content ?? NOTHING, id).tree;
  }

  /** Commit that a tag or commit leads to. */
  async peeled(tip: string): Promise<string> {
    let id = tip;
    let bytes = 0;
    for (let tags = 0; tags <= MAX_TAGS; tags += 1) {
      const found = await this.#parts.ask(id);
      if (found?.type === 'commit') return id;
      if (found?.type !== 'tag') {
        throw new PushLimitError(
          `${tip} leads to a ${found?.type ?? 'missing object'}, not to a commit`,
        );
      }
      bytes += found.size;
      if (bytes > MAX_TAG_BYTES) throw new PushLimitError(tooLong('tag', tip, bytes));
      this.#count(found.size);
      id = found.content?.toString('latin1', 'object '.length, 'object '.length + 40) ?? '';
      assertObjectId(id);
    }
    throw new PushLimitError(`${tip} is a tag of more than ${MAX_TAGS} tags`);
  }

  #count(size: number): void {
    this.bytes += size;
    if (this.bytes > MAX_COMMITS_BYTES) throw new PushLimitError(TOO_LONG);
  }
}

function tooLong(type: 'commit' | 'tag', id: string, bytes: number): string {
  const most = type === 'tag' ? MAX_TAG_BYTES : MAX_COMMIT_BYTES;
  return `The ${type} ${id} has ${bytes} bytes; with its message it may have at most ${most}`;
}

const NOTHING = Buffer.alloc(0);
const TOO_LONG = `The commits and tags of this push have more than ${MAX_COMMITS_BYTES / 2 ** 20} MiB with their messages; push the older ones first, to a branch`;

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
