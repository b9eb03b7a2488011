/**
 * Changes of the branch since the base of a push, at the paths that the merge asks for. A push of one file
 * may be thousands of commits behind.
 */
import type { PathChange, Repository } from '../../../git/index.ts';

export interface BranchRange {
  readonly base: string;
  readonly tip: string;
}

export class BranchChanges {
  readonly #repository: Pick<Repository, 'diffAt'>;
  readonly #range: BranchRange;
  readonly #known = new Map<string, PathChange | undefined>();

  constructor(repository: Pick<Repository, 'diffAt'>, range: BranchRange) {
    this.#repository = repository;
    this.#range = range;
  }

  async read(paths: readonly string[]): Promise<void> {
    const { base, tip } = this.#range;
    const unknown = [...new Set(paths)].filter((path) => !this.#known.has(path));
    if (unknown.length === 0) return;
    for (const path of unknown) this.#known.set(path, undefined);
    for (const change of await this.#repository.diffAt(base, tip, unknown)) {
      this.#known.set(change.path, change);
    }
  }

  /** Undefined: the branch has not changed it. The path has been read. */
  get(path: string): PathChange | undefined {
    if (!this.#known.has(path)) throw new Error(`${path} has not been compared`);
    return this.#known.get(path);
  }

  has(path: string): boolean {
    return this.get(path) !== undefined;
  }
}
