/**
 * Namespaces follow from the objects that are in them: each is there while something is in it, and as
 * old as the oldest of these. `default` is always there, and as old as anything of the platform.
 */
import { type KubeObject, nameUuids, type ObjectKey, rfc3339 } from '../../apimachinery/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import { CORE_NAMESPACE, type KindTable } from '../../kinds/index.ts';
import type { Change, Store, StoredObject } from '../../state/index.ts';

export interface NamespacesOptions {
  readonly kinds: KindTable;
  /** Of the platform, without what follows from its objects: that is where they are. */
  readonly store: Pick<Store, 'list' | 'observe'>;
  /** Knows when objects began without parsing them. */
  readonly catalog: Pick<Catalog, 'object'>;
  /** Of the platform, in seconds since the epoch. */
  readonly birth: number;
}

/** Is there as soon as anybody looks. */
const ALWAYS = 'default';

/** Keeps the namespaces in `core` in step with the store. Returns the way to stop. */
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
      namespaces.set(namespace, ages.add(keptBirth(options, stored)));
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

/** When the objects of a namespace began: how many of them in each second. */
class Ages {
  readonly #counts = new Map<number, number>();
  /** Seconds since the epoch; undefined where there is nothing. */
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

/** Of an object that was there at the start. */
function keptBirth({ catalog }: NamespacesOptions, stored: StoredObject): number {
  // One that waits for its finalizers is not in git any more.
  return catalog.object(stored.key)?.identity.bornAt ?? birthOf(stored);
}

function birthOf({ object }: StoredObject): number {
  return Date.parse(object.metadata.creationTimestamp ?? '') / 1000 || 0;
}

/** The same name is the same namespace, at every start. */
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
