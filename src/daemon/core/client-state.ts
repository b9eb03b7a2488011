/**
 * State of clients that is in no commit: leases, Helm releases, ConfigMaps. It has a scoped store
 * beside the objects of the clusters served here (decisions 61 and 93), opened on first use.
 */
import { type Clock, forbiddenError, type KubeObject, tooLarge } from '../../apimachinery/index.ts';
import { CLIENT_KINDS, CONFIG_MAP, type Kind, LEASE, RELEASE } from '../../kinds/index.ts';
import { ClusterRegistry, type Guard, withoutGeneration } from '../../registry/index.ts';
import type { ServerDependencies } from '../../server/index.ts';
import type { ScopedStore, StoredObject } from '../../state/index.ts';
import type { Clusters } from '../tenants/clusters.ts';

export interface Capacity {
  readonly objects: number;
  readonly inNamespace: number;
  /** JSON bytes of one object. */
  readonly bytes: number;
  /** JSON bytes of all objects. Absent: the number of objects bounds it. */
  readonly allBytes?: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;
/** All of it is held in memory. */
const ROOM: ReadonlyMap<Kind, Capacity> = new Map([
  [LEASE, { objects: 5000, inNamespace: 1000, bytes: 16 * KIB }],
  [RELEASE, { objects: 2000, inNamespace: 500, bytes: MIB, allBytes: 64 * MIB }],
  [CONFIG_MAP, { objects: 2000, inNamespace: 500, bytes: MIB, allBytes: 32 * MIB }],
]);
/** Name on disk, from the first kind that was stored there. */
const PART = 'leases';

export interface ClientStateOptions {
  readonly clusters: Pick<Clusters, 'scopedStore'>;
  readonly clock: Clock;
  readonly capacity?: ReadonlyMap<Kind, Capacity>;
}

export function openClientState(options: ClientStateOptions): ServerDependencies['clientState'] {
  const { clusters, clock, capacity = ROOM } = options;
  const open = async (): ReturnType<ServerDependencies['clientState']['open']> => {
    const store = await clusters.scopedStore(PART);
    const registry = new ClusterRegistry({
      kinds: CLIENT_KINDS,
      store,
      clock,
      guards: [...capacity].map(([kind, limits]) => roomGuard(store, kind, limits)),
      complete: withoutGeneration,
    });
    return { store, registry };
  };
  let opened: ReturnType<typeof open> | undefined;
  return {
    kinds: CLIENT_KINDS,
    open: () => {
      opened ??= open().catch((error: unknown) => {
        // The next request tries again.
        opened = undefined;
        throw error;
      });
      return opened;
    },
  };
}

/** 413 for an object that is too large, 403 for an object beyond the capacity. */
function roomGuard(store: Pick<ScopedStore, 'list'>, kind: Kind, room: Capacity): Guard {
  const bytesOfAll = totalBytes();
  const itemsIn = (namespace?: string): readonly StoredObject[] =>
    store.list({ group: kind.group, kind: kind.kind, namespace }).items;
  /** The limit that is reached; undefined: none. */
  const full = (namespace: string, isNew: boolean, growth: number): string | undefined => {
    const { objects, inNamespace, allBytes } = room;
    const items = itemsIn();
    if (isNew && items.length >= objects) return `${objects} in all`;
    if (isNew && itemsIn(namespace).length >= inNamespace) {
      return `${inNamespace} in the namespace ${JSON.stringify(namespace)}`;
    }
    if (allBytes === undefined || growth <= 0) return undefined;
    return bytesOfAll(items) + growth > allBytes ? `${allBytes} bytes in all` : undefined;
  };
  return ({ kind: written, object, old }) => {
    if (written !== kind || object === undefined) return undefined;
    const bytes = bytesOf(object);
    if (bytes > room.bytes) return tooLarge(room.bytes);
    const { name = '', namespace = '' } = object.metadata;
    const most = full(namespace, old === undefined, bytes - (old ? bytesOf(old) : 0));
    if (most === undefined) return undefined;
    const resource = kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`;
    const message = `${resource} ${JSON.stringify(name)} is forbidden: there is room for ${most}; delete some ${kind.plural} first`;
    return forbiddenError(message, kind, name);
  };
}

function bytesOf(object: KubeObject): number {
  return Buffer.byteLength(JSON.stringify(object));
}

/** Sums sizes; the size of each version is computed once. */
function totalBytes(): (items: readonly StoredObject[]) => number {
  const sizes = new WeakMap<StoredObject, number>();
  return (items) => {
    let sum = 0;
    for (const stored of items) {
      const size = sizes.get(stored) ?? bytesOf(stored.object);
      sizes.set(stored, size);
      sum += size;
    }
    return sum;
  };
}
