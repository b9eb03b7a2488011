/** Index of ownership by uid, as in references (reference: Kubernetes API, 2.13). */
import { keyString, type ObjectKey, type OwnerReference } from '../../apimachinery/index.ts';
import { isAccessRole } from '../../registry/index.ts';

interface Dependent {
  readonly key: ObjectKey;
  readonly isOfRole: boolean;
  readonly owners: readonly string[];
}

/** Stores nothing for objects without owners, which is nearly all of them. */
export class OwnerGraph {
  readonly #dependents = new Map<string, Dependent>();
  /** Ids of dependents, by owner uid. */
  readonly #byOwner = new Map<string, Set<string>>();
  #ofRoles = 0;

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
    const owners = [...new Set(references.map(({ uid }) => uid))];
    const isOfRole = references.some(isToAccessRole);
    this.#dependents.set(id, { key, isOfRole, owners });
    if (isOfRole) this.#ofRoles += 1;
    for (const uid of owners) {
      const dependents = this.#byOwner.get(uid) ?? new Set();
      dependents.add(id);
      this.#byOwner.set(uid, dependents);
    }
  }

  delete(key: ObjectKey): void {
    const id = keyString(key);
    const known = this.#dependents.get(id);
    if (known?.isOfRole === true) this.#ofRoles -= 1;
    for (const uid of known?.owners ?? []) {
      const dependents = this.#byOwner.get(uid);
      dependents?.delete(id);
      if (dependents?.size === 0) this.#byOwner.delete(uid);
    }
    this.#dependents.delete(id);
  }

  dependentsOf(uid: string): ObjectKey[] {
    const keys = [...(this.#byOwner.get(uid) ?? [])].map((id) => this.#dependents.get(id)?.key);
    return keys.filter((key) => key !== undefined);
  }

  /**
   * Objects owned by a role that is derived from another object. There are hardly any. Such owners
   * have no events of their own.
   */
  dependentsOfRoles(): ObjectKey[] {
    if (this.#ofRoles === 0) return [];
    return [...this.#dependents.values()].filter(({ isOfRole }) => isOfRole).map(({ key }) => key);
  }

  /** Every object that has an owner. */
  keys(): ObjectKey[] {
    return [...this.#dependents.values()].map(({ key }) => key);
  }
}

function isToAccessRole({ apiVersion, name }: OwnerReference): boolean {
  const [group = ''] = apiVersion.split('/');
  return isAccessRole({ group, name });
}
