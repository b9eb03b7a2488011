/**
 * Former versions of map entries by key, so that the maps can be read as they were before a step. A view
 * costs nothing until it is read; a lookup costs what changed the key since then. Versions are in the undo
 * logs of recent steps.
 */
import { KeyMap } from '../apimachinery/index.ts';
import type { Entries } from './overlay-map.ts';
import type { FormerEntry, UndoLog } from './undo-log.ts';

/** Newest former version of each key. */
type Newest<K, V> = Entries<K, FormerEntry<K, V>>;

export class VersionChains {
  /** By map. */
  readonly #newest = new Map<unknown, Newest<unknown, unknown>>();

  /** Adds the entries of the newest step. */
  add(step: number, { entries }: UndoLog): void {
    for (const entry of entries) {
      const newest = this.#newestOf(entry.map);
      const older = newest.get(entry.key);
      entry.step = step;
      entry.older = older;
      if (older !== undefined) older.newer = entry;
      newest.set(entry.key, entry);
    }
  }

  /** Drops the entries of the oldest step. */
  dropOldest({ entries }: UndoLog): void {
    for (const entry of entries) {
      if (entry.newer === undefined) this.#newestOf(entry.map).delete(entry.key);
      else entry.newer.older = undefined;
    }
  }

  /** The map as it was before a step. */
  before<K, V>(step: number, map: Entries<K, V>): Entries<K, V> {
    return new PastMap(map, this.#newestOf(map) as unknown as Newest<K, V>, step);
  }

  #newestOf(map: unknown): Newest<unknown, unknown> {
    const known = this.#newest.get(map);
    if (known !== undefined) return known;
    const made = map instanceof KeyMap ? new KeyMap<FormerEntry>() : new Map();
    const newest = made as Newest<unknown, unknown>;
    this.#newest.set(map, newest);
    return newest;
  }
}

/** A map as it was before a step. */
class PastMap<K, V> implements Entries<K, V> {
  readonly #map: Entries<K, V>;
  readonly #newest: Newest<K, V>;
  readonly #step: number;

  constructor(map: Entries<K, V>, newest: Newest<K, V>, step: number) {
    this.#map = map;
    this.#newest = newest;
    this.#step = step;
  }

  get size(): number {
    let { size } = this.#map;
    for (const [key, { step }] of this.#newest.entries()) {
      if (step >= this.#step) size += Number(this.has(key)) - Number(this.#map.has(key));
    }
    return size;
  }

  get(key: K): V | undefined {
    return this.#valueIn(this.#newest.get(key), key);
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(): never {
    throw new Error('A past version of a map cannot be changed');
  }

  delete(): never {
    return this.set();
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): IterableIterator<[K, V]> {
    for (const [key] of this.#map.entries()) {
      const value = this.get(key);
      if (value !== undefined) yield [key, value];
    }
    for (const [key, newest] of this.#newest.entries()) {
      const value = this.#map.has(key) ? undefined : this.#valueIn(newest, key);
      if (value !== undefined) yield [key, value];
    }
  }

  /** The oldest version that a step since then replaced; else the present one. */
  #valueIn(newest: FormerEntry<K, V> | undefined, key: K): V | undefined {
    let found: FormerEntry<K, V> | undefined;
    for (let at = newest; at !== undefined && at.step >= this.#step; at = at.older) found = at;
    return found === undefined ? this.#map.get(key) : found.value;
  }
}
