/**
 * A repository restricted to some paths, for folding history: it has only the commits that affect
 * these paths. The fold gives the same result for their objects as the full history, because
 * documents interact only if they name the same object or share a file.
 */

import {
  type Catalog,
  type FileReader,
  type FoldedStep,
  type ReplayContext,
  replay,
} from '../catalog/index.ts';
import type { HistoryCommit, PathChange, Repository, TreeFile } from '../git/index.ts';
import type { CommitIndex, PathHistory, SkeletonCommit } from './commit-index.ts';

export interface RestrictedContext {
  readonly index: CommitIndex;
  readonly repository: Pick<Repository, 'readBlobs'>;
  readonly reader: FileReader;
  readonly under: string;
}

/** Input of the fold: some files, including the ignore file, up to a commit. */
export interface Restriction {
  readonly files: readonly PathHistory[];
  readonly last: number;
  /** Ordinal of the commit that identities count from. */
  readonly root: number;
}

/** Commits of the restricted history, and the result at the last one. */
export interface PathLimitedFold {
  readonly commits: readonly SkeletonCommit[];
  readonly catalog: Catalog;
}

/** `onStep` gets the changes of each commit of the restricted history. */
export async function foldPaths(
  context: RestrictedContext,
  restriction: Restriction,
  onStep?: (step: FoldedStep) => void,
): Promise<PathLimitedFold> {
  const { index, repository, reader, under } = context;
  const { files } = restriction;
  const { commits } = index.skeleton(files, restriction.last);
  const tree = new RestrictedTree(index, commits, files);
  const source: ReplayContext['repository'] = {
    readBlobs: (ids) => repository.readBlobs(ids),
    listFiles: async (revision) => tree.files(revision),
    history: () => tree.history(),
    rootCommit: async () => index.id(restriction.root),
  };
  const last = index.id(commits.at(-1)?.ordinal ?? 0);
  const step = onStep === undefined ? {} : { onStep };
  const { catalog } = await replay({ repository: source, reader, under, ...step }, last);
  return { commits, catalog };
}

class RestrictedTree {
  readonly #index: CommitIndex;
  readonly #commits: readonly SkeletonCommit[];
  readonly #changes = new Map<number, PathChange[]>();

  constructor(
    index: CommitIndex,
    commits: readonly SkeletonCommit[],
    files: readonly PathHistory[],
  ) {
    this.#index = index;
    this.#commits = commits;
    for (const { ordinal } of commits) this.#changes.set(ordinal, []);
    for (const { path, versions } of files) {
      for (const { at, blob, mode } of versions) {
        const change = { path, mode, ...(blob === undefined ? {} : { newId: blob }) };
        this.#changes.get(at)?.push(change);
      }
    }
  }

  async *history(): AsyncGenerator<HistoryCommit> {
    for (const { ordinal, parents } of this.#commits) {
      yield {
        id: this.#index.id(ordinal),
        parents: parents.map((parent) => this.#index.id(parent)),
        committerTime: this.#index.time(ordinal),
        // Callers only need the difference to the first parent.
        changes: [this.#changes.get(ordinal) ?? []],
      };
    }
  }

  /**
   * The files of one commit: each path in the version of the nearest commit of its first-parent
   * line.
   */
  files(revision: string): TreeFile[] {
    const firstParents = new Map(this.#commits.map((c) => [c.ordinal, c.parents[0]]));
    const found = new Map<string, PathChange>();
    let at = this.#index.ordinal(revision);
    while (at !== undefined) {
      for (const change of this.#changes.get(at) ?? []) {
        if (!found.has(change.path)) found.set(change.path, change);
      }
      at = firstParents.get(at);
    }
    return [...found.values()].flatMap(({ path, newId, mode }) =>
      newId === undefined ? [] : [{ path, id: newId, mode }],
    );
  }
}
