/**
 * The state of the platform: objects by identity, a journal of their changes, and watches. A
 * resourceVersion is the number of a journal entry (invariant 8). Desired state is in git; this
 * store can be rebuilt from it.
 */
import type { JsonObject, JsonValue, KubeObject, ObjectKey } from '../apimachinery/index.ts';
import type { Labels } from './objects/labels.ts';
import type { StateError } from './state-error.ts';

/** An object as clients see it. Immutable; a change makes a new one. */
export interface StoredObject {
  readonly key: ObjectKey;
  readonly resourceVersion: number;
  /** True if the object has a deletionTimestamp; no parsing. */
  readonly terminating: boolean;
  /**
   * With `metadata.resourceVersion`. Shared by all readers: never mutate. Each access may parse:
   * read it once, and prefer `json()` where bytes are enough.
   */
  readonly object: KubeObject;
  /** `metadata.labels`; cheaper than parsing `object`. Never mutate. */
  readonly labels: Labels | undefined;
  /** Server-side data that is never returned to clients, such as the hash of a key. */
  readonly hidden: JsonObject | undefined;
  /** The object as JSON; cheap. Never mutate. */
  json(): Buffer;
  provenance(): Provenance | undefined;
}

/**
 * Facts that the writer of an object stores beside it, never returned to clients. The start reads
 * `facts` of all objects; `text` is rarely read.
 */
export interface Provenance {
  readonly facts: JsonValue;
  readonly text?: string | undefined;
}

/** An object and the data stored beside it, built on first access. */
export interface MadeObject {
  readonly object: KubeObject;
  readonly hidden: JsonObject | undefined;
  readonly provenance: Provenance | undefined;
}

/** Input from which an object can be built. */
export interface Source {
  readonly key: ObjectKey;
}

/** The first contents of a store. */
export interface ObjectFactory<S extends Source = Source> {
  /** Must always return the same result for a source. */
  make(source: S): MadeObject;
  /** The store now holds the object itself; `make` is not called again for this source. */
  settled(source: S, stored: StoredObject): void;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface JournalEvent {
  readonly type: EventType;
  readonly resourceVersion: number;
  /** The object after the change; for DELETED its last state with the deletion's
   * resourceVersion. */
  readonly current: StoredObject;
  /** The object before the change; undefined for ADDED. */
  readonly previous: StoredObject | undefined;
}

export type Change =
  | {
      readonly type: 'put';
      readonly key: ObjectKey;
      readonly object: KubeObject;
      readonly hidden?: JsonObject | undefined;
    }
  | { readonly type: 'remove'; readonly key: ObjectKey };

/** A kind, and one namespace of it or all. */
export interface Collection {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
}

export interface ObjectList {
  readonly resourceVersion: number;
  /** In bytewise order of (namespace, name). Never changes after it is returned. */
  readonly items: readonly StoredObject[];
}

/**
 * The journal no longer holds every event after the wanted version; the client must list again (410
 * Gone).
 */
export class CompactedError extends Error {
  readonly wanted: number;
  readonly oldest: number;

  constructor(wanted: number, oldest: number) {
    super(`too old resource version: ${wanted} (${oldest})`);
    this.name = 'CompactedError';
    this.wanted = wanted;
    this.oldest = oldest;
  }
}

/** Documents by name; undefined removes one. */
export type Documents = Readonly<Record<string, JsonObject | undefined>>;
/** Provenance of an object; undefined removes it. */
export type NewProvenance = readonly [ObjectKey, Provenance | undefined];

export interface Watch extends AsyncDisposable {
  /**
   * Ends after `close()`, when the store closes, or when the reader falls behind the window; then
   * `dropped` is true.
   */
  events(): AsyncIterableIterator<JournalEvent>;
  readonly dropped: boolean;
  close(): void;
}

export interface Store {
  /** The newest resourceVersion. */
  readonly resourceVersion: number;
  get(key: ObjectKey): StoredObject | undefined;
  list(collection: Collection): ObjectList;
  /** The list as it was at `resourceVersion`. Throws CompactedError when that is gone. */
  listAt(collection: Collection, resourceVersion: number): ObjectList;
  /** True while the store has no object and no reader has followed it. */
  readonly pristine: boolean;
  /**
   * Sets the first contents of a pristine store. Each object gets the next resourceVersion. There
   * are no events, since no client can have read before. Returns before the objects are built: they
   * are built and saved in the background. A crash before that leaves a store with the later
   * changes, without the first contents and without `documents`; the next start builds them again.
   */
  fill<S extends Source>(
    sources: readonly S[],
    filling: ObjectFactory<S>,
    documents: Documents,
  ): void;
  /** Resolves when the first contents are saved; at once if there are none to save. */
  filled(): Promise<void>;
  /**
   * Applies the changes in order; every reader sees all of them at once. Each real change gets the
   * next resourceVersion. A put that equals the stored object changes nothing. `documents` are
   * stored in the same durable step (undefined removes one). `provenance` is for objects that exist
   * after the changes; an object keeps its provenance until it gets another. Returns one entry per
   * change: the stored object, or undefined after a removal.
   */
  apply(
    changes: readonly Change[],
    documents?: Documents,
    provenanceFacts?: Iterable<NewProvenance>,
  ): (StoredObject | undefined)[];
  /**
   * Computes `apply` without applying it. The returned function applies the result, which is
   * cheaper. The caller must make sure that `resourceVersion` has not changed in between.
   */
  prepare(
    changes: readonly Change[],
    documents: Documents,
    provenance: Iterable<NewProvenance>,
  ): () => void;
  /**
   * As `apply`, for many changes: the computation yields to the event loop, then readers see all
   * changes at once. The caller must make sure that the same objects do not change meanwhile.
   */
  applyYielding(
    changes: readonly Change[],
    documents: Documents,
    provenance: readonly NewProvenance[],
  ): Promise<void>;
  /** Every object with provenance, and its facts. Used at the start. */
  provenanceFacts(): Iterable<readonly [StoredObject, JsonValue]>;
  /** The document that `apply` stored under a name. */
  document(name: string): JsonObject | undefined;
  documents(prefix: string): IterableIterator<[string, JsonObject]>;
  /**
   * Every event after `since`, in order, without gap. Throws CompactedError when the journal does
   * not reach back that far. A version newer than the store waits for it.
   */
  watch(collection: Collection, since: number): Watch;
  /**
   * Calls `listener` synchronously after each change in the collection, in order. Returns a
   * function that stops it.
   */
  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void;
  /** Reason why writing is currently refused; see StateEngine. */
  readonly trouble?: StateError | undefined;
  /** Resolves when everything applied so far is on stable storage. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
