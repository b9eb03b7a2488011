/** The state of a store in an engine: reading all of it at the start, encoding what changes. */
import type { JsonObject, KubeObject, ObjectKey } from '../../apimachinery/index.ts';
import type { EngineWrite, StateEngine } from '../engines/engine.ts';
import { decodeEvents, EVENT_PREFIX, type SavedEvents } from '../journal/event-records.ts';
import type { PersistedVersions } from '../journal/versions.ts';
import { ObjectHandle } from '../objects/object-handle.ts';
import { OwnVersion } from '../objects/own-version.ts';
import { handlesIn, Pack } from '../objects/pack.ts';
import { deadKey } from '../objects/packs.ts';
import type { RedoMark } from '../redo/redo-files.ts';
import { nameOf, StateError, unreadableState } from '../state-error.ts';
import type { RecordCodec } from './codec.ts';
import { decompressInPool } from './compression.ts';
import {
  DEAD_PREFIX,
  DOCUMENT_PREFIX,
  decodeDocument,
  documentRecordKey,
  encodeDocument,
  encodeObject,
  OBJECT_PREFIX,
  objectRecordKey,
  PACK_PREFIX,
} from './record.ts';

export const META_KEY = 'm/store';
/** A migration copies another state here: until this key is gone, the records are not valid. */
export const MIGRATION_KEY = 'm/migration';
const FORMAT = 2;
const FIRST_FORMAT = 1;

/** Versions, and the expected counts, for an engine that may lose records silently. */
export interface Meta extends PersistedVersions {
  readonly objects: number;
  readonly notes: number;
  /** Present: the first contents were not saved completely, and these documents are not valid. */
  readonly filling?: readonly string[] | undefined;
  /** Position in the redo log that the records correspond to. */
  readonly redo?: RedoMark | undefined;
}

export interface SavedState {
  readonly meta: Meta | undefined;
  readonly objects: readonly ObjectHandle[];
  readonly packs: readonly Pack[];
  /** JSON texts by name. */
  readonly documents: ReadonlyMap<string, string>;
  /** The event records, in order. */
  readonly events: readonly SavedEvents[];
  /**
   * Writes that must happen before use: sealing records that became secret, and upgrading from an
   * older format.
   */
  readonly repairs: readonly EngineWrite[];
}

/** A source of records. */
export type SavedRecords = Pick<StateEngine, 'place' | 'load'>;

/** Throws StateError, with place and remedy, unless all of it can be read. */
export async function readState(engine: SavedRecords, codec: RecordCodec): Promise<SavedState> {
  const reading = new Reading(codec);
  for await (const { key, plain, isSealed } of plainRecords(engine, codec)) {
    try {
      reading.take(key, await plain, isSealed);
    } catch (error) {
      // The cause is left out: a parser quotes its input, which may be a secret.
      throw unreadableState(engine.place, `a record is invalid (${nameOf(error)})`);
    }
  }
  const state = reading.finish();
  if (state === undefined) throw unreadableState(engine.place, 'records are missing');
  return state;
}

interface PlainRecord {
  readonly key: string;
  readonly plain: Buffer | Promise<Buffer>;
  readonly isSealed: boolean;
}

/** Records that are decompressed in the thread pool, before the caller takes them. */
const AHEAD = 8;

/** All records in order. */
async function* plainRecords(
  engine: SavedRecords,
  codec: RecordCodec,
): AsyncGenerator<PlainRecord> {
  const ahead: PlainRecord[] = [];
  for await (const [key, bytes] of engine.load('')) {
    if (key === MIGRATION_KEY) {
      throw new StateError(
        `the state in ${engine.place} is incomplete: a migration was interrupted; run it again, or delete the state: it is rebuilt from git`,
      );
    }
    const plain = decompressInPool(decoded(engine, codec, [key, bytes]));
    // The caller handles the rejection when it comes to the record.
    if (plain instanceof Promise) plain.catch(() => undefined);
    ahead.push({ key, plain, isSealed: codec.isSealed(bytes) });
    if (ahead.length > AHEAD) yield* ahead.splice(0, 1);
  }
  yield* ahead;
}

class Reading {
  readonly #codec: RecordCodec;
  readonly #objects: ObjectHandle[] = [];
  readonly #packs = new Map<string, { pack: Pack; held: readonly ObjectHandle[] }>();
  readonly #documents = new Map<string, string>();
  readonly #repairs: EngineWrite[] = [];
  readonly #events: SavedEvents[] = [];
  #meta: (Meta & { readonly format: number }) | undefined;

  constructor(codec: RecordCodec) {
    this.#codec = codec;
  }

  /** Keys come in order: the first one gives the format. */
  take(key: string, plain: Buffer, isSealed: boolean): void {
    if (key === META_KEY) this.#meta = decodeMeta(plain);
    else if (key.startsWith(EVENT_PREFIX))
      this.#events.push({ key, count: decodeEvents(plain).length });
    else if (key.startsWith(OBJECT_PREFIX)) this.#takeObject(plain, isSealed);
    else if (key.startsWith(DOCUMENT_PREFIX)) this.#documents.set(...decodeDocument(plain));
    else if (key.startsWith(PACK_PREFIX)) this.#takePack(key, plain, isSealed);
    else if (key.startsWith(DEAD_PREFIX)) this.#takeDead(key);
    else throw new Error('another format');
  }

