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

/**
 * An entry before it changed, and its place among the versions of its key; see `version-chains.ts`. Many
 * are in memory, so it has no closures.
 */
export class FormerEntry<K = unknown, V = unknown> {
  readonly map: Restorable<K, V>;
  readonly key: K;
  readonly value: V | undefined;
  /** Number of the step that changed the entry. */
  step = -1;
  older: FormerEntry<K, V> | undefined = undefined;
  newer: FormerEntry<K, V> | undefined = undefined;

  constructor(map: Restorable<K, V>, key: K) {
    this.map = map;
    this.key = key;
    this.value = map.get(key);
  }

  restore(): void {
    if (this.value === undefined) this.map.delete(this.key);
    else this.map.set(this.key, this.value);
  }
}

export class UndoLog implements ChangeLog {
  /** Oldest first. */
  entries: FormerEntry[] = [];
  #isRun = false;

  /** Number of changes. */
  get size(): number {
    return this.entries.length;
  }

  map<K, V>(map: Restorable<K, V>, key: K): void {
    this.entries.push(new FormerEntry(map, key) as unknown as FormerEntry);
  }

  /** Drops the room for more entries, which is eight times that of two: the log may live long. */
  trim(): void {
    this.entries = this.entries.slice();
  }

  /** Restores the entries, once. Returns the log of that. */
  run(): UndoLog {
    const log = new UndoLog();
    if (this.#isRun) return log;
    this.#isRun = true;
    for (const entry of this.entries.toReversed()) {
      log.map(entry.map, entry.key);
      entry.restore();
    }
    return log;
  }
}
