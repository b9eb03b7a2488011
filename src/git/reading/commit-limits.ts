/**
 * Finds commits that exceed the limits, and for each the commit to read in its place (stand-in): the
 * nearest first parent within the limits. The result depends on history alone, so that every replica
 * gets the same one.
 */

import { BlobTooLargeError } from '../git-error.ts';
import type { FolderWidths, LimitCheck } from '../repository.ts';
import { MAX_PARENTS, pathOfNames, TreeLimitError } from './tree-limits.ts';
import type { TreeSize, TreeSizes } from './tree-sizes.ts';

const NO_FOLDERS: FolderWidths = { entries: 0, bytes: 0, wide: [] };

export interface CommitRoots {
  readonly tree: string;
  readonly parents: readonly string[];
}

export class CommitLimits {
  readonly #sizes: TreeSizes;
  readonly #readRoots: (commit: string) => Promise<CommitRoots>;

  constructor(sizes: TreeSizes, readRoots: (commit: string) => Promise<CommitRoots>) {
    this.#sizes = sizes;
    this.#readRoots = readRoots;
  }

  /** Measures these trees ahead of calls for their commits. */
  async prepare(trees: readonly string[]): Promise<void> {
    await this.#sizes.prepare(trees);
  }

  /** Throws a TreeLimitError. */
  sizeOf(tree: string): Promise<TreeSize> {
    return this.#sizes.measure(tree);
  }

  /** Reason why a commit with this tree and these parents is not read; undefined: it is within the limits. */
  async problemOf({ tree, parents }: CommitRoots): Promise<string | undefined> {
    if (parents.length > MAX_PARENTS) {
      return `The commit has ${parents.length} parents, more than ${MAX_PARENTS}`;
    }
    try {
      await this.#sizes.measure(tree);
      return undefined;
    } catch (error) {
      if (error instanceof TreeLimitError) return error.message;
      throw error;
    }
  }

  /** Widths of the folders of a commit; of none if it exceeds the limits. */
  async widthsOf(commit: string): Promise<FolderWidths> {
    const roots = await this.#rootsOf(commit);
    if (typeof roots === 'string') return NO_FOLDERS;
    try {
      const size = await this.#sizes.measure(roots.tree);
      const wide = size.wide.map((one) => ({ ...one, path: pathOfNames([one.path]) }));
      return { entries: size.entries, bytes: size.bytes, wide };
    } catch (error) {
      if (!(error instanceof TreeLimitError)) throw error;
      return NO_FOLDERS;
    }
  }

  async of(commit: string): Promise<LimitCheck> {
    let first: string | undefined;
    for (let id: string | undefined = commit; id !== undefined; ) {
      const roots: CommitRoots | string = await this.#rootsOf(id);
      const problem = typeof roots === 'string' ? roots : await this.problemOf(roots);
      if (problem === undefined) return { problem: first, standIn: id };
      first ??= problem;
      id = typeof roots === 'string' ? undefined : roots.parents[0];
    }
    return { problem: first, standIn: undefined };
  }

  /** Returns a problem if the commit object is too large to read. */
  async #rootsOf(id: string): Promise<CommitRoots | string> {
    try {
      return await this.#readRoots(id);
    } catch (error) {
      if (error instanceof BlobTooLargeError)
        return `The commit itself has ${error.size ?? 'too many'} bytes`;
      throw error;
    }
  }
}
