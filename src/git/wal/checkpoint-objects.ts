/** The objects of a checkpoint: those of the WAL, with every tree as a delta that its own pack resolves. */
import { GitError } from '../git-error.ts';
import { applyDelta } from '../objects/delta.ts';
import { DeltaChains } from '../objects/delta-chains.ts';
import { objectId } from '../objects/object-id.ts';
import type { PackObject } from '../packs/pack-writer.ts';
import type { Publication } from '../publication/publisher.ts';

/** Reads a tree of the repository. */
export type ReadTree = (id: string) => Promise<Buffer>;

export class CheckpointObjects {
  readonly #ids = new Set<string>();
  readonly #chains = new DeltaChains();

  /** True if a tree with this id is in the pack. */
  hasTree(id: string): boolean {
    return this.#chains.has(id);
  }

  /**
   * Adds publications, and returns the objects that the pack does not have yet, each after its base.
   * After a rejection no more can be added.
   */
  async add(publications: readonly Publication[], readTree: ReadTree): Promise<PackObject[]> {
    const added = new Map<string, PackObject>();
    for (const object of publications.flatMap(({ objects }) => objects)) {
      if (this.#ids.has(object.id)) continue;
      this.#ids.add(object.id);
      const { id, type, base, data } = object;
      const stored = base === undefined ? undefined : this.#chains.extend(id, base, data);
      if (stored !== undefined) {
        added.set(id, { id, type, data: stored.delta, base: stored.base });
        continue;
      }
      const whole = base === undefined ? data : applyDelta(await content(base), data);
      // The delta of the WAL is against a tree that was not in it.
      if (base !== undefined && objectId(type, whole) !== id) throw wrongBase(id, base);
      if (type === 'tree') this.#chains.addWhole(id);
      added.set(id, { id, type, data: whole, base: undefined });
    }
    return [...added.values()];

    async function content(id: string): Promise<Buffer> {
      const known = added.get(id);
      if (known === undefined) return await readTree(id);
      const { base, data } = known;
      return base === undefined ? data : applyDelta(await content(base), data);
    }
  }
}

function wrongBase(id: string, base: string): GitError {
  return new GitError(`Tree ${id} cannot be made from tree ${base} and the WAL`, {
    remedy: 'Run `git fsck --full`, and check the disk',
  });
}
