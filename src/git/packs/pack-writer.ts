/**
 * Writer of pack files and their indexes, version 2 (gitformat-pack). A pack is built in memory: it
 * holds one batch of commits.
 */
import { hash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import { GitError } from '../git-error.ts';
import type { StoredDelta } from '../objects/delta-chains.ts';
import type { ObjectType } from '../objects/object-id.ts';

/** An object as it goes into a pack. */
export interface PackObject {
  readonly id: string;
  readonly type: ObjectType;
  /** The content, or a delta against `base`. */
  readonly data: Buffer;
  /** Id of an object that comes before this one in the same pack. */
  readonly base: string | undefined;
  /** The content as a delta against an object outside the pack, for a reader that has that object. */
  readonly thin?: StoredDelta | undefined;
}

export interface Pack {
  /** SHA-1 of the pack, part of its file name. */
  readonly checksum: string;
  readonly pack: Buffer;
  readonly index: Buffer;
  /** All entries, those of the continued pack included, and their bytes. */
  readonly placed: readonly Placed[];
  readonly size: number;
}

/** The objects of a pack, to which those of a longer pack can be added. */
export interface PackEntries {
  readonly bytes: Buffer;
  readonly placed: readonly Placed[];
}

/** Place of an object in a pack. */
interface Placed {
  readonly id: string;
  readonly offset: number;
  readonly crc: number;
}

const typeNumbers: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3 };
const OFS_DELTA = 6;
const CHECKSUM_BYTES = 20;
const PACK_HEADER_BYTES = 12;
/** Type, size, and the distance to the base. */
const MAX_ENTRY_HEADER_BYTES = 16;
/** Header, checksum and block headers of a zlib stream, beside an eighth of its content. */
const ZLIB_BYTES = 128;
/** In an index, offsets with the top bit set have another meaning. */
const MAX_PACK_BYTES = 0x7fffffff;
/** Below this size, starting a compressor costs more than it saves. Most commits are smaller. */
const MIN_DEFLATE_BYTES = 400;
const COMPRESSION_LEVEL = 3;
/** A compressor with a window of 4 KiB starts three times as fast, and is enough for small data. */
const SMALL_BYTES = 4096;
const SMALL_COMPRESSOR = { level: COMPRESSION_LEVEL, windowBits: 12, memLevel: 5, chunkSize: 4096 };
/** The length of a stored block has 16 bits (RFC 1951, 3.2.4). */
const MAX_STORED_BYTES = 0xffff;
/** From this size on, zlib stores data faster than `writeStored`. */
const MIN_ZLIB_STORED_BYTES = 64 * 1024;

/** `stored`: no compression, for short-lived packs. */
export type Packing = 'deflated' | 'stored';

const NO_ENTRIES: PackEntries = { bytes: Buffer.alloc(0), placed: [] };

/** A pack of `objects`, after the objects of `before`. No object may be in both. */
export function buildPack(
  objects: readonly PackObject[],
  packing: Packing = 'deflated',
  before: PackEntries = NO_ENTRIES,
): Pack {
  const placed = [...before.placed];
  const offsets = new Map(placed.map(({ id, offset }) => [id, offset]));
  // One buffer, slightly too large: further allocations would cost more than the unused bytes.
  const bytes = Buffer.allocUnsafe(maxPackBytes(objects) + before.bytes.length);
  bytes.write('PACK\0\0\0\x02', 'latin1');
  let at = bytes.writeUInt32BE(placed.length + objects.length, 8);
  at += before.bytes.copy(bytes, at);
  for (const object of objects) {
    const offset = at;
    at = writeEntry(bytes, object, { offset, offsets, packing });
    offsets.set(object.id, offset);
    placed.push({ id: object.id, offset, crc: crc32(bytes.subarray(offset, at)) });
  }
  const size = at - PACK_HEADER_BYTES;
  const checksum = sha1(bytes.subarray(0, at));
  at += checksum.copy(bytes, at);
  const pack = bytes.subarray(0, at);
  return {
    checksum: checksum.toString('hex'),
    pack,
    index: buildIndex(placed, checksum),
    placed,
    size,
  };
}

/** The entries of a pack file. Undefined: its bytes do not have this checksum. */
export function entriesOf(pack: Buffer, checksum: string): Buffer | undefined {
  const end = pack.length - CHECKSUM_BYTES;
  if (end < PACK_HEADER_BYTES) return undefined;
  const found = sha1(pack.subarray(0, end)).toString('hex');
  const isIntact = found === checksum && pack.toString('hex', end) === checksum;
  return isIntact ? pack.subarray(PACK_HEADER_BYTES, end) : undefined;
}

/** Compressed data may be slightly longer than its input. Throws a GitError above the pack limit. */
function maxPackBytes(objects: readonly PackObject[]): number {
  let most = PACK_HEADER_BYTES + CHECKSUM_BYTES;
  for (const { data } of objects) {
    most += MAX_ENTRY_HEADER_BYTES + data.length + Math.ceil(data.length / 8) + ZLIB_BYTES;
  }
  if (most <= MAX_PACK_BYTES) return most;
  throw new GitError(`The commits have more than ${MAX_PACK_BYTES} bytes together`, {
    remedy: 'Split them into several writes',
  });
}

