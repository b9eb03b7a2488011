/**
 * Reading a repository without the git binary. Objects come from isomorphic-git, walks of history and
 * of trees are made here, with the answers, limits and errors of `Reader`.
 */
import { getConfig } from 'isomorphic-git';
import { BlobTooLargeError, GitError } from '../git-error.ts';
import { parseCommitMetadata, rootsOfCommit } from '../objects/commit-object.ts';
import { asAddition } from '../objects/file-list.ts';
import { assertObjectId } from '../objects/object-id.ts';
import { encodePath } from '../objects/path-text.ts';
import { CommitLimits } from '../reading/commit-limits.ts';
import { type HistorySource, history } from '../reading/history.ts';
import { isSelected } from '../reading/path-selection.ts';
import {
  DEFAULT_MAX_BLOB_BYTES,
  type ObjectReader,
  type ReaderOptions,
} from '../reading/reader.ts';
import {
  DEFAULT_MAX_PATHS,
  MAX_TREE_BYTES,
  pushedLimits,
  readLimits,
  type TreeLimits,
} from '../reading/tree-limits.ts';
import { type TakeTree, TreeSizes } from '../reading/tree-sizes.ts';
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
  TreeFile,
} from '../repository.ts';
import { commitObjections, MAX_COMMITS } from '../serve/pushed-commits.ts';
import { CommitGraph } from './commit-graph.ts';
import { ObjectStore } from './object-store.ts';
import { INSTALL_GIT, RepositoryFiles } from './repository-files.ts';
import { resolveRevision } from './revisions.ts';
import { differencesOf, filesOf, folderIn } from './tree-walk.ts';

/** Throws a GitError for a repository in a format that isomorphic-git does not read. */
export async function openIsomorphicReader(
  gitDir: string,
  options: ReaderOptions = {},
): Promise<IsomorphicReader> {
  const files = new RepositoryFiles(gitDir);
  const setting = async (name: string): Promise<string | undefined> => {
    const path = `extensions.${name}`;
    const value: unknown = await getConfig({ fs: files.client, gitdir: gitDir, path });
    return value === undefined ? undefined : String(value);
  };
  const formats = [await setting('objectformat'), await setting('refstorage')];
  const unknown = formats.find((format) => !['sha1', 'files', undefined].includes(format));
  if (unknown !== undefined) {
    throw new GitError(`${gitDir} is in the format ${unknown}, which is not read without git`, {
      remedy: INSTALL_GIT,
    });
  }
  return new IsomorphicReader(files, options);
}

export class IsomorphicReader implements ObjectReader {
  readonly #files: RepositoryFiles;
  readonly #store: ObjectStore;
  readonly #graph: CommitGraph;
  readonly #bounds: CommitLimits;
  readonly #maxPaths: number;
  readonly #maxCommits: number;

  constructor(files: RepositoryFiles, options: ReaderOptions) {
    const { maxBlobBytes = DEFAULT_MAX_BLOB_BYTES } = options;
    this.#files = files;
    this.#store = new ObjectStore(files, maxBlobBytes);
    this.#graph = new CommitGraph((id) => this.#store.read(id, 'commit'), files.shallow);
    this.#maxPaths = options.maxPaths ?? DEFAULT_MAX_PATHS;
    this.#maxCommits = options.maxCommits ?? MAX_COMMITS;
    this.#bounds = this.#limited(readLimits(this.#maxPaths));
  }

