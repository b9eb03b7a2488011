/**
 * Pack files and their indexes, version 2 (gitformat-pack). A pack is made in memory: it holds one
 * group of commits.
 */
import { hash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import { GitError } from './git-error.ts';
import type { ObjectType } from './object-id.ts';

/** An object as it goes into a pack. */
export interface PackObject {
  readonly id: string;
  readonly type: ObjectType;
  /** The content, or a delta against `base`. */
  readonly data: Buffer;
  /** An object of the same pack, before this one. */
  readonly base: string | undefined;
}

export interface Pack {
  /** SHA-1 of the pack, which names it. */
  readonly checksum: string;
  readonly pack: Buffer;
  readonly index: Buffer;
}

interface Placed {
  readonly id: string;
  readonly offset: number;
  readonly crc: number;
}

const typeNumbers: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3 };
const OFS_DELTA = 6;
const CHECKSUM_BYTES = 20;
/** Offsets with the top bit set mean something else in an index. */
const MAX_PACK_BYTES = 0x7fffffff;
/** Below this, starting a compressor costs more than it saves: most commits are smaller. */
const MIN_DEFLATE_BYTES = 400;
const COMPRESSION_LEVEL = 3;
/** A compressor for a window of 4 KiB starts three times as fast, and smaller data need no other. */
const SMALL_BYTES = 4096;
const SMALL_COMPRESSOR = { level: COMPRESSION_LEVEL, windowBits: 12, memLevel: 5, chunkSize: 4096 };
/** The length of a stored block has 16 bits. */
const MAX_STORED_BYTES = 0xffff;

/** `stored`: nothing is compressed, for a pack that is not kept. */
export type Packing = 'deflated' | 'stored';

export function buildPack(objects: readonly PackObject[], packing: Packing = 'deflated'): Pack {
  const parts: Buffer[] = [];
  const offsets = new Map<string, number>();
  const placed: Placed[] = [];
  let length = 0;
  function append(part: Buffer): void {
    parts.push(part);
    length += part.length;
  }
  append(packHeader(objects.length));
  for (const object of objects) {
    const offset = length;
    const entry = encodeEntry(object, { offset, offsets, packing });
    offsets.set(object.id, offset);
    placed.push({ id: object.id, offset, crc: crc32(entry) });
    append(entry);
    if (length > MAX_PACK_BYTES) {
      throw new GitError(`Commits of more than ${MAX_PACK_BYTES} bytes`, {
        remedy: 'Write them in parts',
      });
    }
  }
  const pack = Buffer.allocUnsafe(length + CHECKSUM_BYTES);
  const end = place(pack, parts);
  const checksum = sha1(pack.subarray(0, end));
  checksum.copy(pack, end);
  return { checksum: checksum.toString('hex'), pack, index: buildIndex(placed, checksum) };
}

/** Returns where the last one ends. */
function place(to: Buffer, parts: readonly Buffer[]): number {
  let at = 0;
  for (const part of parts) at += part.copy(to, at);
  return at;
}

/** All at once: an object that hashes piece by piece takes longer to make than a small pack. */
function sha1(bytes: Buffer): Buffer {
  return hash('sha1', bytes, 'buffer');
}

function packHeader(count: number): Buffer {
  const header = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  header.writeUInt32BE(count, 8);
  return header;
}

interface EntryPlace {
  readonly offset: number;
  /** Of the entries before it. */
  readonly offsets: ReadonlyMap<string, number>;
  readonly packing: Packing;
}

function encodeEntry(object: PackObject, { offset, offsets, packing }: EntryPlace): Buffer {
  // Trees are ids for the most part, which do not compress; maintenance makes deltas of them.
  const isStored = packing === 'stored' || object.type === 'tree';
  const body = isStored ? storedStream(object.data) : deflate(object.data);
  if (object.base === undefined) {
    return Buffer.concat([entryHeader(typeNumbers[object.type], object.data.length), body]);
  }
  const base = offsets.get(object.base);
  if (base === undefined) throw new GitError(`The base of ${object.id} does not come before it`);
  const header = entryHeader(OFS_DELTA, object.data.length);
  return Buffer.concat([header, encodeDistance(offset - base), body]);
}

function entryHeader(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 0x0f)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest & 0x7f);
  }
  return Buffer.from(bytes);
}

/** Big end first, seven bits a byte, one subtracted before each further byte. */
function encodeDistance(distance: number): Buffer {
  const bytes = [distance & 0x7f];
  for (let rest = distance >>> 7; rest > 0; rest >>>= 7) {
    rest -= 1;
    bytes.unshift((rest & 0x7f) | 0x80);
  }
  return Buffer.from(bytes);
}

function deflate(data: Buffer): Buffer {
  if (data.length < MIN_DEFLATE_BYTES) return storedStream(data);
  const small = data.length <= SMALL_BYTES;
  return deflateSync(data, small ? SMALL_COMPRESSOR : { level: COMPRESSION_LEVEL });
}

/** A zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4). */
function storedStream(data: Buffer): Buffer {
  const blocks = Math.max(1, Math.ceil(data.length / MAX_STORED_BYTES));
  const stream = Buffer.allocUnsafe(2 + blocks * 5 + data.length + 4);
  let at = stream.writeUInt16BE(0x7801, 0);
  for (let block = 0; block < blocks; block++) {
    const start = block * MAX_STORED_BYTES;
    const end = Math.min(start + MAX_STORED_BYTES, data.length);
    at = stream.writeUInt8(block === blocks - 1 ? 1 : 0, at);
    at = stream.writeUInt16LE(end - start, at);
    at = stream.writeUInt16LE(~(end - start) & 0xffff, at);
    at += data.copy(stream, at, start, end);
  }
  stream.writeUInt32BE(adler32(data), at);
  return stream;
}

/** So many bytes can be summed before the sums must be reduced to stay exact in 32 bits. */
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
