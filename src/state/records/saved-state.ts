/** What an engine holds of a store: reading all of it at the start, writing what changes. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import type { EngineWrite, StateEngine } from '../engines/engine.ts';
import { decodeEvents, EVENT_PREFIX, type SavedEvents } from '../journal/event-records.ts';
import type { PersistedVersions } from '../journal/versions.ts';
import { HeldObject } from '../objects/held-object.ts';
import { OwnVersion } from '../objects/own-version.ts';
import { heldIn, Pack } from '../objects/pack.ts';
import { deadKey, readDeadKey } from '../objects/packs.ts';
import type { RedoMark } from '../redo/redo-files.ts';
import { StateError, unreadableState } from '../state-error.ts';
import type { RecordCodec } from './codec.ts';
import { decodeFirstFormat } from './first-format.ts';
import {
  DEAD_PREFIX,
  decodeNote,
  encodeNote,
  encodeObject,
  NOTE_PREFIX,
  noteRecordKey,
  OBJECT_PREFIX,
  objectRecordKey,
  PACK_PREFIX,
} from './record.ts';

export const META_KEY = 'm/store';
/** Another state is being copied here: what is there counts for nothing until it is gone. */
export const MIGRATION_KEY = 'm/migration';
const FORMAT = 2;
const FIRST_FORMAT = 1;

/** Beside the versions: how much there must be, for an engine that loses records without a word. */
export interface Meta extends PersistedVersions {
  readonly objects: number;
  readonly notes: number;
  /** The first contents were not saved to the end: notes that count for nothing then. */
  readonly filling?: readonly string[] | undefined;
  /** The position in the redo log that the records are of. */
  readonly redo?: RedoMark | undefined;
}

export interface SavedState {
  readonly meta: Meta | undefined;
  readonly objects: readonly HeldObject[];
  readonly packs: readonly Pack[];
  /** As JSON. */
  readonly notes: ReadonlyMap<string, string>;
  /** The records of what happened, in order. */
  readonly events: readonly SavedEvents[];
  /** What has to be written before the state is used: sealing what has become secret, and the
   * step from an older format. */
  readonly mending: readonly EngineWrite[];
}

/** Where records can be read from. */
export type SavedRecords = Pick<StateEngine, 'place' | 'load'>;

/** Throws StateError, with the place and the remedy, unless all of it can be read. */
export async function readState(engine: SavedRecords, codec: RecordCodec): Promise<SavedState> {
  const reading = new Reading(codec);
  for await (const [key, bytes] of engine.load('')) {
    if (key === MIGRATION_KEY) throw halfMigrated(engine.place);
    const plain = decoded(engine, codec, [key, bytes]);
    try {
      reading.take(key, plain, codec.isSealed(bytes));
    } catch (error) {
      // The cause is left out: a parser quotes what it could not parse, and that may be a secret.
      throw unreadableState(engine.place, `a record makes no sense (${(error as Error).name})`);
    }
  }
  const state = reading.finish();
  if (state === undefined) throw unreadableState(engine.place, 'records are missing');
  return state;
}

function halfMigrated(place: string): StateError {
  return new StateError(
    `the state in ${place} is half of another one: a migration was broken off; run it again, or delete what is there: it is rebuilt from git`,
  );
}

class Reading {
  readonly #codec: RecordCodec;
  readonly #objects: HeldObject[] = [];
  readonly #packs = new Map<string, { pack: Pack; held: readonly HeldObject[] }>();
  readonly #notes = new Map<string, string>();
  readonly #mending: EngineWrite[] = [];
  readonly #events: SavedEvents[] = [];
  #meta: (Meta & { readonly format: number }) | undefined;

  constructor(codec: RecordCodec) {
    this.#codec = codec;
  }

  /** The keys come in order: what tells the format is the first of them. */
  take(key: string, plain: Buffer, isSealed: boolean): void {
    if (key === META_KEY) this.#meta = decodeMeta(plain);
    else if (key.startsWith(EVENT_PREFIX)) this.#takeEvents(key, plain);
    else if (key.startsWith(OBJECT_PREFIX)) this.#takeObject(plain, isSealed);
    else if (key.startsWith(NOTE_PREFIX)) this.#notes.set(...decodeNote(plain));
    else if (key.startsWith(PACK_PREFIX)) this.#takePack(key, plain, isSealed);
    else if (key.startsWith(DEAD_PREFIX)) this.#takeDead(key);
    else throw new Error('another format');
  }

