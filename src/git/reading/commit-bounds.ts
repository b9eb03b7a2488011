/**
 * Which commits no process may walk, and which commit stands for such a one: the nearest of its
 * first parents that is within the limits. What depends on history alone comes out the same everywhere.
 */

import { BlobTooLargeError } from '../git-error.ts';
import { rootsOfCommit } from '../objects/commit-object.ts';
import type { Bounded } from '../repository.ts';
import { MAX_PARENTS, TreeLimitError } from './tree-limits.ts';
import type { TreeSizes } from './tree-sizes.ts';

export interface CommitRoots {
  readonly tree: string;
  readonly parents: readonly string[];
}

export class CommitBounds {
  readonly #sizes: TreeSizes;
  readonly #readCommit: (id: string) => Promise<Buffer>;

  constructor(sizes: TreeSizes, readCommit: (id: string) => Promise<Buffer>) {
    this.#sizes = sizes;
    this.#readCommit = readCommit;
  }

  /** To be asked about commits with these trees soon. */
  async prepare(trees: readonly string[]): Promise<void> {
    await this.#sizes.prepare(trees);
  }

  /** Why a commit with this tree and these parents is not walked; undefined: it is. */
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

  async of(commit: string): Promise<Bounded> {
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

  /** A problem where the commit itself is too large to be read. */
  async #rootsOf(id: string): Promise<CommitRoots | string> {
    try {
      return rootsOfCommit(await this.#readCommit(id), id);
    } catch (error) {
      if (error instanceof BlobTooLargeError)
        return `The commit itself has ${error.size ?? 'too many'} bytes`;
      throw error;
    }
  }
}
