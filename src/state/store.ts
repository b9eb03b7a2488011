/**
 * The state of the platform: objects by identity, a journal of what happened to them, and watches
 * on it. resourceVersion is the number of a journal entry (invariant 8). What is in here is never
 * desired state: that is in git, and this store can be filled from it again.
 */
import type { ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';

/** An object as it is served. Immutable; a change makes a new one. */
export interface StoredObject {
  readonly key: ObjectKey;
  readonly resourceVersion: number;
  /** With `metadata.resourceVersion` filled in. Shared by all readers: never mutate. */
  readonly object: KubeObject;
  /** What the server knows beside the object and never serves (the hash of a key, for one). */
  readonly hidden: JsonObject | undefined;
  /** The object as JSON, encoded once per version. */
  json(): Buffer;
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
  /**
   * Applies the changes in order, at once for every reader; each real change gets the next
   * resourceVersion. A put that equals what is stored changes nothing. `notes` are kept beside the
   * objects in the same durable step (undefined removes one). Returns one entry a change: the
   * object as stored, or undefined after a removal.
   */
  apply(
    changes: readonly Change[],
    notes?: Readonly<Record<string, JsonObject | undefined>>,
  ): (StoredObject | undefined)[];
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
  /** Resolves when everything applied so far is on stable storage. */
  flush(): Promise<void>;
  close(): Promise<void>;
}
