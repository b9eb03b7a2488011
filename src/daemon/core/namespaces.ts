/**
 * Namespaces derived from their objects: a namespace exists while an object is in it, and is as old as
 * its oldest object. `default` always exists, and is as old as the platform.
 */
import { type KubeObject, nameUuids, type ObjectKey, rfc3339 } from '../../apimachinery/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import { CORE_NAMESPACE, type KindTable } from '../../kinds/index.ts';
import type { Change, Store, StoredObject } from '../../state/index.ts';

export interface NamespacesOptions {
  readonly kinds: KindTable;
  /** Store of the platform without derived objects. */
  readonly store: Pick<Store, 'list' | 'observe'>;
  /** Knows the birth of objects without parsing them. */
  readonly catalog: Pick<Catalog, 'object'>;
  /** Birth of the platform in seconds since the epoch. */
  readonly birth: number;
}

/** Exists without an object. */
const ALWAYS = 'default';

/** Keeps the namespaces in `core` in step with the store. Returns a function that stops it. */
export function followNamespaces(options: NamespacesOptions, core: Pick<Store, 'apply'>) {
  const { kinds, store } = options;
  const namespaces = new Map<string, Ages>([[ALWAYS, new Ages()]]);
  namespaces.get(ALWAYS)?.add(options.birth);
  const change = (name: string, alter: (ages: Ages) => void): void => {
    const ages = namespaces.get(name) ?? new Ages();
    const before = ages.oldest;
    alter(ages);
    const { oldest } = ages;
    if (oldest === undefined) namespaces.delete(name);
    else namespaces.set(name, ages);
    if (oldest !== before) core.apply([namespaceChange(name, oldest)]);
  };
  const followed = kinds.kinds.filter(
    ({ scope, storedIn }) => scope === 'Namespaced' && storedIn === 'git',
  );
  for (const { group, kind } of followed) {
    for (const stored of store.list({ group, kind }).items) {
      const { namespace } = stored.key;
      const ages = namespaces.get(namespace) ?? new Ages();
      namespaces.set(namespace, ages.add(birthAtStart(options, stored)));
    }
  }
  core.apply([...namespaces].map(([name, { oldest }]) => namespaceChange(name, oldest)));
  const stops = followed.map(({ group, kind }) =>
    store.observe({ group, kind }, ({ type, current, previous }) => {
      change(current.key.namespace, (ages) => {
        if (type !== 'DELETED') ages.add(birthOf(current));
        const ended = type === 'DELETED' ? current : previous;
        if (ended !== undefined) ages.remove(birthOf(ended));
      });
    }),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

/** Births of the objects of a namespace: a count per second. */
class Ages {
  readonly #counts = new Map<number, number>();
  /** Seconds since the epoch; undefined without objects. */
  oldest: number | undefined;

  add(birth: number): this {
    this.#counts.set(birth, (this.#counts.get(birth) ?? 0) + 1);
    if (this.oldest === undefined || birth < this.oldest) this.oldest = birth;
    return this;
  }

  remove(birth: number): void {
    const left = (this.#counts.get(birth) ?? 1) - 1;
    if (left > 0) {
      this.#counts.set(birth, left);
      return;
    }
    this.#counts.delete(birth);
    if (birth !== this.oldest) return;
    this.oldest = undefined;
    for (const other of this.#counts.keys()) {
      if (this.oldest === undefined || other < this.oldest) this.oldest = other;
    }
  }
}

/** Birth of an object that existed at the start. */
function birthAtStart({ catalog }: NamespacesOptions, stored: StoredObject): number {
  // An object that waits for its finalizers has left git.
  return catalog.object(stored.key)?.identity.bornAt ?? birthOf(stored);
}

function birthOf({ object }: StoredObject): number {
  return Date.parse(object.metadata.creationTimestamp ?? '') / 1000 || 0;
}

/** Stable across starts: derived from the name. */
const uidOf = nameUuids('6ba7b812-9dad-11d1-80b4-00c04fd430c8');

function namespaceChange(name: string, birth: number | undefined): Change {
  const { group, kind } = CORE_NAMESPACE;
  const key: ObjectKey = { group, kind, namespace: '', name };
  if (birth === undefined) return { type: 'remove', key };
  const object: KubeObject = {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      uid: uidOf(`namespace ${name}`),
      creationTimestamp: rfc3339(birth * 1000),
      labels: { 'kubernetes.io/metadata.name': name },
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
  return { type: 'put', key, object };
}
