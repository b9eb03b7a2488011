/**
 * Reader of a repository, or of a quarantine of it. Objects come from a few persistent `git cat-file`
 * processes, differences from a persistent `git diff-tree`. Rare requests start one process each.
 */

import { BlobTooLargeError, GitError, MissingObjectError, ObjectTypeError } from '../git-error.ts';
import {
  type CommitLinks,
  linksOfCommit,
  parseCommitMetadata,
  rootsOfCommit,
} from '../objects/commit-object.ts';
import { asAddition, parseFileList } from '../objects/file-list.ts';
import { assertObjectId, type ObjectType } from '../objects/object-id.ts';
import { Tree } from '../objects/tree.ts';
import type { GitContext } from '../process/git-environment.ts';
import { runGit } from '../process/git-process.ts';
import { GitLimitError } from '../process/process-limits.ts';
import type {
  CommitMetadata,
  FolderWidths,
  HistoryCommit,
  HistoryScope,
  LimitCheck,
  LimitsOf,
  PathChange,
  PathSelection,
  PushedTips,
  PushObjection,
  Repository,
  TreeFile,
} from '../repository.ts';
import { commitObjections, MAX_COMMITS } from '../serve/pushed-commits.ts';
import { Ancestry, type AncestryOptions } from './ancestry.ts';
import { type CatFileReply, catFileProtocol } from './cat-file.ts';
import { CommitLimits, type CommitRoots } from './commit-limits.ts';
import { compareCommits, type DiffTreeReply, diffTreeOf, selectedAdditions } from './diff-tree.ts';
import { type HistoryRange, history, historyOfGit, knownHistory } from './history.ts';
import { pathChanges } from './path-changes.ts';
import type { RecentObjects } from './recent-objects.ts';
import { RequestProcess } from './request-process.ts';
import {
  DEFAULT_MAX_PATHS,
  MAX_TREE_BYTES,
  pushedLimits,
  readLimits,
  type TreeLimits,
} from './tree-limits.ts';
import { type TakeTree, TreeSizes } from './tree-sizes.ts';

/** The part of a repository that only reads. */
export type ObjectReader = Pick<
  Repository,
  | 'listFiles'
  | 'diff'
  | 'diffAt'
  | 'readBlobs'
  | 'readCommits'
  | 'history'
  | 'newHistory'
  | 'mergeBases'
  | 'rootCommit'
  | 'isAncestor'
  | 'commitMetadata'
  | 'checkLimits'
  | 'folderWidths'
  | 'objectionsTo'
  | 'close'
>;

export interface ReaderOptions extends AncestryOptions {
  /** Larger blobs are refused with a BlobTooLargeError. */
  readonly maxBlobBytes?: number;
  /** Limit for the files and folders of one tree. Default: 1,000,000. */
  readonly maxPaths?: number | undefined;
  /** Limit for the commits of one push. Default: 100,000. */
  readonly maxCommits?: number;
  /** Called with the bytes of the commits and tags of a push that was judged. */
  readonly onJudged?: ((bytes: number) => void) | undefined;
  /** Processes that read objects in parallel. Starting one blocks the event loop for milliseconds. */
  readonly objectProcesses?: number;
  /** Objects in memory, which git is not asked for. */
  readonly recent?: RecentObjects | undefined;
}

export const DEFAULT_MAX_BLOB_BYTES = 16 * 1024 * 1024;

/** One process can answer a long list while the others answer short requests. */
const OBJECT_PROCESSES = 3;
/** Size of the cache of ids that are known to be commits. */
const MAX_KNOWN_COMMITS = 1000;

export class Reader implements ObjectReader {
  readonly #context: GitContext;
  readonly #maxBlobBytes: number;
  readonly #objects: readonly RequestProcess<CatFileReply>[];
  /** By the paths that they list, as JSON. */
  readonly #diffs = new Map<string, RequestProcess<DiffTreeReply>>();
  readonly #bounds: CommitLimits;
  readonly #maxPaths: number;
  readonly #maxCommits: number;
  readonly #onJudged: ReaderOptions['onJudged'];
  readonly #commits = new Set<string>();
  readonly #ancestry: Ancestry;
  readonly #recent: RecentObjects | undefined;
  #lastRoot: { revision: string; root: string } | undefined;

