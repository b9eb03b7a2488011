/** Undo of map changes. */

export interface Restorable<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
  delete(key: K): unknown;
  /** Of a layer: fixes an entry as it is, whatever becomes of the map below. */
  keep?(key: K, value: V | undefined): void;
}

/** Log of entries before they change. */
export interface ChangeLog {
  map<K, V>(map: Restorable<K, V>, key: K): void;
}

/** Layers on top of maps, by map. */
export type Layers = ReadonlyMap<unknown, unknown>;

/** An entry before it changed. Many are in memory, so it has no closures. */
class Former<K, V> {
  readonly #map: Restorable<K, V>;
  readonly #key: K;
  readonly #value: V | undefined;

  constructor(map: Restorable<K, V>, key: K) {
    this.#map = map;
    this.#key = key;
    this.#value = map.get(key);
  }

  /** `layers` undefined: in the map itself. A map without a layer stays as it is. */
  restore(layers: Layers | undefined): void {
    const target = layers === undefined ? this.#map : this.#layerIn(layers);
    if (this.#value === undefined) target?.delete(this.#key);
    else target?.set(this.#key, this.#value);
  }

  /** Fixes the former entry in a layer, before `restore`: the present one. */
  keep(layers: Layers, which: 'former' | 'present'): void {
    const value = which === 'former' ? this.#value : this.#map.get(this.#key);
    this.#layerIn(layers)?.keep?.(this.#key, value);
  }

  /** A layer has the keys and values of the map below it. */
  #layerIn(layers: Layers): Restorable<K, V> | undefined {
    return layers.get(this.#map) as Restorable<K, V> | undefined;
  }
}

/** Restores map entries in reverse order. */
export class UndoLog implements ChangeLog {
  readonly #steps: Pick<Former<unknown, unknown>, 'restore' | 'keep'>[] = [];

  /** Number of changes. */
  get size(): number {
    return this.#steps.length;
  }

  map<K, V>(map: Restorable<K, V>, key: K): void {
    this.#steps.push(new Former(map, key));
  }

  run(): void {
    for (const step of this.#steps.splice(0).reverse()) step.restore(undefined);
  }

  /** Restores the entries in layers on top of the maps, which stay as they are. */
  runOn(layers: Layers): void {
    for (const step of this.#steps.toReversed()) step.restore(layers);
  }

  /** Fixes the entries in layers as they were before the changes. */
  keepFormer(layers: Layers): void {
    for (const step of this.#steps) step.keep(layers, 'former');
  }

  /** Fixes the entries in layers as they are now; called before `run`. */
  keepPresent(layers: Layers): void {
    for (const step of this.#steps) step.keep(layers, 'present');
  }
}
