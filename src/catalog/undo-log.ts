/** Takes back changes of maps. */

/** Restores map entries in reverse order. */
export class UndoLog {
  readonly #steps: { map: Map<string, unknown>; key: string; had: boolean; value: unknown }[] = [];

  map<T>(map: Map<string, T>, key: string): void {
    this.#steps.push({ map, key, had: map.has(key), value: map.get(key) });
  }

  run(): void {
    for (const { map, key, had, value } of this.#steps.reverse()) {
      if (had) map.set(key, value);
      else map.delete(key);
    }
    this.#steps.length = 0;
  }
}
