/**
 * The state of the platform: objects by identity, a journal of what happened to them, and watches
 * on it. resourceVersion is the number of a journal entry (invariant 8). What is in here is never
 * desired state: that is in git, and this store can be filled from it again.
 */
import type { JsonObject, JsonValue, KubeObject, ObjectKey } from '../apimachinery/index.ts';
import type { Labels } from './objects/labels.ts';
import type { StateError } from './state-error.ts';

/** An object as it is served. Immutable; a change makes a new one. */
export interface StoredObject {
  readonly key: ObjectKey;
  readonly resourceVersion: number;
  /** Whether it has a deletionTimestamp; costs nothing to ask. */
  readonly terminating: boolean;
  /**
   * With `metadata.resourceVersion` filled in. Shared by all readers: never mutate. Parsed when it
   * is asked for: take it once, and where the bytes will do, take those.
   */
  readonly object: KubeObject;
  /** `metadata.labels`; costs little where `object` would have to be parsed. Never mutate. */
  readonly labels: Labels | undefined;
  /** What the server knows beside the object and never serves (the hash of a key, for one). */
  readonly hidden: JsonObject | undefined;
  /** The object as JSON; cheap. Never mutate. */
  json(): Buffer;
  remark(): Provenance | undefined;
}

/**
 * What whoever puts an object keeps beside it, and never serves: short facts, which the start reads
 * of all objects, and a text that is rarely asked for.
 */
export interface Provenance {
  readonly facts: JsonValue;
  readonly text?: string | undefined;
}

/** An object and what is beside it, as they are made when they are first asked for. */
export interface Made {
  readonly object: KubeObject;
  readonly hidden: JsonObject | undefined;
  readonly remark: Provenance | undefined;
}

/** What an object can be made from. */
export interface Source {
  readonly key: ObjectKey;
}

/** The first contents of a store. */
export interface Filling<S extends Source = Source> {
  /** Must give the same whenever it is called. */
  make(source: S): Made;
  /** The store holds the object itself from now on; `make` is not called again for the source. */
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

/** Which objects: a kind, and a namespace unless all are meant. */
export interface Collection {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
}

export interface ObjectList {
  readonly resourceVersion: number;
  /** In order of (namespace, name), bytewise. Never changes under the reader. */
  readonly items: readonly StoredObject[];
}

/** The journal no longer holds everything after the wanted version: list again (410 Gone). */
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

export interface Watch extends AsyncDisposable {
  /** Ends after `close()`, when the store closes, or when the reader fell too far behind; in the
   * last case `dropped` is true. */
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
  /** Whether there is no object and nobody has followed the store yet. */
  readonly pristine: boolean;
  /**
   * The first contents of a pristine store; each object gets the next resourceVersion, and there
   * are no events, since nobody can have read before. Returns before the objects are made. They
   * are made and saved in the background: a crash until then leaves a store without them and without
   * `notes`, but with whatever changed. What was made can be made again.
   */
  fill<S extends Source>(
    sources: readonly S[],
    filling: Filling<S>,
    notes: Readonly<Record<string, JsonObject | undefined>>,
  ): void;
  /** Resolves when the first contents are saved; at once where there is nothing to save. */
  filled(): Promise<void>;
  /**
   * Applies the changes in order, at once for every reader; each real change gets the next
   * resourceVersion. A put that equals what is stored changes nothing. `notes` are kept beside the
   * objects in the same durable step (undefined removes one), `remarks` beside one of the objects
   * that are there after the changes; an object keeps its remark until it gets another. Returns
   * one entry a change: the object as stored, or undefined after a removal.
   */
  apply(
    changes: readonly Change[],
    notes?: Readonly<Record<string, JsonObject | undefined>>,
    remarks?: Iterable<readonly [ObjectKey, Provenance | undefined]>,
  ): (StoredObject | undefined)[];
  /**
   * Works out what `apply` would do, and changes nothing. What it returns applies it, at less cost,
   * and as it is: whoever calls it sees to it that `resourceVersion` is what it was.
   */
  prepare(
    changes: readonly Change[],
    notes: Readonly<Record<string, JsonObject | undefined>>,
    remarks: Iterable<readonly [ObjectKey, Provenance | undefined]>,
  ): () => void;
  /**
   * As `apply`, for many changes: readers go on while they are worked out, and then see all of them
   * at once. Whoever calls it sees to it that nobody else changes the same objects meanwhile.
   */
  applyInSlices(
    changes: readonly Change[],
    notes: Readonly<Record<string, JsonObject | undefined>>,
    remarks: readonly (readonly [ObjectKey, Provenance | undefined])[],
  ): Promise<void>;
  /** Every object that has a remark, with its facts. Meant for the start. */
  remarks(): Iterable<readonly [StoredObject, JsonValue]>;
  /** What `apply` kept under a name. */
  note(name: string): JsonObject | undefined;
  notes(prefix: string): IterableIterator<[string, JsonObject]>;
  /**
   * Every event after `since`, in order, without gap. Throws CompactedError when the journal does
   * not reach back that far. A version ahead of the store waits for it.
   */
  watch(collection: Collection, since: number): Watch;
  /** Calls back after each change of one kind, synchronously, in order. Returns the way to stop. */
  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void;
  /** Why nothing more should be written at the moment; see StateEngine. */
  readonly trouble?: StateError | undefined;
  /** Resolves when everything applied so far is on stable storage. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
