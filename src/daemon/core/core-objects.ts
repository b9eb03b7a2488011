/**
 * Objects of Kubernetes that follow from what is there: the namespaces in which something is, events
 * of what controllers did, ours and those of clients, definitions of the kinds. In memory only:
 * namespaces are made anew at each start, and events are of no use to who was not there.
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
  /** At the state that is served. */
  readonly branch: { readonly state: { readonly catalog: Pick<Catalog, 'object' | 'objects'> } };
  readonly clock: Clock;
  onError(error: unknown): void;
}

export interface CoreObjects {
  readonly kinds: KindTable;
  readonly store: Store;
  readonly registry: ObjectRegistry;
  /** Whoever did something says so here. */
  readonly events: EventRing;
  /** Removes events that are too old. */
  forget(): void;
  close(): Promise<void>;
}

/** Events come and go; who has not followed for so long lists again. */
const WINDOW = { maxEvents: 20_000, maxBytes: 32 * 1024 * 1024 };

export async function openCoreObjects(options: CoreObjectsOptions): Promise<CoreObjects> {
  const { clock, onError } = options;
  const events = new EventRing();
  // Nothing of it is kept, so its key need not be either.
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
      store: written.part,
      clock,
      guards: [written.guard],
      complete: withoutGeneration,
    }),
    events,
    forget: () => {
      events.forget(clock.now());
      written.forget();
    },
    close: async () => {
      for (const stop of stops) stop();
      await store.close();
    },
  };
}

/** Seconds since the epoch at which the oldest object began. */
function platformBirth({ branch, clock }: CoreObjectsOptions): number {
  let oldest = Math.floor(clock.now() / 1000);
  for (const { identity } of branch.state.catalog.objects()) {
    oldest = Math.min(oldest, identity.bornAt);
  }
  return oldest;
}