/** One-shot hash: a streaming hash object takes longer to create than a small pack to hash. */
function sha1(bytes: Buffer): Buffer {
  return hash('sha1', bytes, 'buffer');
}

interface EntryTarget {
  readonly offset: number;
  /** Offsets of the earlier entries by id. */
  readonly offsets: ReadonlyMap<string, number>;
  readonly packing: Packing;
}

/** Returns the offset of the next byte, as all writers in this file do. */
function writeEntry(to: Buffer, object: PackObject, target: EntryTarget): number {
  const { offset, offsets, packing } = target;
  const { type, data } = object;
  let at = offset;
  if (object.base === undefined) at = writeEntryHeader(to, at, [typeNumbers[type], data.length]);
  else {
    const base = offsets.get(object.base);
    if (base === undefined) throw new GitError(`The base of ${object.id} must come before it`);
    at = writeEntryHeader(to, at, [OFS_DELTA, data.length]);
    at = writeDistance(to, at, offset - base);
  }
  // Trees are mostly ids, which do not compress. Maintenance turns them into deltas.
  const isStored = packing === 'stored' || type === 'tree' || data.length < MIN_DEFLATE_BYTES;
  if (!isStored) return at + deflate(data).copy(to, at);
  if (data.length < MIN_ZLIB_STORED_BYTES) return writeStored(to, at, data);
  return at + deflateSync(data, { level: 0 }).copy(to, at);
}

function writeEntryHeader(to: Buffer, start: number, [type, size]: [number, number]): number {
  let at = start;
  let byte = (type << 4) | (size & 0x0f);
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    to[at++] = byte | 0x80;
    byte = rest & 0x7f;
  }
  to[at++] = byte;
  return at;
}

/** Encodes big-endian, seven bits per byte, with one subtracted before each further byte. */
function writeDistance(to: Buffer, start: number, distance: number): number {
  const bytes = [distance & 0x7f];
  for (let rest = distance >>> 7; rest > 0; rest >>>= 7) {
    rest -= 1;
    bytes.unshift((rest & 0x7f) | 0x80);
  }
  let at = start;
  for (const byte of bytes) to[at++] = byte;
  return at;
}

function deflate(data: Buffer): Buffer {
  const small = data.length <= SMALL_BYTES;
  return deflateSync(data, small ? SMALL_COMPRESSOR : { level: COMPRESSION_LEVEL });
}

/** A zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4). */
function writeStored(to: Buffer, start: number, data: Buffer): number {
  const blocks = Math.max(1, Math.ceil(data.length / MAX_STORED_BYTES));
  let at = to.writeUInt16BE(0x7801, start);
  for (let block = 0; block < blocks; block++) {
    const from = block * MAX_STORED_BYTES;
    const end = Math.min(from + MAX_STORED_BYTES, data.length);
    at = to.writeUInt8(block === blocks - 1 ? 1 : 0, at);
    at = to.writeUInt16LE(end - from, at);
    at = to.writeUInt16LE(~(end - from) & 0xffff, at);
    at += data.copy(to, at, from, end);
  }
  return to.writeUInt32BE(adler32(data), at);
}

/** Number of bytes before the sums must be reduced to stay exact in 32 bits. */
const ADLER_BLOCK = 5552;
const ADLER_MODULUS = 65521;

/** The checksum of RFC 1950, section 8.2. */
function adler32(data: Buffer): number {
  let a = 1;
  let b = 0;
  for (let start = 0; start < data.length; start += ADLER_BLOCK) {
    const end = Math.min(start + ADLER_BLOCK, data.length);
    for (let i = start; i < end; i++) {
      a += data[i] as number;
      b += a;
    }
    a %= ADLER_MODULUS;
    b %= ADLER_MODULUS;
  }
  return b * 65536 + a;
}

function buildIndex(placed: readonly Placed[], packChecksum: Buffer): Buffer {
  const sorted = placed.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const index = Buffer.alloc(8 + 256 * 4 + sorted.length * 28 + 40);
  index.writeUInt32BE(0xff744f63, 0);
  index.writeUInt32BE(2, 4);
  const ids = 8 + 256 * 4;
  const crcs = ids + sorted.length * 20;
  const offsets = crcs + sorted.length * 4;
  const counts = new Uint32Array(256);
  sorted.forEach(({ id, offset, crc }, i) => {
    index.write(id, ids + i * 20, 'hex');
    index.writeUInt32BE(crc, crcs + i * 4);
    index.writeUInt32BE(offset, offsets + i * 4);
    const first = index[ids + i * 20] ?? 0;
    counts[first] = (counts[first] ?? 0) + 1;
  });
  let total = 0;
  counts.forEach((count, byte) => {
    total += count;
    index.writeUInt32BE(total, 8 + byte * 4);
  });
  const trailer = offsets + sorted.length * 4;
  packChecksum.copy(index, trailer);
  sha1(index.subarray(0, trailer + CHECKSUM_BYTES)).copy(index, trailer + CHECKSUM_BYTES);
  return index;
}
