/**
 * The objects of a checkpoint: those of the WAL, with every tree as a delta that its own pack resolves, and
 * commits and files as deltas against the one before where that pays.
 */
import { GitError } from '../git-error.ts';
import { applyDelta, textDelta } from '../objects/delta.ts';
import { DeltaChains, type StoredDelta } from '../objects/delta-chains.ts';
import { type ObjectType, objectId } from '../objects/object-id.ts';
import type { PackObject } from '../packs/pack-writer.ts';
import type { Publication } from '../publication/publisher.ts';

/** Reads a tree of the repository. */
export type ReadTree = (id: string) => Promise<Buffer>;

/** A delta may have this share of the content: a whole one compresses better. */
const DELTA_SHARE = 0.8;
/** Larger commits and files are stored whole. */
const MAX_TEXT_BYTES = 64 * 1024;

export class CheckpointObjects {
  readonly #ids = new Set<string>();
  /** The newest commit and the newest file. */
  readonly #newest = new Map<ObjectType, { readonly id: string; readonly content: Buffer }>();
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
      // A copy: `data` is part of the bytes of the WAL, which would stay as long as the pack is open.
      const stored =
        base === undefined ? undefined : this.#chains.extend(id, base, Buffer.from(data));
      if (stored !== undefined) {
        added.set(id, { id, type, data: stored.delta, base: stored.base });
        continue;
      }
      const whole = base === undefined ? data : applyDelta(await content(base), data);
      // The delta of the WAL is against a tree that was not in it.
      if (base !== undefined && objectId(type, whole) !== id) throw wrongBase(id, base);
      added.set(id, this.#stored(id, type, whole));
    }
    return [...added.values()];

    async function content(id: string): Promise<Buffer> {
      const known = added.get(id);
      if (known === undefined) return await readTree(id);
      const { base, data } = known;
      return base === undefined ? data : applyDelta(await content(base), data);
    }
  }

  #stored(id: string, type: ObjectType, content: Buffer): PackObject {
    const delta = type === 'tree' ? undefined : this.#textDelta(id, type, content);
    if (delta !== undefined) return { id, type, data: delta.delta, base: delta.base };
    this.#chains.addWhole(id);
    return { id, type, data: content, base: undefined };
  }

  /** Undefined: the content does not have enough in common with the newest one. */
  #textDelta(id: string, type: ObjectType, content: Buffer): StoredDelta | undefined {
    if (content.length > MAX_TEXT_BYTES) return undefined;
    const newest = this.#newest.get(type);
    // A copy, likewise.
    this.#newest.set(type, { id, content: Buffer.from(content) });
    if (newest === undefined) return undefined;
    const most = content.length * DELTA_SHARE;
    const step = textDelta(newest.content, content);
    const stored = step.length > most ? undefined : this.#chains.extend(id, newest.id, step);
    return stored === undefined || stored.delta.length > most ? undefined : stored;
  }
}

function wrongBase(id: string, base: string): GitError {
  return new GitError(`Tree ${id} cannot be made from tree ${base} and the WAL`, {
    remedy: 'Run `git fsck --full`, and check the disk',
  });
}