  /** Undefined if records are missing. */
  finish(): SavedState | undefined {
    if (this.#meta?.filling !== undefined) this.#dropPacks();
    const packs = [...this.#packs.values()];
    for (const { pack, held } of packs) {
      for (const [at, stored] of held.entries()) if (!pack.dead.has(at)) this.#objects.push(stored);
    }
    const meta = this.#meta;
    if (!this.#isComplete()) return undefined;
    for (const name of meta?.filling ?? []) this.#dropDocument(name);
    // Git history has the catalog data of that format, too.
    const old =
      meta?.format === FIRST_FORMAT ? [...this.#documents.keys()].filter(isOfCatalog) : [];
    for (const name of old) this.#dropDocument(name);
    return {
      meta,
      objects: this.#objects,
      packs: packs.map(({ pack }) => pack),
      documents: this.#documents,
      events: this.#events,
      repairs: this.#repairs,
    };
  }

  #isComplete(): boolean {
    const { filling, objects = 0, notes = 0 } = this.#meta ?? {};
    if (filling !== undefined) return true;
    return objects === this.#objects.length && notes === this.#documents.size;
  }

  #takeObject(plain: Buffer, isSealed: boolean): void {
    const first = this.#meta?.format === FIRST_FORMAT;
    const stored = first ? decodeFirstFormat(plain) : looseObject(plain);
    this.#objects.push(stored);
    const exposed = this.#codec.isSecret(stored.key) && !isSealed;
    if (first || exposed) this.#repairs.push(objectWrite(this.#codec, stored));
  }

  #takePack(key: string, plain: Buffer, isSealed: boolean): void {
    const { pack, keys } = Pack.read(key, plain);
    this.#packs.set(key, { pack, held: handlesIn(pack, keys) });
    if (isSealed || !keys.some((each) => this.#codec.isSecret(each))) return;
    this.#repairs.push({ key, value: this.#codec.encode(key, plain, true) });
  }

  #takeDead(key: string): void {
    const { pack, at } = readDeadKey(key);
    const found = this.#packs.get(pack);
    if (found === undefined || !(at >= 0 && at < found.pack.size)) throw new Error('no such pack');
    found.pack.dead.add(at);
  }

  /** Incomplete first contents are built again as a whole. */
  #dropPacks(): void {
    for (const { pack } of this.#packs.values()) {
      this.#repairs.push({ key: pack.name, value: undefined });
      for (const at of pack.dead)
        this.#repairs.push({ key: deadKey(pack.name, at), value: undefined });
    }
    this.#packs.clear();
  }

  #dropDocument(name: string): void {
    if (this.#documents.delete(name))
      this.#repairs.push(documentWrite(this.#codec, name, undefined));
  }
}

/** The pack and the position in such a key. */
function readDeadKey(key: string): { pack: string; at: number } {
  const [number = '', at = ''] = key.slice(DEAD_PREFIX.length).split('/');
  return { pack: PACK_PREFIX + number, at: Number(at) };
}

/** Version 1 of the format: one record per object, `{key, hidden}` on the first line. */
function decodeFirstFormat(record: Buffer): ObjectHandle {
  const end = record.indexOf('\n');
  const head: { key: ObjectKey; hidden?: JsonObject } = JSON.parse(record.toString('utf8', 0, end));
  const object: KubeObject = JSON.parse(record.toString('utf8', end + 1));
  return new ObjectHandle(head.key, new OwnVersion(object, { hidden: head.hidden }), 0);
}

/** The catalog of the first format had one document per object and per file. */
function isOfCatalog(name: string): boolean {
  return name.startsWith('object:') || name.startsWith('file:');
}

/**
 * The object of a record that holds one, as a loose object. `known`: its key, if the caller has it.
 */
export function looseObject(record: Buffer, known?: ObjectKey): ObjectHandle {
  const { pack, keys } = Pack.read(OBJECT_PREFIX, record);
  const only = known ?? keys[0];
  if (only === undefined || keys.length !== 1) throw new Error('not one object');
  const { hidden } = new ObjectHandle(only, pack, 0);
  const container = new OwnVersion(pack.object(0), { hidden, provenance: pack.provenance(0) });
  return new ObjectHandle(only, container, 0);
}

function decoded(
  engine: Pick<StateEngine, 'place'>,
  codec: RecordCodec,
  [key, bytes]: readonly [string, Buffer],
): Buffer {
  try {
    return codec.decode(key, bytes);
  } catch (error) {
    throw unreadableState(
      engine.place,
      'it was sealed with another state key (restore that key) or is damaged',
      error,
    );
  }
}

export function decodeMeta(plain: Buffer): Meta & { format: number } {
  const meta: Meta & { format: number } = JSON.parse(plain.toString());
  if (meta.format !== FORMAT && meta.format !== FIRST_FORMAT) throw new Error('another format');
  return meta;
}

/** Always sealed, so that a wrong key is noticed in every case. */
export function metaWrite(codec: RecordCodec, meta: Meta): EngineWrite {
  const value = (): Buffer =>
    codec.encode(META_KEY, JSON.stringify({ format: FORMAT, ...meta }), true);
  return { key: META_KEY, value };
}

export function objectWrite(codec: RecordCodec, stored: ObjectHandle): EngineWrite {
  const key = objectRecordKey(stored.key);
  const value = (): Buffer => codec.encode(key, encodeObject(stored), codec.isSecret(stored.key));
  return { key, value };
}

/** Always sealed: documents do not declare secret fields. */
export function documentWrite(
  codec: RecordCodec,
  name: string,
  text: string | undefined,
): EngineWrite {
  const key = documentRecordKey(name);
  if (text === undefined) return { key, value: undefined };
  return { key, value: () => codec.encode(key, encodeDocument(name, text), true) };
}
