/**
 * Trees and tips in memory: those of the newest batches, and trees that were read. A git process finds an
 * object of a new pack only after it has listed the packs again.
 */
import { LRUCache } from 'lru-cache';
import { rootsOfCommit } from '../objects/commit-object.ts';
import type { Tree } from '../objects/tree.ts';
import type { FinishedBatch } from '../publication/batch.ts';
import type { CommitRoots } from './commit-limits.ts';

const TREE_CACHE_BYTES = 64 * 1024 * 1024;
/** Tips of batches. A batch starts on one of the newest, and the base of a push may be thousands older. */
const MAX_TIPS = 4096;

export class RecentObjects {
  /** Parsed trees by object id. */
  readonly #trees = new LRUCache<string, Tree>({
    maxSize: TREE_CACHE_BYTES,
    sizeCalculation: ({ weight }) => weight,
  });
  readonly #tips = new LRUCache<string, CommitRoots>({ max: MAX_TIPS });
  /** Batches in flight to disk. The next batch may start on top of one of them. */
  readonly #publishing = new Set<FinishedBatch>();

  tree(id: string): Tree | undefined {
    for (const batch of this.#publishing) {
      const tree = batch.find(id);
      if (tree !== undefined) return tree;
    }
    return this.#trees.get(id);
  }

  addTree(id: string, tree: Tree): void {
    this.#trees.set(id, tree);
  }

  /** Tree and parents of a commit. */
  rootsOf(commit: string): CommitRoots | undefined {
    for (const batch of this.#publishing) if (batch.tip === commit) return rootsOfTip(batch);
    return this.#tips.get(commit);
  }

  /** Finds the objects of a batch from now on, and keeps the newest of them once it is on disk. */
  async during(batch: FinishedBatch, write: () => Promise<void>): Promise<void> {
    this.#publishing.add(batch);
    try {
      await write();
      this.#keep(batch);
    } finally {
      this.#publishing.delete(batch);
    }
  }

  clear(): void {
    this.#trees.clear();
    this.#tips.clear();
  }

  /** A tree that the batch replaced is in no newer commit: reading it again is rare. */
  #keep(batch: FinishedBatch): void {
    for (const id of batch.replaced) this.#trees.delete(id);
    for (const [id, tree] of batch.trees) this.#trees.set(id, tree);
    this.#tips.set(batch.tip, rootsOfTip(batch));
  }
}

function rootsOfTip({ tip, tipTree, objects }: FinishedBatch): CommitRoots {
  const commit = objects.findLast(({ id }) => id === tip);
  return {
    tree: tipTree,
    parents: commit === undefined ? [] : rootsOfCommit(commit.data, tip).parents,
  };
}
