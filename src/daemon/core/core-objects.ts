/**
 * Kubernetes objects derived from the platform: namespaces in use, events of controllers and of
 * clients, definitions of the kinds. They are in memory only: namespaces are derived anew at each
 * start, and a client that was not connected has no use for old events.
 */
import { randomBytes } from 'node:crypto';
import { type Clock, EventRing } from '../../apimachinery/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import { CORE_KINDS, type KindTable } from '../../kinds/index.ts';
import { ClusterRegistry, type ObjectRegistry, withoutGeneration } from '../../registry/index.ts';
import { MemoryEngine, openStore, type Store, sealingCodec } from '../../state/index.ts';
import { ClientEvents } from './client-events.ts';
import { definitionsOf } from './definitions.ts';
import { eventChanges } from './event-objects.ts';
import { followNamespaces, type NamespacesOptions } from './namespaces.ts';

export interface CoreObjectsOptions extends Pick<NamespacesOptions, 'kinds' | 'store'> {
  /** Positioned at the served state. */
  readonly branch: { readonly state: { readonly catalog: Pick<Catalog, 'object' | 'objects'> } };
  readonly clock: Clock;
  onError(error: unknown): void;
}

export interface CoreObjects {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly registry: ObjectRegistry;
  /** Events of controllers. */
  readonly events: EventRing;
  /** Removes expired events. */
  removeOldEvents(): void;
  close(): Promise<void>;
}

/** Watch history: a client that falls further behind lists again. */
const WINDOW = { maxEvents: 20_000, maxBytes: 32 * 1024 * 1024 };

export async function openCoreObjects(options: CoreObjectsOptions): Promise<CoreObjects> {
  const { clock, onError } = options;
  const events = new EventRing();
  // The store is never persisted, so a random key is enough.
  const codec = sealingCodec(randomBytes(32), () => false);
  const store = await openStore({ engine: new MemoryEngine(), codec, onError, window: WINDOW });
  const written = new ClientEvents({ store, clock });
  const birth = platformBirth(options);
  store.apply(definitionsOf(options.kinds, birth));
  const { kinds, branch } = options;
  const stops = [
    followNamespaces({ kinds, store: options.store, catalog: branch.state.catalog, birth }, store),
    events.follow((event, isForgotten) => {
      store.apply(eventChanges(kinds, event, isForgotten));
    }),
  ];
  return {
    kinds: CORE_KINDS,
    store,
    registry: new ClusterRegistry({
      kinds: CORE_KINDS,
      store: written.store,
      clock,
      guards: [written.guard],
      complete: withoutGeneration,
    }),
    events,
    removeOldEvents: () => {
      events.forget(clock.now());
      written.removeOld();
    },
    close: async () => {
      for (const stop of stops) stop();
      await store.close();
    },
  };
}

/** Birth of the oldest object, in seconds since the epoch. */
function platformBirth({ branch, clock }: CoreObjectsOptions): number {
  let oldest = Math.floor(clock.now() / 1000);
  for (const { identity } of branch.state.catalog.objects()) {
    oldest = Math.min(oldest, identity.bornAt);
  }
  return oldest;
}
