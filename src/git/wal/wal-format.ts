/**
 * The file format of a WAL segment: a sequence of records, each at the start of a block:
 *
 *   magic, CRC-32 of the rest, epoch, sequence, kind, length: six big-endian numbers of 32 bits;
 *   the payload; zeros to the end of the block.
 *
 * The first record is the head. A record is valid if its checksum is right, its epoch is that of the
 * head, and its sequence is the next one. The first invalid record ends the segment: a write that a
 * power failure cut off, or a record of an earlier use of the file. Since each record starts a block
 * of its own, a later write cannot damage it.
 */
import { crc32 } from 'node:zlib';
import { GitError } from '../git-error.ts';
import { decodePublication, encodeHead } from '../publication/publication-message.ts';
import type { Publication } from '../publication/publisher.ts';

export interface WalHead {
  /** Full name of the branch. */
  readonly ref: string;
  /** Process that writes the WAL, see `files/owner.ts`. */
  readonly owner: string;
}

export interface WalContent extends WalHead {
  /** The segment with the larger epoch is newer. */
  readonly epoch: number;
  /**
   * In the order of publication, without canceled ones. The base of a tree may be in the repository or
   * in an earlier publication.
   */
  readonly publications: readonly Publication[];
}

type RecordKind = 'head' | 'publication' | 'canceled' | 'thin publication' | 'unknown';

interface LogRecord {
  readonly kind: RecordKind;
  readonly epoch: number;
  readonly sequence: number;
  readonly payload: Buffer;
}

const MAGIC = 0x47504c31;
const BLOCK = 4096;
const FIXED = 24;
/**
 * A thin publication has deltas against trees that the repository or an earlier record has. A kind of
 * its own, so that a version that does not know it refuses to start.
 */
const KINDS: readonly RecordKind[] = ['head', 'publication', 'canceled', 'thin publication'];

/** Parts of the payload of a record. */
type Payload = readonly Buffer[];

interface NewRecord extends Omit<LogRecord, 'payload'> {
  readonly payload: Payload;
}

export function encodeRecord({ kind, epoch, sequence, payload }: NewRecord): Buffer {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  const used = FIXED + length;
  const record = Buffer.allocUnsafe(Math.ceil(used / BLOCK) * BLOCK);
  record.writeUInt32BE(MAGIC, 0);
  record.writeUInt32BE(epoch, 8);
  record.writeUInt32BE(sequence, 12);
  record.writeUInt32BE(KINDS.indexOf(kind), 16);
  record.writeUInt32BE(length, 20);
  let at = FIXED;
  for (const part of payload) at += part.copy(record, at);
  record.fill(0, used);
  record.writeUInt32BE(crc32(record.subarray(8, used)), 4);
  return record;
}

export function headPayload(head: WalHead): Payload {
  return [Buffer.from(JSON.stringify(head))];
}

/** Payload that cancels the publication with this sequence number. */
export function cancellationPayload(sequence: number): Payload {
  return [Buffer.from(JSON.stringify(sequence))];
}

export function publicationKind({ objects }: Publication): RecordKind {
  return objects.some(({ thin }) => thin !== undefined) ? 'thin publication' : 'publication';
}

/** Length of the JSON head, the JSON head, then the bytes of all objects. */
export function publicationPayload({ parent, tip, objects: all }: Publication): Payload {
  const objects = all.map(({ thin, ...object }) =>
    thin === undefined ? object : { ...object, base: thin.base, data: thin.delta },
  );
  const head = Buffer.from(encodeHead({ parent, tip, objects }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return [length, head, ...objects.map(({ data }) => data)];
}

/**
 * Returns undefined if the file has no WAL head. Throws a GitError for a record that is valid but not
 * understood: it may hold acknowledged commits, so that it must not be skipped.
 */
export function decodeWal(bytes: Buffer): WalContent | undefined {
  try {
    return readLog(bytes);
  } catch (cause) {
    throw new GitError('The WAL has a record that this version of gitplane cannot read', {
      remedy: 'Start the version that wrote it once, and stop it',
      cause,
    });
  }
}

function readLog(bytes: Buffer): WalContent | undefined {
  const records = readRecords(bytes);
  const first = records.next().value;
  if (first?.kind !== 'head') return undefined;
  const publications = new Map<number, Publication>();
  for (const { kind, sequence, payload } of records) {
    if (kind === 'publication' || kind === 'thin publication')
      publications.set(sequence, readPublication(payload));
    else if (kind === 'canceled') publications.delete(JSON.parse(payload.toString()));
  }
  const { ref, owner }: WalHead = JSON.parse(first.payload.toString());
  return { ref, owner, epoch: first.epoch, publications: [...publications.values()] };
}

function* readRecords(bytes: Buffer): Generator<LogRecord, undefined> {
  let epoch: number | undefined;
  for (let at = 0, sequence = 0; ; sequence++) {
    const record = readRecord(bytes.subarray(at));
    if (record === undefined || record.sequence !== sequence) return;
    epoch ??= record.epoch;
    if (record.epoch !== epoch) return;
    if (record.kind === 'unknown') throw new Error(`Record ${sequence} is of an unknown kind`);
    yield record;
    at += Math.ceil((FIXED + record.payload.length) / BLOCK) * BLOCK;
  }
}

function readRecord(bytes: Buffer): LogRecord | undefined {
  if (bytes.length < FIXED || bytes.readUInt32BE(0) !== MAGIC) return undefined;
  const end = FIXED + bytes.readUInt32BE(20);
  if (end > bytes.length || crc32(bytes.subarray(8, end)) !== bytes.readUInt32BE(4)) {
    return undefined;
  }
  return {
    kind: KINDS[bytes.readUInt32BE(16)] ?? 'unknown',
    epoch: bytes.readUInt32BE(8),
    sequence: bytes.readUInt32BE(12),
    payload: bytes.subarray(FIXED, end),
  };
}

function readPublication(payload: Buffer): Publication {
  const start = 4 + payload.readUInt32BE(0);
  const head = payload.toString('utf8', 4, start);
  return decodePublication({ head, bytes: payload.subarray(start) });
}
