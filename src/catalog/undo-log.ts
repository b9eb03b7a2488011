/** Undo of map changes. */

export interface Restorable<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
  delete(key: K): unknown;
}

/** Log of entries before they change. */
export interface ChangeLog {
  map<K, V>(map: Restorable<K, V>, key: K): void;
}

/** Layers on top of maps, by map. */
export type Layers = ReadonlyMap<unknown, unknown>;

type Restore = (layers: Layers | undefined) => void;

/** Restores map entries in reverse order. */
export class UndoLog implements ChangeLog {
  readonly #steps: Restore[] = [];

  /** Number of changes. */
  get size(): number {
    return this.#steps.length;
  }

  map<K, V>(map: Restorable<K, V>, key: K): void {
    const value = map.get(key);
    this.#steps.push((layers) => {
      // A layer has the keys and values of the map below it.
      const target = layers === undefined ? map : (layers.get(map) as Restorable<K, V>);
      if (value === undefined) target.delete(key);
      else target.set(key, value);
    });
  }

  run(): void {
    for (const step of this.#steps.splice(0).reverse()) step(undefined);
  }

  /** Restores the entries in layers on top of the maps, which stay as they are. */
  runOn(layers: Layers): void {
    for (const step of this.#steps.toReversed()) step(layers);
  }
}
