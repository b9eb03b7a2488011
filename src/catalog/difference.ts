/**
 * Entries in which another version of a catalog differs, with the values of that version. `exchange`
 * moves the catalog to that version; the difference is the way back then.
 */
import { KeyMap, type ObjectKey } from '../apimachinery/index.ts';
import type { CatalogObject } from './catalog-object.ts';
import type { Changed, Entries } from './overlay-map.ts';
import type { ChangeLog, Restorable } from './undo-log.ts';

/** Maps of a catalog. */
export interface CatalogMaps {
  readonly objects: Entries<ObjectKey, CatalogObject>;
  readonly byKey: readonly Entries<ObjectKey, unknown>[];
  readonly byPath: readonly Restorable<string, unknown>[];
}

export class Difference implements ChangeLog {
  readonly #objects: MapDifference<ObjectKey, CatalogObject>;
  /** By map of the catalog. */
  readonly #maps: ReadonlyMap<unknown, MapDifference<unknown, unknown>>;

  constructor({ objects, byKey, byPath }: CatalogMaps) {
    this.#objects = new MapDifference(objects, new KeyMap());
    this.#maps = new Map<unknown, MapDifference<unknown, unknown>>([
      [objects, this.#objects],
      ...byKey.map((map) => [map, new MapDifference(map, new KeyMap())] as const),
      ...byPath.map((map) => [map, new MapDifference(map, new Map())] as const),
    ]);
  }

  /** Must be called before the entry changes. The first value counts. */
  map<K, V>(map: Restorable<K, V>, key: K): void {
    const entries = this.#maps.get(map);
    if (entries === undefined) throw new Error('The map belongs to another catalog');
    entries.record(key);
  }

  *exchange(): Generator<void> {
    for (const entries of this.#maps.values()) yield* entries.exchange();
  }

  /** Adds the difference of a version between the catalog and this one; that is not used afterwards. */
  extendBy(nearer: Difference): void {
    for (const [map, entries] of nearer.#maps) this.#maps.get(map)?.extendBy(entries);
  }

  /** Undefined: the version has the object that the catalog has. */
  object(key: ObjectKey): Changed<CatalogObject> | undefined {
    return this.#objects.values.get(key);
  }

  objects(): IterableIterator<[ObjectKey, Changed<CatalogObject>]> {
    return this.#objects.values.entries();
  }
}

class MapDifference<K, V> {
  readonly #map: Restorable<K, V>;
  #values: Entries<K, Changed<V>>;

  constructor(map: Restorable<K, V>, values: Entries<K, Changed<V>>) {
    this.#map = map;
    this.#values = values;
  }

  get values(): Entries<K, Changed<V>> {
    return this.#values;
  }

  record(key: K): void {
    if (!this.#values.has(key)) this.#values.set(key, { value: this.#map.get(key) });
  }

  *exchange(): Generator<void> {
    for (const [key, { value }] of this.#values.entries()) {
      yield;
      this.#values.set(key, { value: this.#map.get(key) });
      if (value === undefined) this.#map.delete(key);
      else this.#map.set(key, value);
    }
  }

  /** Costs as much as the smaller of the two. */
  extendBy({ values: nearer }: MapDifference<K, V>): void {
    const own = this.#values;
    if (own.size >= nearer.size) {
      for (const [key, changed] of nearer.entries()) if (!own.has(key)) own.set(key, changed);
    } else {
      for (const [key, changed] of own.entries()) nearer.set(key, changed);
      this.#values = nearer;
    }
  }
}
