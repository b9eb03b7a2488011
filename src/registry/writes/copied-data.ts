/** All copies of a shared secret change in one step with it, so that their data together has a limit. */
import {
  describeKey,
  type KubeObject,
  keyString,
  type ObjectKey,
  sameKey,
} from '../../apimachinery/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import type { Store } from '../../state/index.ts';

const MEBIBYTE = 1024 * 1024;
const MOST_MEBIBYTES = 64;
/** Smaller data is not counted: a copy is about as large as its own manifest. */
const SMALL = 1024;

/** Reason against so many copies of the data of an object; undefined: there is none. */
export function copiesProblem(
  source: ObjectKey,
  bytes: number,
  copies: number,
): string | undefined {
  const mebibytes = (bytes * copies) / MEBIBYTE;
  if (bytes <= SMALL || mebibytes <= MOST_MEBIBYTES) return undefined;
  const size = `${Math.ceil(mebibytes)} MiB of its data`;
  return `${copies} copies of ${describeKey(source)} would have ${size}; the limit is ${MOST_MEBIBYTES} MiB`;
}

/** Size of the data of a secret, in characters; 0 for other objects. */
export function dataSize(object: KubeObject | undefined): number {
  return Object.entries(object?.spec?.['data'] ?? {}).reduce(
    (sum, [key, value]) => sum + key.length + String(value).length,
    0,
  );
}

/** The source that an object follows, and did not follow before. */
export function newSource(
  { follows }: Pick<Kind, 'follows'>,
  object: KubeObject | undefined,
  old: KubeObject | undefined,
): ObjectKey | undefined {
  const source = object && follows?.(object);
  const former = old && follows?.(old);
  return source && former && sameKey(source, former) ? undefined : source;
}

type FollowedStore = Pick<Store, 'list' | 'resourceVersion'>;

interface Followers {
  readonly version: number;
  /** Objects that may follow one. */
  readonly total: number;
  readonly bySource: ReadonlyMap<string, number>;
}

/** Counted once per version of a store: a push asks for each of its changes. */
const counted = new WeakMap<FollowedStore, Followers>();

/**
 * Number of objects that follow a source, with those that are `added`. It is `added` where all objects
 * together would not be too many.
 */
export function followersOf(
  kinds: KindTable,
  store: FollowedStore,
  {
    source,
    bytes,
    added = 0,
  }: { readonly source: ObjectKey; readonly bytes: number; readonly added?: number },
): number {
  if (bytes <= SMALL) return added;
  const { total, bySource } = followersIn(kinds, store);
  if (copiesProblem(source, bytes, total + added) === undefined) return added;
  return added + (bySource.get(keyString(source)) ?? 0);
}

function followersIn({ kinds }: KindTable, store: FollowedStore): Followers {
  const version = store.resourceVersion;
  const known = counted.get(store);
  if (known?.version === version) return known;
  const bySource = new Map<string, number>();
  let total = 0;
  for (const { group, kind, follows } of kinds) {
    if (follows === undefined) continue;
    const { items } = store.list({ group, kind });
    total += items.length;
    for (const { key, labels } of items) {
      const { name } = key;
      const source = follows({ apiVersion: '', kind, metadata: { name, labels: { ...labels } } });
      if (source === undefined) continue;
      const id = keyString(source);
      bySource.set(id, (bySource.get(id) ?? 0) + 1);
    }
  }
  const found = { version, total, bySource };
  counted.set(store, found);
  return found;
}

/** The same as `copiesProblem`, with the writes in flight, which the store does not have yet. */
export function copiesProblemWith(
  changes: readonly ObjectChange[],
  kinds: KindTable,
  store: FollowedStore,
  of: { readonly source: ObjectKey; readonly bytes: number; readonly added: number },
): string | undefined {
  const { source } = of;
  const grown = changes.filter(({ key }) => sameKey(key, source));
  const sizes = grown.map(({ after }) => dataSize(after?.manifest));
  const bytes = Math.max(of.bytes, ...sizes);
  const problemOf = (added: number): string | undefined =>
    copiesProblem(source, bytes, followersOf(kinds, store, { source, bytes, added }));
  // Most writes are far from the limit, whatever is in flight.
  if (problemOf(of.added + changes.length) === undefined) return undefined;
  const copies = changes.filter(({ key, before, after }) => {
    const kind = kinds.byKey(key);
    const found = kind && newSource(kind, after?.manifest, before?.manifest);
    return found !== undefined && sameKey(found, source);
  });
  return problemOf(of.added + copies.length);
}