  /** Undefined: not all of it is there. */
  finish(): SavedState | undefined {
    if (this.#meta?.filling !== undefined) this.#dropPacks();
    const packs = [...this.#packs.values()];
    for (const { pack, held } of packs) {
      for (const [at, stored] of held.entries()) if (!pack.dead.has(at)) this.#objects.push(stored);
    }
    const meta = this.#meta;
    if (!this.#isComplete()) return undefined;
    for (const name of meta?.filling ?? []) this.#dropNote(name);
    // What the catalog of that format says is in history, too.
    const old = meta?.format === FIRST_FORMAT ? [...this.#notes.keys()].filter(isOfCatalog) : [];
    for (const name of old) this.#dropNote(name);
    return {
      meta,
      objects: this.#objects,
      packs: packs.map(({ pack }) => pack),
      notes: this.#notes,
      events: this.#events,
      mending: this.#mending,
    };
  }

  #isComplete(): boolean {
    const { filling, objects = 0, notes = 0 } = this.#meta ?? {};
    if (filling !== undefined) return true;
    return objects === this.#objects.length && notes === this.#notes.size;
  }

  #takeObject(plain: Buffer, isSealed: boolean): void {
    const first = this.#meta?.format === FIRST_FORMAT;
    const stored = first ? decodeFirstFormat(plain) : onlyOneIn(plain);
    this.#objects.push(stored);
    const exposed = this.#codec.isSecret(stored.key) && !isSealed;
    if (first || exposed) this.#mending.push(objectWrite(this.#codec, stored));
  }

  #takeEvents(key: string, plain: Buffer): void {
    this.#events.push({ key, count: decodeEvents(plain).length });
  }

  #takePack(key: string, plain: Buffer, isSealed: boolean): void {
    const { pack, keys } = Pack.read(key, plain);
    this.#packs.set(key, { pack, held: heldIn(pack, keys) });
    if (isSealed || !keys.some((each) => this.#codec.isSecret(each))) return;
    this.#mending.push({ key, value: this.#codec.encode(key, plain, true) });
  }

  #takeDead(key: string): void {
    const { pack, at } = readDeadKey(key);
    const found = this.#packs.get(pack);
    if (found === undefined || !(at >= 0 && at < found.pack.size)) throw new Error('no such pack');
    found.pack.dead.add(at);
  }

  /** First contents of which some are missing are better made again as a whole. */
  #dropPacks(): void {
    for (const { pack } of this.#packs.values()) {
      this.#mending.push({ key: pack.name, value: undefined });
      for (const at of pack.dead)
        this.#mending.push({ key: deadKey(pack.name, at), value: undefined });
    }
    this.#packs.clear();
  }

  #dropNote(name: string): void {
    if (this.#notes.delete(name)) this.#mending.push(noteWrite(this.#codec, name, undefined));
  }
}

/** The catalog of the first format had a note an object and a note a file. */
function isOfCatalog(name: string): boolean {
  return name.startsWith('object:') || name.startsWith('file:');
}

/** The object of a record that holds one, as if it had just changed. `known`: its key, if it is at hand. */
export function onlyOneIn(record: Buffer, known?: ObjectKey): HeldObject {
  const { pack, keys } = Pack.read(OBJECT_PREFIX, record);
  const only = known ?? keys[0];
  if (only === undefined || keys.length !== 1) throw new Error('not one object');
  const { hidden } = new HeldObject(only, pack, 0);
  const home = new OwnVersion(pack.object(0), { hidden, remark: pack.remark(0) });
  return new HeldObject(only, home, 0);
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
      'it was sealed with another state key (put that one back) or is damaged',
      error,
    );
  }
}

export function decodeMeta(plain: Buffer): Meta & { format: number } {
  const meta = JSON.parse(plain.toString()) as Meta & { format: number };
  if (meta.format !== FORMAT && meta.format !== FIRST_FORMAT) throw new Error('another format');
  return meta;
}

/** Always sealed, so that a wrong key is noticed whatever else is there. */
export function metaWrite(codec: RecordCodec, meta: Meta): EngineWrite {
  const value = (): Buffer =>
    codec.encode(META_KEY, JSON.stringify({ format: FORMAT, ...meta }), true);
  return { key: META_KEY, value };
}

export function objectWrite(codec: RecordCodec, stored: HeldObject): EngineWrite {
  const key = objectRecordKey(stored.key);
  const value = (): Buffer => codec.encode(key, encodeObject(stored), codec.isSecret(stored.key));
  return { key, value };
}

/** Notes are always sealed: nobody declares what may be in them. */
export function noteWrite(codec: RecordCodec, name: string, text: string | undefined): EngineWrite {
  const key = noteRecordKey(name);
  if (text === undefined) return { key, value: undefined };
  return { key, value: () => codec.encode(key, encodeNote(name, text), true) };
}