  constructor(context: GitContext, options: ReaderOptions = {}) {
    this.#context = context;
    this.#recent = options.recent;
    this.#ancestry = new Ancestry(context, this.links, options);
    this.#maxBlobBytes = options.maxBlobBytes ?? DEFAULT_MAX_BLOB_BYTES;
    const protocol = catFileProtocol(this.#maxBlobBytes);
    this.#objects = Array.from(
      { length: options.objectProcesses ?? OBJECT_PROCESSES },
      () => new RequestProcess(context, protocol),
    );
    this.#maxPaths = options.maxPaths ?? DEFAULT_MAX_PATHS;
    this.#maxCommits = options.maxCommits ?? MAX_COMMITS;
    this.#onJudged = options.onJudged;
    this.#bounds = this.#limited(readLimits(this.#maxPaths));
  }

  #limited(limits: TreeLimits): CommitLimits {
    const sizes = new TreeSizes((ids, take) => this.#readTrees(ids, take), limits);
    return new CommitLimits(sizes, (id) => this.rootsOf(id));
  }

  async listFiles(revision: string, of: string | PathSelection = ''): Promise<TreeFile[]> {
    assertObjectId(revision);
    await this.#assertBounded(revision);
    if (typeof of !== 'string') {
      const files = await selectedAdditions(this.#context, revision, of);
      return files.map(({ path, newId: id = '', mode }) => ({ path, id, mode }));
    }
    const folder = of.replace(/\/+$/, '');
    const args = ['ls-tree', '-r', '-z', '--full-tree', revision];
    if (folder !== '') args.push('--', `${folder}/`);
    return parseFileList(await runGit(this.#context, args));
  }

  async diff(from: string | undefined, to: string): Promise<PathChange[]> {
    assertObjectId(to);
    if (from === undefined) return (await this.listFiles(to)).map(asAddition);
    assertObjectId(from);
    if (from === to) return [];
    // diff-tree treats a parent that is not a commit as the empty tree, and reports all paths as new.
    await this.#assertCommit(from);
    await this.#assertBounded(to);
    const { standIn: parent } = await this.#bounds.of(from);
    if (parent === undefined) return await this.diff(undefined, to);
    const lists = await compareCommits(this.#diffsOf(), [{ commit: to, parent }]);
    const changes = lists?.[0];
    if (changes === undefined) throw new MissingObjectError(to, this.#context.gitDir);
    return [...changes];
  }

  async diffAt(from: string, to: string, paths: readonly string[]): Promise<PathChange[]> {
    assertObjectId(from);
    assertObjectId(to);
    await this.#assertBounded(to);
    const { standIn } = await this.#bounds.of(from);
    const before = standIn && (await this.rootsOf(standIn)).tree;
    const after = (await this.rootsOf(to)).tree;
    return await pathChanges({ before, after }, paths, (id) => this.loadTree(id));
  }

  readBlobs(ids: readonly string[]): Promise<Buffer[]> {
    for (const id of ids) assertObjectId(id);
    return this.#readAll(ids, 'blob');
  }

  readCommits(ids: readonly string[]): Promise<Buffer[]> {
    for (const id of ids) assertObjectId(id);
    return this.#readAll(ids, 'commit');
  }

  /** Content of one object of a known type. */
  async readObject(id: string, type: ObjectType): Promise<Buffer> {
    assertObjectId(id);
    const [content] = await this.#readAll([id], type);
    if (content === undefined) throw new MissingObjectError(id, this.#context.gitDir);
    return content;
  }

  async *history(
    from: string | undefined,
    to: string,
    scope: HistoryScope = {},
  ): AsyncGenerator<HistoryCommit> {
    const next = from === undefined ? undefined : await this.#nextCommit(from, to, scope);
    if (next !== undefined) yield next;
    else yield* this.#historyOf({ tips: [to], not: from, ...scope });
  }

  newHistory(tips: readonly string[]): AsyncGenerator<HistoryCommit> {
    return this.#historyOf({ tips, not: 'all refs' });
  }

  async *#historyOf(range: HistoryRange): AsyncGenerator<HistoryCommit> {
    const found = await this.#ancestry.range(range);
    const { paths } = range;
    if ('tips' in found) yield* history(historyOfGit(this.#context, paths), found, this.#bounds);
    else {
      const known = knownHistory(this.#context, this.#diffsOf(paths), { commits: found, paths });
      yield* history(known, range, this.#bounds);
    }
  }

  #diffsOf(paths?: PathSelection): RequestProcess<DiffTreeReply> {
    const key = JSON.stringify(paths ?? null);
    const diffs = this.#diffs.get(key) ?? new RequestProcess(this.#context, diffTreeOf(paths));
    this.#diffs.set(key, diffs);
    return diffs;
  }

  mergeBases(one: string, other: string): Promise<string[]> {
    assertObjectId(one);
    assertObjectId(other);
    return this.#ancestry.mergeBases(one, other);
  }

  async rootCommit(revision: string): Promise<string> {
    assertObjectId(revision);
    if (this.#lastRoot?.revision === revision) return this.#lastRoot.root;
    const args = ['rev-list', '--first-parent', '--max-parents=0', revision];
    const root = (await runGit(this.#context, args)).toString('latin1').trim();
    assertObjectId(root);
    this.#lastRoot = { revision, root };
    return root;
  }

  isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    assertObjectId(ancestor);
    assertObjectId(descendant);
    return this.#ancestry.isAncestor(ancestor, descendant, async () => {
      await this.readObject(descendant, 'commit');
      return (await this.#leastBusy().ask(ancestor)) !== undefined;
    });
  }

  async commitMetadata(commit: string): Promise<CommitMetadata> {
    try {
      return parseCommitMetadata(await this.readObject(commit, 'commit'));
    } catch (error) {
      if (error instanceof BlobTooLargeError) return await this.#metadataWithoutMessage(commit);
      throw error;
    }
  }

  /** Parents and names of a commit that is too large to read, found by git. */
  async #metadataWithoutMessage(commit: string): Promise<CommitMetadata> {
    const format = ['--no-commit-header', '--format=%P%n%ct%n%an%n%ae%n%cn%n%ce'];
    const args = ['rev-list', '--max-count=1', ...format, commit];
    const lines = (await runGit(this.#context, args)).toString('utf8').split('\n');
    const [parents = '', time, ...names] = lines;
    const [name = '', email = '', committer = '', committerEmail = ''] = names;
    return {
      parents: parents === '' ? [] : parents.split(' '),
      author: { name, email },
      committer: { name: committer, email: committerEmail },
      committerTime: Number(time) || 0,
      message: '',
    };
  }

  folderWidths(commit: string): Promise<FolderWidths> {
    assertObjectId(commit);
    return this.#bounds.widthsOf(commit);
  }

  checkLimits(commit: string, of: LimitsOf = 'read'): Promise<LimitCheck> {
    assertObjectId(commit);
    const bounds = of === 'read' ? this.#bounds : this.#limited(pushedLimits(this.#maxPaths));
    return bounds.of(commit);
  }

  objectionsTo(pushed: PushedTips): Promise<readonly PushObjection[]> {
    const parts = {
      newCommits: (commits: readonly string[], known: PushedTips['known']) =>
        this.#ancestry.newCommits(commits, known),
      bounds: this.#limited(pushedLimits(this.#maxPaths)),
      readBounds: this.#bounds,
      maxPaths: this.#maxPaths,
      maxCommits: this.#maxCommits,
      readTrees: (ids: readonly string[], take: TakeTree) => this.#readTrees(ids, take),
      ask: (id: string) => this.#leastBusy().ask(id),
      onRead: this.#onJudged,
    };
    return commitObjections(parts, pushed);
  }

  /** Replaces the processes, so that the files they hold open after a repack are freed. */
  retire(): void {
    for (const process of [...this.#objects, ...this.#diffs.values()]) process.retire();
  }

  async close(): Promise<void> {
    const processes = [...this.#objects, ...this.#diffs.values()];
    await Promise.all(processes.map((process) => process.close()));
  }

  /** Answers the most frequent range, one commit on top of the other, without a process of its own. */
  async #nextCommit(
    from: string,
    to: string,
    { against, paths }: HistoryScope,
  ): Promise<HistoryCommit | undefined> {
    assertObjectId(from);
    assertObjectId(to);
    const links = await this.links(to);
    if (links?.parents.length !== 1 || links.parents[0] !== from) return undefined;
    const { parents, committerTime } = links;
    if (against === 'no parent') return { id: to, parents, committerTime, changes: [] };
    for (const id of [from, to]) {
      if ((await this.#bounds.of(id)).problem !== undefined) return undefined;
    }
    const changes = await compareCommits(this.#diffsOf(paths), [{ commit: to, parent: from }]);
    return changes === undefined ? undefined : { id: to, parents, committerTime, changes };
  }

  /** Undefined if git must be asked: the object is missing, not a commit, or has an unusual format. */
  readonly links = async (id: string): Promise<CommitLinks | undefined> => {
    const found = await this.#leastBusy().ask(id);
    if (found?.type !== 'commit' || found.content === undefined) return undefined;
    return linksOfCommit(found.content);
  };

  async #assertCommit(id: string): Promise<void> {
    if (this.#commits.has(id)) return;
    try {
      await this.readObject(id, 'commit');
    } catch (error) {
      // The error proves its type, which is enough here.
      if (!(error instanceof BlobTooLargeError)) throw error;
    }
    if (this.#commits.size >= MAX_KNOWN_COMMITS) this.#commits.clear();
    this.#commits.add(id);
  }

  async #assertBounded(commit: string): Promise<void> {
    const { problem } = await this.#bounds.of(commit);
    if (problem !== undefined) throw new GitError(`Commit ${commit} cannot be read: ${problem}`);
  }

  /** Tree and parents of a commit. */
  protected async rootsOf(commit: string): Promise<CommitRoots> {
    const known = this.#recent?.rootsOf(commit);
    return known ?? rootsOfCommit(await this.readObject(commit, 'commit'), commit);
  }

  /** A parsed tree, from memory where it is there. */
  protected async loadTree(id: string): Promise<Tree> {
    const known = this.#recent?.tree(id);
    if (known !== undefined) return known;
    const tree = Tree.parse(await this.readObject(id, 'tree'));
    this.#recent?.addTree(id, tree);
    return tree;
  }

  #leastBusy(): RequestProcess<CatFileReply> {
    return this.#objects.reduce((best, next) => (next.pending < best.pending ? next : best));
  }

  #readAll(ids: readonly string[], type: ObjectType): Promise<Buffer[]> {
    if (ids.length === 0) return Promise.resolve([]);
    const process = this.#leastBusy();
    return new Promise((resolve, reject) => {
      const contents = new Array<Buffer>(ids.length);
      const tooLarge: BlobTooLargeError[] = [];
      let outstanding = ids.length;
      ids.forEach((id, i) => {
        process.send(id, (outcome) => {
          const content = this.#contentOf(id, outcome, type);
          outstanding -= 1;
          if (content instanceof BlobTooLargeError) tooLarge.push(content);
          else if (content instanceof GitError) reject(content);
          else contents[i] = content;
          if (outstanding > 0) return;
          const [first, ...others] = tooLarge;
          if (first === undefined) resolve(contents);
          else reject(first.with(others));
        });
      });
    });
  }

  /** Passes each tree on when it arrives, so that large trees are not in memory together. */
  async #readTrees(ids: readonly string[], take: TakeTree): Promise<void> {
    const unknown: string[] = [];
    for (const id of ids) {
      const tree = this.#recent?.tree(id);
      if (tree === undefined) unknown.push(id);
      else take(id, tree.bytes.length > MAX_TREE_BYTES ? undefined : tree.bytes);
    }
    if (unknown.length > 0) await this.#readTreesOfGit(unknown, take);
  }

  #readTreesOfGit(ids: readonly string[], take: TakeTree): Promise<void> {
    const process = this.#leastBusy();
    return new Promise((resolve, reject) => {
      let outstanding = ids.length;
      const settle = (id: string, outcome: CatFileReply | GitError): void => {
        const found = this.#contentOf(id, outcome, 'tree');
        if (found instanceof GitError && !(found instanceof BlobTooLargeError)) throw found;
        const isLarge = found instanceof GitError || found.length > MAX_TREE_BYTES;
        take(id, isLarge ? undefined : found);
      };
      for (const id of ids) {
        process.send(id, (outcome) => {
          try {
            settle(id, outcome);
            outstanding -= 1;
            if (outstanding === 0) resolve();
          } catch (error) {
            reject(error);
          }
        });
      }
    });
  }

  #contentOf(id: string, outcome: CatFileReply | GitError, type: ObjectType): Buffer | GitError {
    if (outcome instanceof GitLimitError && outcome.limit !== 'time') {
      return new BlobTooLargeError(id, undefined, this.#maxBlobBytes);
    }
    if (outcome instanceof GitError) return outcome;
    if (outcome === undefined) return new MissingObjectError(id, this.#context.gitDir);
    if (outcome.type !== type)
      return new ObjectTypeError(id, { found: outcome.type, wanted: type });
    return outcome.content ?? new BlobTooLargeError(id, outcome.size, this.#maxBlobBytes);
  }
}
