/** The current objects, by identity and by collection. */
import { KeyMap, keyString, type ObjectKey } from '../../apimachinery/index.ts';
import type { Collection, StoredObject } from '../store.ts';
import type { ObjectHandle } from './object-handle.ts';
import { type Replacement, SortedObjects } from './sorted-objects.ts';

/** A map key for a collection. Kinds and namespaces contain no `/`, so it is unambiguous. */
export function collectionId({ group, kind, namespace }: Collection): string {
  return namespace === undefined ? `${group}/${kind}` : `${group}/${kind}/${namespace}`;
}

const NONE: readonly StoredObject[] = [];

interface HandleReplacement extends Replacement {
  readonly object: ObjectHandle | undefined;
}

/** Changes to an index, collected before they are applied. */
export class IndexStep {
  /** The new object of each identity. */
  readonly objects = new Map<string, HandleReplacement>();
  readonly collections = new Map<
    string,
    { readonly replacements: Map<string, Replacement>; grown: number }
  >();
  readonly #isThere: (key: ObjectKey) => boolean;

  constructor(isThere: (key: ObjectKey) => boolean) {
    this.#isThere = isThere;
  }

  add(key: ObjectKey, object: ObjectHandle | undefined): void {
    const id = keyString(key);
    const earlier = this.objects.get(id);
    const was = earlier === undefined ? this.#isThere(key) : earlier.object !== undefined;
    const grown = Number(object !== undefined) - Number(was);
    const replacement = { id, key, object };
    this.objects.set(id, replacement);
    const { group, kind, namespace } = key;
    this.#addIn(collectionId({ group, kind }), replacement, grown);
    this.#addIn(collectionId({ group, kind, namespace }), replacement, grown);
  }

  #addIn(id: string, replacement: Replacement, grown: number): void {
    let collection = this.collections.get(id);
    if (collection === undefined) {
      collection = { replacements: new Map(), grown: 0 };
      this.collections.set(id, collection);
    }
    collection.replacements.set(replacement.id, replacement);
    collection.grown += grown;
  }
}

export class ObjectIndex {
  readonly #objects = new KeyMap<ObjectHandle>();
  readonly #collections = new Map<string, SortedObjects>();

  get size(): number {
    return this.#objects.size;
  }

  objects(): IterableIterator<ObjectHandle> {
    return this.#objects.values();
  }

  /** As `replace`, for many objects that are all new. */
  load(objects: readonly ObjectHandle[]): void {
    // Consecutive objects mostly belong to the same collection.
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

  get(key: ObjectKey): ObjectHandle | undefined {
    return this.#objects.get(key);
  }

  /** A step to which replacements are added. The index must not change before `take`. */
  begin(): IndexStep {
    return new IndexStep((key) => this.#objects.has(key));
  }

  apply({ objects, collections }: IndexStep): void {
    for (const { key, object } of objects.values()) {
      if (object === undefined) this.#objects.delete(key);
      else this.#objects.set(key, object);
    }
    for (const [id, { replacements, grown }] of collections) {
      const collection = this.#collection(id);
      collection.replace(replacements, grown);
      // Namespaces come and go: empty collections are removed.
      if (collection.size === 0) this.#collections.delete(id);
    }
  }

  list(collection: Collection): readonly StoredObject[] {
    return this.#collections.get(collectionId(collection))?.items ?? NONE;
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
