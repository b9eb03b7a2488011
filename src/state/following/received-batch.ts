/** One step of another store, read from its records. */
import { keyString, type ObjectKey } from '../../apimachinery/index.ts';
import { decodeEvents, EVENT_PREFIX } from '../journal/event-records.ts';
import { removedAt } from '../objects/difference.ts';
import { compareBytes } from '../objects/key-order.ts';
import { ObjectHandle } from '../objects/object-handle.ts';
import { handlesIn, Pack } from '../objects/pack.ts';
import { remoteVersion } from '../objects/remote-version.ts';
import type { RecordCodec } from '../records/codec.ts';
import {
  DOCUMENT_PREFIX,
  decodeDocument,
  OBJECT_PREFIX,
  objectRecordKey,
  PACK_PREFIX,
} from '../records/record.ts';
import { decodeMeta, META_KEY, type Meta } from '../records/saved-state.ts';
import type { JournalEvent } from '../store.ts';
import type { RecordBatch } from './record-feed.ts';

export interface ReceivedEvent extends JournalEvent {
  readonly current: ObjectHandle;
}

export interface ReceivedBatch {
  readonly revision: bigint;
  readonly events: readonly ReceivedEvent[];
  /** Changed documents. */
  readonly documents: readonly ReceivedDocument[];
  /** Handles to unchanged versions in a new pack. */
  readonly packed: readonly ObjectHandle[];
  /** Unchanged versions with new provenance, such as other encrypted values. */
  readonly provenanceChanges: readonly { readonly current: ObjectHandle }[];
  readonly meta: Meta | undefined;
}

/** A removed document is identified by the key of its record. */
export type ReceivedDocument =
  | { readonly name: string; readonly text: string }
  | { readonly record: string };

/** The step does not follow from the current state. */
export class BatchMismatchError extends Error {
  override readonly name = 'UnfittingBatchError';
}

type Lookup = (key: ObjectKey) => ObjectHandle | undefined;

/** Yields between records. Throws UnfittingBatchError, and for invalid records. */
export function* readBatch(
  batch: RecordBatch,
  codec: RecordCodec,
  stored: Lookup,
): Generator<void, ReceivedBatch> {
  const reading = new BatchReading(batch, codec, stored);
  const keys = [...batch.records.keys()].sort(compareBytes);
  for (const key of keys) {
    if (key.startsWith(EVENT_PREFIX)) yield* reading.takeEvents(key);
    else if (key.startsWith(DOCUMENT_PREFIX)) reading.takeDocument(key);
    else if (key.startsWith(OBJECT_PREFIX)) reading.takeObject(key);
    else if (key.startsWith(PACK_PREFIX)) yield* reading.takePack(key);
    else if (key === META_KEY) reading.takeMeta(key);
  }
  return reading;
}

class BatchReading implements ReceivedBatch {
  readonly revision: bigint;
  readonly events: ReceivedEvent[] = [];
  readonly documents: ReceivedDocument[] = [];
  readonly packed: ObjectHandle[] = [];
  readonly provenanceChanges: { readonly current: ObjectHandle }[] = [];
  meta: Meta | undefined;
  readonly #batch: RecordBatch;
  readonly #codec: RecordCodec;
  readonly #stored: Lookup;
  /** Objects that the step changed so far. */
  readonly #changed = new Map<string, ObjectHandle | undefined>();
  /** Keys of their records. */
  readonly #changedRecords = new Set<string>();

  constructor(batch: RecordBatch, codec: RecordCodec, stored: Lookup) {
    this.#batch = batch;
    this.#codec = codec;
    this.#stored = stored;
    this.revision = batch.revision;
  }

  *takeEvents(key: string): Generator<void> {
    const record = this.#plain(key);
    if (record === undefined) return;
    for (const { type, key: asRead, version, object } of decodeEvents(record)) {
      yield;
      const id = keyString(asRead);
      const previous = this.#changed.has(id) ? this.#changed.get(id) : this.#stored(asRead);
      if ((type === 'ADDED') !== (previous === undefined)) {
        throw new BatchMismatchError(`${type} of ${id} at ${version} does not follow`);
      }
      const own = previous?.key ?? Object.freeze(asRead);
      const current =
        type === 'DELETED' && previous !== undefined
          ? removedAt(previous, version)
          : this.#object(own, version, object);
      this.#changed.set(id, type === 'DELETED' ? undefined : current);
      this.#changedRecords.add(objectRecordKey(asRead));
      this.events.push(Object.freeze({ type, resourceVersion: version, current, previous }));
    }
  }

  takeDocument(key: string): void {
    const record = this.#plain(key);
    if (record === undefined) {
      this.documents.push({ record: key });
      return;
    }
    const [name, text] = decodeDocument(record);
    this.documents.push({ name, text });
  }

  /** Events come first in the order of keys. */
  takeObject(key: string): void {
    if (this.#changedRecords.has(key)) return;
    const record = this.#plain(key);
    if (record === undefined) return;
    const found = remoteVersion(record);
    const held = this.#stored(found.key);
    if (held?.resourceVersion !== found.resourceVersion) return;
    this.provenanceChanges.push({ current: new ObjectHandle(held.key, found.container, found.at) });
  }

  *takePack(key: string): Generator<void> {
    const record = this.#plain(key);
    if (record === undefined) return;
    const { pack, keys } = Pack.read(key, record);
    pack.release();
    yield;
    for (const handle of handlesIn(pack, keys)) this.packed.push(handle);
  }

  takeMeta(key: string): void {
    const record = this.#plain(key);
    if (record === undefined) throw new BatchMismatchError('the state was removed');
    this.meta = decodeMeta(record);
  }

  #object(key: ObjectKey, version: number, beside: Buffer | undefined): ObjectHandle {
    const record = beside ?? this.#plain(objectRecordKey(key));
    const found = record && remoteVersion(record, key);
    if (found?.resourceVersion === version) return found;
    throw new BatchMismatchError(`version ${version} of ${keyString(key)} is missing`);
  }

  #plain(key: string): Buffer | undefined {
    const bytes = this.#batch.records.get(key);
    return bytes && this.#codec.decode(key, bytes);
  }
}