  /** The commit that an expression names; undefined: there is none. */
  resolve(expression: string): Promise<string | undefined> {
    return resolveRevision(
      { files: this.#files, store: this.#store, graph: this.#graph },
      expression,
    );
  }

  #limited(limits: TreeLimits): CommitLimits {
    const sizes = new TreeSizes((ids, take) => this.#readTrees(ids, take), limits);
    return new CommitLimits(sizes, async (id) =>
      rootsOfCommit(await this.#store.read(id, 'commit'), id),
    );
  }

  async listFiles(revision: string, of: string | PathSelection = ''): Promise<TreeFile[]> {
    if (typeof of !== 'string') {
      return (await this.listFiles(revision)).filter(({ path }) => isSelected(of, path));
    }
    assertObjectId(revision);
    await this.#assertBounded(revision);
    const { tree } = await this.#graph.commit(revision);
    const folder = encodePath(of.replace(/\/+$/, ''));
    if (folder.length === 0) return await filesOf(this.#readTree, tree);
    const below = await folderIn(this.#readTree, tree, folder);
    if (below === undefined) return [];
    return await filesOf(this.#readTree, below, `${folder.toString('latin1')}/`);
  }

  async diff(from: string | undefined, to: string): Promise<PathChange[]> {
    assertObjectId(to);
    if (from === undefined) return (await this.listFiles(to)).map(asAddition);
    assertObjectId(from);
    if (from === to) return [];
    await this.#graph.commit(from);
    await this.#assertBounded(to);
    const { standIn: parent } = await this.#bounds.of(from);
    return await this.#compare(to, parent);
  }

  async diffAt(from: string, to: string, paths: readonly string[]): Promise<PathChange[]> {
    const wanted = new Set(paths);
    return (await this.diff(from, to)).filter(({ path }) => wanted.has(path));
  }

  async readBlobs(ids: readonly string[]): Promise<Buffer[]> {
    for (const id of ids) assertObjectId(id);
    const contents: Buffer[] = [];
    const tooLarge: BlobTooLargeError[] = [];
    for (const id of ids) {
      try {
        contents.push(await this.#store.read(id, 'blob'));
      } catch (error) {
        if (!(error instanceof BlobTooLargeError)) throw error;
        tooLarge.push(error);
      }
    }
    const [first, ...others] = tooLarge;
    if (first !== undefined) throw first.with(others);
    return contents;
  }

  async readCommits(ids: readonly string[]): Promise<Buffer[]> {
    for (const id of ids) assertObjectId(id);
    const contents: Buffer[] = [];
    for (const id of ids) contents.push(await this.#store.read(id, 'commit'));
    return contents;
  }

  history(
    from: string | undefined,
    to: string,
    scope: HistoryScope = {},
  ): AsyncGenerator<HistoryCommit> {
    return history(
      this.#historySource(scope.paths),
      { tips: [to], not: from, ...scope },
      this.#bounds,
    );
  }

  newHistory(): AsyncGenerator<HistoryCommit> {
    throw this.#needsGit('Commits that no ref reaches');
  }

  async mergeBases(one: string, other: string): Promise<string[]> {
    return await this.#graph.mergeBases(one, other);
  }

  async rootCommit(revision: string): Promise<string> {
    return await this.#graph.rootOf(revision);
  }

  async isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    assertObjectId(ancestor);
    return (await this.#graph.ancestors([descendant])).has(ancestor);
  }

  async commitMetadata(commit: string): Promise<CommitMetadata> {
    assertObjectId(commit);
    return parseCommitMetadata(await this.#store.read(commit, 'commit'));
  }

  async folderWidths(commit: string): Promise<FolderWidths> {
    assertObjectId(commit);
    return await this.#bounds.widthsOf(commit);
  }

  async checkLimits(commit: string, of: LimitsOf = 'read'): Promise<LimitCheck> {
    assertObjectId(commit);
    const bounds = of === 'read' ? this.#bounds : this.#limited(pushedLimits(this.#maxPaths));
    return await bounds.of(commit);
  }

  async objectionsTo(pushed: PushedTips): Promise<readonly PushObjection[]> {
    const parts = {
      newCommits: (commits: readonly string[], known: PushedTips['known']) =>
        this.#newCommits(commits, known),
      bounds: this.#limited(pushedLimits(this.#maxPaths)),
      readBounds: this.#bounds,
      maxPaths: this.#maxPaths,
      maxCommits: this.#maxCommits,
      readTrees: (ids: readonly string[], take: TakeTree) => this.#readTrees(ids, take),
      ask: (id: string) => this.#store.find(id),
    };
    return await commitObjections(parts, pushed);
  }

  async close(): Promise<void> {
    // No process and no open file.
  }

  async *#newCommits(tips: readonly string[], known: PushedTips['known']): AsyncGenerator<string> {
    if (known === 'all refs') throw this.#needsGit('Commits that no ref reaches');
    const not = known.commit === undefined ? [] : [known.commit];
    for (const { id } of await this.#graph.list({ tips, not })) yield id;
  }

  #historySource(paths: PathSelection | undefined): HistorySource {
    const compare = async (commit: string, parent: string | undefined): Promise<PathChange[]> => {
      const changes = await this.#compare(commit, parent);
      return paths === undefined ? changes : changes.filter(({ path }) => isSelected(paths, path));
    };
    const list = (tips: readonly string[], not: string | undefined) =>
      this.#graph.list({ tips, not: not === undefined ? [] : [not] });
    return {
      list: async function* ({ tips, not }) {
        yield* (await list(tips, not)).reverse();
      },
      compare: async (comparisons) => {
        const lists: PathChange[][] = [];
        for (const { commit, parent } of comparisons) lists.push(await compare(commit, parent));
        return lists;
      },
      additions: (commit) => compare(commit, undefined),
      close: async () => undefined,
    };
  }

  async #compare(commit: string, parent: string | undefined): Promise<PathChange[]> {
    const from = parent === undefined ? undefined : (await this.#graph.commit(parent)).tree;
    const { tree } = await this.#graph.commit(commit);
    return await differencesOf(this.#readTree, from, tree);
  }

  readonly #readTree = (id: string): Promise<Buffer> => this.#store.read(id, 'tree');

  async #readTrees(ids: readonly string[], take: TakeTree): Promise<void> {
    for (const id of ids) {
      const found = await this.#store.find(id);
      const isLarge = found?.type === 'tree' && found.size > MAX_TREE_BYTES;
      take(id, isLarge ? undefined : await this.#readTree(id));
    }
  }

  async #assertBounded(commit: string): Promise<void> {
    const { problem } = await this.#bounds.of(commit);
    if (problem !== undefined) throw new GitError(`Commit ${commit} cannot be read: ${problem}`);
  }

  #needsGit(subject: string): GitError {
    return new GitError(`${subject} are not read without git`, { remedy: INSTALL_GIT });
  }
}
