/** Index of ownership by uid, as in references (reference: Kubernetes API, 2.13). */
import { keyString, type ObjectKey, type OwnerReference } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { sourceOfRole } from '../../registry/index.ts';
import { ownerKeyOf } from './references.ts';

interface Dependent {
  readonly key: ObjectKey;
  readonly owners: readonly string[];
  /** Uids of the owners whose deletion in the foreground waits for this object. */
  readonly blocked: readonly string[];
  /** Ids of the objects from which owners are derived. */
  readonly sources: readonly string[];
}

/** Stores nothing for objects without owners, which is nearly all of them. */
export class OwnerGraph {
  readonly #kinds: KindTable;
  readonly #dependents = new Map<string, Dependent>();
  /** Ids of dependents, by owner uid. */
  readonly #byOwner = new Map<string, Set<string>>();
  /** Ids of the dependents that block the deletion of an owner, by its uid. */
  readonly #byBlocked = new Map<string, Set<string>>();
  /** Ids of dependents of derived roles, by the id of the object that the role is derived from. */
  readonly #bySource = new Map<string, Set<string>>();

  constructor(kinds: KindTable) {
    this.#kinds = kinds;
  }

  get size(): number {
    return this.#dependents.size;
  }

  has(key: ObjectKey): boolean {
    return this.#dependents.has(keyString(key));
  }

  set(key: ObjectKey, references: readonly OwnerReference[]): void {
    this.delete(key);
    if (references.length === 0) return;
    const id = keyString(key);
    const owners = uidsOf(references);
    const blocked = uidsOf(references.filter((one) => one.blockOwnerDeletion === true));
    const sources = this.#sourcesOf(references, key);
    this.#dependents.set(id, { key, owners, blocked, sources });
    for (const uid of owners) add(this.#byOwner, uid, id);
    for (const uid of blocked) add(this.#byBlocked, uid, id);
    for (const source of sources) add(this.#bySource, source, id);
  }

  delete(key: ObjectKey): void {
    const id = keyString(key);
    const known = this.#dependents.get(id);
    for (const uid of known?.owners ?? []) remove(this.#byOwner, uid, id);
    for (const uid of known?.blocked ?? []) remove(this.#byBlocked, uid, id);
    for (const source of known?.sources ?? []) remove(this.#bySource, source, id);
    this.#dependents.delete(id);
  }

  dependentsOf(uid: string): ObjectKey[] {
    return this.#keysOf(this.#byOwner.get(uid));
  }

  hasDependents(uid: string): boolean {
    return this.#byOwner.has(uid);
  }

  /** One at a time: most callers need the first. */
  *blockersOf(uid: string): Generator<ObjectKey> {
    for (const id of this.#byBlocked.get(uid) ?? []) {
      const key = this.#dependents.get(id)?.key;
      if (key !== undefined) yield key;
    }
  }

  /** Objects owned by a role that is derived from this object. Such owners have no events of their own. */
  dependentsOfRolesOf(source: ObjectKey): ObjectKey[] {
    return this.#bySource.size === 0 ? [] : this.#keysOf(this.#bySource.get(keyString(source)));
  }

  /** Every object that has an owner. */
  keys(): ObjectKey[] {
    return [...this.#dependents.values()].map(({ key }) => key);
  }

  #keysOf(ids: Iterable<string> = []): ObjectKey[] {
    const keys = [...ids].map((id) => this.#dependents.get(id)?.key);
    return keys.filter((key) => key !== undefined);
  }

  #sourcesOf(references: readonly OwnerReference[], key: ObjectKey): string[] {
    const sources = references.flatMap((reference) => {
      const owner = ownerKeyOf(this.#kinds, reference, key);
      const source = owner && sourceOfRole(this.#kinds, owner);
      return source === undefined ? [] : [keyString(source)];
    });
    return [...new Set(sources)];
  }
}

function uidsOf(references: readonly OwnerReference[]): string[] {
  return [...new Set(references.map(({ uid }) => uid))];
}

function add(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key) ?? new Set();
  ids.add(id);
  index.set(key, ids);
}

function remove(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key);
  ids?.delete(id);
  if (ids?.size === 0) index.delete(key);
}
