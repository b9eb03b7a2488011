/**
 * The packs of a store. A changed object leaves its pack for a record of its own. After many
 * changes objects are packed again in the background. So the start reads few large records, and a
 * change writes a small one.
 */

import type { EngineWrite } from '../engines/engine.ts';
import type { RecordCodec } from '../records/codec.ts';
import { DEAD_PREFIX, objectRecordKey, PACK_PREFIX, RecordWriter } from '../records/record.ts';
import { LazyObject } from './lazy-object.ts';
import type { ObjectHandle } from './object-handle.ts';
import { OwnVersion } from './own-version.ts';
import { Pack } from './pack.ts';

const PACK_BYTES = 64 * 1024;
const MAX_OBJECTS = 256;
const DIGITS = 10;
/** Any bytes that are not a sealed record. */
const MARK = Buffer.from('-');

/**
 * A pack under construction: objects are added one by one, and may change before it is finished.
 */
export class PackDraft {
  readonly writer = new RecordWriter();
  readonly chosen: ObjectHandle[] = [];
  #record: Buffer | undefined;

  get isFull(): boolean {
    return this.chosen.length >= MAX_OBJECTS || this.writer.bytes >= PACK_BYTES;
  }

  /** The plain record, after the last object was added. */
  get record(): Buffer {
    this.#record ??= this.writer.finish();
    return this.#record;
  }

  add(stored: ObjectHandle): void {
    this.writer.add(stored);
    this.chosen.push(stored);
  }
}

export class Packs {
  readonly #codec: RecordCodec;
  readonly #packs = new Set<Pack>();
  #next = 1;

  constructor(codec: RecordCodec, packs: Iterable<Pack>) {
    this.#codec = codec;
    for (const pack of packs) {
      this.#packs.add(pack);
      this.#next = Math.max(this.#next, Number(pack.name.slice(PACK_PREFIX.length)) + 1);
    }
  }

  [Symbol.iterator](): IterableIterator<Pack> {
    return this.#packs.values();
  }

  /**
   * Ends a draft: points the objects to the pack, and returns its engine writes. `bytes`: the record,
   * plain or compressed. `isDue`: false for an object that has changed since it was added.
   */
  finish(
    { chosen, record }: PackDraft,
    bytes: Buffer,
    isDue: (stored: ObjectHandle) => boolean,
  ): EngineWrite[] {
    const due = chosen.map(isDue);
    if (!due.includes(true)) return [];
    const name = PACK_PREFIX + String(this.#next++).padStart(DIGITS, '0');
    const { pack } = Pack.read(name, record);
    pack.release();
    this.#packs.add(pack);
    const secret = chosen.some(({ key }) => this.#codec.isSecret(key));
    const writes: EngineWrite[] = [{ key: name, value: this.#codec.encode(name, bytes, secret) }];
    for (const [at, stored] of chosen.entries()) {
      if (due[at] === true) for (const write of this.#moveIn(stored, pack, at)) writes.push(write);
      else {
        pack.dead.add(at);
        writes.push({ key: deadKey(name, at), value: MARK });
      }
    }
    return writes;
  }

  #moveIn(stored: ObjectHandle, pack: Pack, at: number): EngineWrite[] {
    const { container, at: before } = stored;
    const writes = this.vacate(stored);
    if (container instanceof OwnVersion) {
      writes.push({ key: objectRecordKey(stored.key), value: undefined });
    }
    stored.move(pack, at);
    if (container instanceof LazyObject) container.settled(before, stored);
    return writes;
  }

  /** Engine writes for an object that left its pack. */
  vacate({ container, at }: ObjectHandle): EngineWrite[] {
    if (!(container instanceof Pack)) return [];
    container.dead.add(at);
    if (container.live > 0) return [{ key: deadKey(container.name, at), value: MARK }];
    this.#packs.delete(container);
    const marks = [...container.dead].map((dead) => ({
      key: deadKey(container.name, dead),
      value: undefined,
    }));
    return [{ key: container.name, value: undefined }, ...marks];
  }
}

/** True if an object should move to a new pack: it is in none, or in one that is mostly dead. */
export function isLoose({ container }: ObjectHandle): boolean {
  if (container instanceof Pack) return container.dead.size * 2 > container.size;
  return true;
}

/** Key of the mark for an object of a pack that was replaced or removed. */
export function deadKey(pack: string, at: number): string {
  return `${DEAD_PREFIX}${pack.slice(PACK_PREFIX.length)}/${at}`;
}
