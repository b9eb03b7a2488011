/** Trees by id, the least recently used ones dropped beyond a number of bytes. */
import type { Tree } from './tree.ts';

export class TreeCache {
  readonly #maxBytes: number;
  readonly #trees = new Map<string, Tree>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(id: string): Tree | undefined {
    const tree = this.#trees.get(id);
    if (tree === undefined) return undefined;
    this.#trees.delete(id);
    this.#trees.set(id, tree);
    return tree;
  }

  set(id: string, tree: Tree): void {
    this.delete(id);
    this.#trees.set(id, tree);
    this.#bytes += tree.weight;
    for (const oldest of this.#trees.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(id: string): void {
    const tree = this.#trees.get(id);
    if (tree === undefined) return;
    this.#trees.delete(id);
    this.#bytes -= tree.weight;
  }
}
