/** Undo of map changes. */

interface Restorable<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): unknown;
  delete(key: K): unknown;
}

/** Restores map entries in reverse order. */
export class UndoLog {
  readonly #steps: (() => void)[] = [];

  map<K, V>(map: Restorable<K, V>, key: K): void {
    const value = map.get(key);
    if (value === undefined) this.#steps.push(() => void map.delete(key));
    else this.#steps.push(() => void map.set(key, value));
  }

  run(): void {
    for (const step of this.#steps.splice(0).reverse()) step();
  }
}
