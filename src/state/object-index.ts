/** The objects that exist now, by identity and by collection. */
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import { KeyMap } from '../apimachinery/key-map.ts';
import type { HeldObject } from './held-object.ts';
import { type Replacement, SortedObjects } from './sorted-objects.ts';
import type { Collection, StoredObject } from './store.ts';

/** A map key for a collection. Kinds and namespaces hold no `/`, so it is unambiguous. */
export function collectionId({ group, kind, namespace }: Collection): string {
  return namespace === undefined ? `${group}/${kind}` : `${group}/${kind}/${namespace}`;
}

const NONE: readonly StoredObject[] = [];

export class ObjectIndex {
  readonly #objects = new KeyMap<HeldObject>();
  readonly #collections = new Map<string, SortedObjects>();

  get size(): number {
    return this.#objects.size;
  }

  objects(): IterableIterator<HeldObject> {
    return this.#objects.values();
  }

  /** As `replace` for each of many that are all new. */
  load(objects: readonly HeldObject[]): void {
    // Objects of one collection mostly follow one another.
    let last: { key: ObjectKey; all: SortedObjects; inNamespace: SortedObjects } | undefined;
    for (const stored of objects) {
      const { key } = stored;
      const { group, kind, namespace } = key;
      this.#objects.set(key, stored);
      if (last === undefined || !isOfSame(last.key, key)) {
        const all = this.#collection(collectionId({ group, kind }));
        last = {
          key,
          all,
          inNamespace: this.#collection(collectionId({ group, kind, namespace })),
        };
      }
      last.all.add(stored);
      last.inNamespace.add(stored);
    }
  }

  get(key: ObjectKey): HeldObject | undefined {
    return this.#objects.get(key);
  }

  replace(key: ObjectKey, object: HeldObject | undefined): void {
    const id = keyString(key);
    const before = this.#objects.size;
    if (object === undefined) this.#objects.delete(key);
    else this.#objects.set(key, object);
    const grown = this.#objects.size - before;
    const replacement = { id, key, object };
    const { group, kind, namespace } = key;
    this.#replaceIn(collectionId({ group, kind }), replacement, grown);
    this.#replaceIn(collectionId({ group, kind, namespace }), replacement, grown);
  }

  list(collection: Collection): readonly StoredObject[] {
    return this.#collections.get(collectionId(collection))?.items ?? NONE;
  }

  /** Namespaces come and go: a collection without objects is not kept. */
  #replaceIn(collection: string, replacement: Replacement, grown: number): void {
    const objects = this.#collection(collection);
    objects.replace(replacement, grown);
    if (objects.size === 0) this.#collections.delete(collection);
  }

  #collection(id: string): SortedObjects {
    let objects = this.#collections.get(id);
    if (objects === undefined) {
      objects = new SortedObjects();
      this.#collections.set(id, objects);
    }
    return objects;
  }
}

function isOfSame(a: ObjectKey, b: ObjectKey): boolean {
  return a.namespace === b.namespace && a.kind === b.kind && a.group === b.group;
}
