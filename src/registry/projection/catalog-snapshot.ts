/**
 * Persistence of the catalog in the state store: provenance, from which the next start rebuilds the
 * catalog, and the initial contents of an empty store, which are built lazily.
 */
import { type KubeObject, keyString, type ObjectKey } from '../../apimachinery/index.ts';
import {
  type Catalog,
  type CatalogObject,
  isProvenanceOf,
  type ObjectChange,
  persistedManifest,
  persistedProvenance,
  provenanceOf,
  ReadDocument,
  type StateDocuments,
} from '../../catalog/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import type {
  Change,
  MadeObject,
  ObjectFactory,
  Provenance,
  Store,
  StoredObject,
} from '../../state/index.ts';
import { withDerivedData } from './derived-secrets.ts';
import { serveObject } from './served-object.ts';

/**
 * Provenance of the objects that a step changes, and of persisted objects that the step writes for
 * other reasons. Provenance omits the facts that the object itself contains.
 */
export function* provenanceFor(
  store: Store,
  puts: readonly Change[],
  changes: readonly ObjectChange[],
): Iterable<readonly [ObjectKey, Provenance | undefined]> {
  const served = new Map<string, Extract<Change, { type: 'put' }>>();
  for (const put of puts) if (put.type === 'put') served.set(keyString(put.key), put);
  for (const { key, after } of changes) {
    const id = keyString(key);
    const object = served.get(id)?.object ?? store.get(key)?.object;
    served.delete(id);
    const isServed = after !== undefined && object !== undefined;
    yield [
      key,
      isServed ? provenanceOf(after, { manifest: after.manifest, served: object }) : undefined,
    ];
  }
  for (const { key, object } of served.values()) {
    const stored = store.get(key);
    const provenance = stored && persistedProvenance(stored, object);
    if (provenance !== undefined) yield [key, provenance];
  }
}

export interface FillingContext {
  readonly kinds: KindTable;
  readonly store: Store;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** Fills an empty store with everything in the catalog. */
export function fillStore(
  context: FillingContext,
  catalog: Catalog,
  documents: StateDocuments,
): void {
  const sources = copySources(context.kinds, catalog);
  const filling: ObjectFactory<CatalogObject> = {
    make: (object) => made(context, object, sources),
    settled: ({ source }, stored) => {
      if (source instanceof ReadDocument) source.entrust(new StoredManifest(stored));
    },
  };
  context.store.fill([...catalog.objects()], filling, documents);
}

/** Present sources of derived secrets: a lazy object may be built after its source changed. */
function copySources(
  { kinds }: KindTable,
  catalog: Catalog,
): ReadonlyMap<CatalogObject, CatalogObject | undefined> {
  const sources = new Map<CatalogObject, CatalogObject | undefined>();
  const followers = kinds.filter(({ follows }) => follows !== undefined);
  for (const object of catalog.objects()) {
    const { key } = object;
    const kind = followers.find((one) => one.kind === key.kind && one.group === key.group);
    const source = kind?.follows?.(object.manifest);
    if (source !== undefined) sources.set(object, catalog.object(source));
  }
  return sources;
}

function made(
  context: FillingContext,
  object: CatalogObject,
  sources: ReturnType<typeof copySources>,
): MadeObject {
  const { manifest } = object;
  const { kind, object: served, hidden } = serve(context, object);
  if (!sources.has(object)) {
    return { object: served, hidden, provenance: provenanceOf(object, { manifest, served }) };
  }
  const source = sources.get(object);
  const from = source && serve(context, source).object;
  const copy = withDerivedData(kind, served, {
    object: from,
    boundTo: object.ownerUid,
    time: context.time,
  });
  return { object: copy, hidden, provenance: provenanceOf(object, { manifest, served: copy }) };
}

function serve(
  { kinds, time }: FillingContext,
  { manifest, identity, problems, key, source, ownerUid }: CatalogObject,
): { kind: Kind } & ReturnType<typeof serveObject> {
  const kind = kinds.byKind(manifest.apiVersion, key.kind);
  if (kind === undefined) throw new Error(`The table of kinds has no ${key.kind}`);
  const of = { manifest, identity, problems, clear: source.clear, ownerUid };
  const { object, hidden } = serveObject(kind, of, { previous: undefined, time });
  return { kind, object, hidden };
}

/** Drops the manifests of written objects from memory where the store has them too. */
export function entrustManifests(store: Store, changes: readonly ObjectChange[]): void {
  for (const { key, after } of changes) {
    const stored = store.get(key);
    const source = after?.source;
    if (!(source instanceof ReadDocument) || stored === undefined) continue;
    if (isProvenanceOf(source, stored)) source.entrust(new StoredManifest(stored));
  }
}

/** A manifest that only the store has. */
class StoredManifest {
  readonly #stored: StoredObject;

  constructor(stored: StoredObject) {
    this.#stored = stored;
  }

  get manifest(): KubeObject {
    return persistedManifest(this.#stored);
  }
}
