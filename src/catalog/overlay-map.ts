/**
 * Layered maps: changes are stored apart from the underlying map, so that a step can be tried while
 * others read the map, and then be applied at once.
 */
import { KeyMap, type ObjectKey } from '../apimachinery/index.ts';
import { SharedMap } from './shared-map.ts';
import type { UndoLog } from './undo-log.ts';

/** Methods of a map that the catalog uses. */
export interface Entries<K, V> {
  readonly size: number;
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): unknown;
  delete(key: K): boolean;
  values(): IterableIterator<V>;
  entries(): IterableIterator<[K, V]>;
}

export interface Changed<V> {
  /** Undefined: the entry is removed. */
  readonly value: V | undefined;
}

export class OverlayMap<K, V> implements Entries<K, V> {
  readonly #below: Entries<K, V>;
  readonly #changed: SharedMap<K, Changed<V>>;
  /** Number of entries beyond those of the underlying map. */
  #added = 0;

  constructor(below: Entries<K, V>, changed: SharedMap<K, Changed<V>>) {
    this.#below = below;
    this.#changed = changed;
  }

  /** The same on the same map, to be changed apart. */
  copy(): OverlayMap<K, V> {
    const copied = new OverlayMap(this.#below, this.#changed.copy());
    copied.#added = this.#added;
    return copied;
  }

  get size(): number {
    return this.#below.size + this.#added;
  }

  get(key: K): V | undefined {
    const changed = this.#changed.get(key);
    return changed === undefined ? this.#below.get(key) : changed.value;
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#added += 1;
    this.#changed.set(key, { value });
  }

  delete(key: K): boolean {
    if (!this.has(key)) return false;
    this.#added -= 1;
    this.#changed.set(key, { value: undefined });
    return true;
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): IterableIterator<[K, V]> {
    for (const entry of this.#below.entries()) if (!this.#changed.has(entry[0])) yield entry;
    for (const [key, { value }] of this.#changed.entries()) {
      if (value !== undefined) yield [key, value];
    }
  }

  /** Keys whose entries may differ from those of the underlying map. */
  *changedKeys(): IterableIterator<K> {
    for (const [key] of this.#changed.entries()) yield key;
  }

  /** Keys whose entries differ from those of another overlay; undefined if that is no copy. */
  keysDifferingFrom(other: OverlayMap<K, V>): K[] | undefined {
    return this.#changed.keysDifferingFrom(other.#changed);
  }

  /** Applies the changes to the underlying map, or to the one that it is a past version of. */
  sink(undo: UndoLog, into: Entries<K, V> = this.#below): void {
    for (const [key, { value }] of this.#changed.entries()) {
      undo.map(into, key);
      if (value === undefined) into.delete(key);
      else into.set(key, value);
    }
  }
}

export function overlayOfPaths<V>(below: Entries<string, V>): OverlayMap<string, V> {
  return new OverlayMap(below, SharedMap.of(new Map()));
}

export function overlayOfKeys<V>(below: Entries<ObjectKey, V>): OverlayMap<ObjectKey, V> {
  return new OverlayMap(below, SharedMap.of(new KeyMap()));
}
