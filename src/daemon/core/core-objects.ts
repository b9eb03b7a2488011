/**
 * Kubernetes objects derived from the platform: namespaces in use, events of controllers and of
 * clients, definitions of the kinds. They are in memory only: namespaces are derived anew at each
 * start, and a client that was not connected has no use for old events.
 */
import { randomBytes } from 'node:crypto';
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import {
  asKubeObject,
  type Clock,
  EventRing,
  nameUuids,
  rfc3339,
} from '../../apimachinery/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import {
  CORE_KINDS,
  customResourceDefinition,
  DEFINITION,
  type KindTable,
} from '../../kinds/index.ts';
import { ClusterRegistry, type ObjectRegistry, withoutGeneration } from '../../registry/index.ts';
import type { Change } from '../../state/index.ts';
import { MemoryEngine, openStore, type Store, sealingCodec } from '../../state/index.ts';
import { ClientEvents } from './client-events.ts';
import { eventChanges } from './event-objects.ts';
import { followNamespaces, type NamespacesOptions } from './namespaces.ts';

/** Stable across starts: derived from the name. */
const uidOf = nameUuids('6ba7b812-9dad-11d1-80b4-00c04fd430c8');

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

/**
 * CustomResourceDefinitions of the platform's kinds. Terraform writes no object of a kind without
 * one; k9s and Argo CD follow them. `birth` of the platform in seconds since the epoch.
 */
function definitionsOf({ kinds }: KindTable, birth: number): Change[] {
  const since = rfc3339(birth * 1000);
  return kinds
    .map(customResourceDefinition)
    .filter((definition) => definition !== undefined)
    .map((definition) => definitionPut(asKubeObject(definition), since));
}

function definitionPut(definition: KubeObject, since: string): Change {
  const { name = '' } = definition.metadata;
  const { names } = definition.spec as { names: JsonObject };
  const object: KubeObject = {
    ...definition,
    metadata: { name, uid: uidOf(`definition ${name}`), generation: 1, creationTimestamp: since },
    spec: { ...definition.spec, conversion: { strategy: 'None' } },
    status: {
      conditions: [
        condition('NamesAccepted', { reason: 'NoConflicts', message: 'no conflicts found' }, since),
        condition(
          'Established',
          { reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' },
          since,
        ),
      ],
      acceptedNames: names,
      storedVersions: ['v1'],
    },
  };
  const { group, kind } = DEFINITION;
  return { type: 'put', key: { group, kind, namespace: '', name }, object };
}

function condition(
  type: string,
  why: { readonly reason: string; readonly message: string },
  since: string,
): JsonObject {
  return { type, status: 'True', ...why, lastTransitionTime: since };
}

/** Birth of the oldest object, in seconds since the epoch. */
function platformBirth({ branch, clock }: CoreObjectsOptions): number {
  let oldest = Math.floor(clock.now() / 1000);
  for (const { identity } of branch.state.catalog.objects()) {
    oldest = Math.min(oldest, identity.bornAt);
  }
  return oldest;
}
