/**
 * Objects of Kubernetes that follow from what is there: the namespaces in which something is, and
 * events of what controllers did. In memory only: namespaces are made anew at each start, and events
 * are of no use to who was not there.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import { nameUuids } from '../apimachinery/name-uuid.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import { EventRing } from '../apimachinery/object-events.ts';
import { noSuchRoute, notFound } from '../apimachinery/status-error.ts';
import { CORE_KINDS, CORE_NAMESPACE } from '../kinds/core-kinds.ts';
import type { KindTable } from '../kinds/table.ts';
import type { ObjectRegistry } from '../registry/registry.ts';
import { sealingCodec } from '../state/codec.ts';
import { openStore } from '../state/journaled-store.ts';
import { MemoryEngine } from '../state/memory-engine.ts';
import type { Change, Store } from '../state/store.ts';
import { eventChanges } from './event-objects.ts';

export interface CoreObjectsOptions {
  readonly kinds: KindTable;
  /** Of the platform, without what follows from its objects: that is where they are. */
  readonly store: Pick<Store, 'list' | 'observe'>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

export interface CoreObjects {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly registry: ObjectRegistry;
  /** Whoever did something says so here. */
  readonly events: EventRing;
  close(): Promise<void>;
}

const FORGET_EVERY_MS = 60_000;

export async function openCoreObjects(options: CoreObjectsOptions): Promise<CoreObjects> {
  const { clock, onError } = options;
  const events = new EventRing();
  // Nothing of it is kept, so its key need not be either.
  const codec = sealingCodec(randomBytes(32), () => false);
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const stops = [
    followNamespaces(options, store),
    events.follow((event, isForgotten) => {
      store.apply(eventChanges(options.kinds, event, isForgotten));
    }),
  ];
  const timer = setInterval(() => events.forget(clock.now()), FORGET_EVERY_MS).unref();
  return {
    kinds: CORE_KINDS,
    store,
    registry: readOnly(store),
    events,
    close: async () => {
      clearInterval(timer);
      for (const stop of stops) stop();
      await store.close();
    },
  };
}

/** No kind here has a verb that writes. */
function readOnly(store: Store): ObjectRegistry {
  const refuse = (): Promise<never> => Promise.reject(noSuchRoute());
  return {
    get: ({ kind, namespace, name }) => {
      const found = store.get({ group: kind.group, kind: kind.kind, namespace, name });
      if (found === undefined) throw notFound(kind, name);
      return found;
    },
    create: refuse,
    update: refuse,
    delete: refuse,
  };
}

/** Is there as soon as anybody looks. */
const ALWAYS = 'default';

function followNamespaces({ kinds, store }: CoreObjectsOptions, core: Store): () => void {
  const counts = new Map<string, number>();
  const count = (namespace: string, more: number): void => {
    const before = counts.get(namespace) ?? 0;
    const now = before + more;
    counts.set(namespace, now);
    if (before === 0 && now > 0) core.apply([namespacePut(namespace)]);
    if (now > 0) return;
    counts.delete(namespace);
    if (before > 0) core.apply([{ type: 'remove', key: namespaceKey(namespace) }]);
  };
  count(ALWAYS, 1);
  const stops = kinds.kinds
    .filter(({ scope, storedIn }) => scope === 'Namespaced' && storedIn === 'git')
    .map(({ group, kind }) => {
      for (const { key } of store.list({ group, kind }).items) count(key.namespace, 1);
      return store.observe({ group, kind }, ({ type, current }) => {
        if (type !== 'MODIFIED') count(current.key.namespace, type === 'ADDED' ? 1 : -1);
      });
    });
  return () => {
    for (const stop of stops) stop();
  };
}

function namespaceKey(name: string): ObjectKey {
  const { group, kind } = CORE_NAMESPACE;
  return { group, kind, namespace: '', name };
}

/** The same name is the same namespace, at every start. */
const uidOf = nameUuids('6ba7b812-9dad-11d1-80b4-00c04fd430c8');

/** Without a time: nothing says when a namespace began. */
function namespacePut(name: string): Change {
  const labels = { 'kubernetes.io/metadata.name': name };
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: CORE_NAMESPACE.kind,
    metadata: { name, uid: uidOf(`namespace ${name}`), labels },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
  return { type: 'put', key: namespaceKey(name), object };
}
