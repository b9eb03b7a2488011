/**
 * A map with object identities as keys. A `Map` by `keyString` would store a text per entry, which is
 * most of its memory, and would build one for each lookup.
 */
import type { ObjectKey } from './key.ts';

type Names<V> = Map<string, V>;
type Namespaces<V> = Map<string, Names<V>>;
type Kinds<V> = Map<string, Namespaces<V>>;

export class KeyMap<V> {
  readonly #groups = new Map<string, Kinds<V>>();
  #size = 0;

  constructor(from?: { entries(): Iterable<[ObjectKey, V]> }) {
    if (from !== undefined) for (const [key, value] of from.entries()) this.set(key, value);
  }

  get size(): number {
    return this.#size;
  }

  has(key: ObjectKey): boolean {
    return this.#names(key)?.has(key.name) === true;
  }

  get(key: ObjectKey): V | undefined {
    return this.#names(key)?.get(key.name);
  }

  set(key: ObjectKey, value: V): void {
    const names = this.#names(key) ?? this.#newNames(key);
    const before = names.size;
    names.set(key.name, value);
    this.#size += names.size - before;
  }

  delete(key: ObjectKey): boolean {
    const namespaces = this.#groups.get(key.group)?.get(key.kind);
    const names = namespaces?.get(key.namespace);
    if (names?.delete(key.name) !== true) return false;
    this.#size -= 1;
    // Drops the map of an empty namespace.
    if (names.size === 0) namespaces?.delete(key.namespace);
    return true;
  }

  *values(): IterableIterator<V> {
    for (const kinds of this.#groups.values()) {
      for (const namespaces of kinds.values()) {
        for (const names of namespaces.values()) yield* names.values();
      }
    }
  }

  *entries(): IterableIterator<[ObjectKey, V]> {
    for (const [group, kinds] of this.#groups) {
      for (const [kind, namespaces] of kinds) {
        for (const [namespace, names] of namespaces) {
          for (const [name, value] of names) yield [{ group, kind, namespace, name }, value];
        }
      }
    }
  }

  #names({ group, kind, namespace }: ObjectKey): Names<V> | undefined {
    return this.#groups.get(group)?.get(kind)?.get(namespace);
  }

  #newNames({ group, kind, namespace }: ObjectKey): Names<V> {
    const names: Names<V> = new Map();
    const kinds: Kinds<V> = this.#groups.get(group) ?? new Map();
    const namespaces: Namespaces<V> = kinds.get(kind) ?? new Map();
    this.#groups.set(group, kinds.set(kind, namespaces.set(namespace, names)));
    return names;
  }
}
