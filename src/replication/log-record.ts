/** What the log of the repository holds in etcd: a head a record, and its objects in sealed parts. */
import { EtcdError, type Operation } from '../etcd/index.ts';
import type { RecordCodec } from '../state/index.ts';
import { type Keys, partKey, sequenceKey } from './keys.ts';

/** A move of the branch, with every object that it brings. */
export interface Move {
  readonly from: string | undefined;
  readonly to: string;
  readonly pack: Buffer;
  /** Of the pack; undefined: whoever takes it makes one. */
  readonly index: Buffer | undefined;
}

/** The value of `git/head`. */
export interface BranchHead {
  readonly commit: string;
  /** Of the record that moved the branch there. */
  readonly sequence: number;
  /** What all records ever written took, in bytes: two of these tell what is between them. */
  readonly bytes: number;
}

/** The head of a record. */
export interface LogRecord {
  readonly from: string | undefined;
  readonly to: string;
  readonly sequence: number;
  readonly parts: number;
  readonly packBytes: number;
  readonly indexBytes: number;
  /** As in the head that it made. */
  readonly bytes: number;
}

/** Small enough for three of them in a transaction of the usual size. */
const PART_BYTES = 512 * 1024;
/** Refused beyond: etcd holds it until two replicas have it on their disks. */
export const MOST_MOVE_BYTES = 64 * 1024 * 1024;

export interface RecordContext {
  readonly keys: Keys;
  readonly codec: Pick<RecordCodec, 'encode' | 'decode'>;
}

/** The record of a move in the order in which it is put; what comes last makes it count. */
export function recordOf(
  { keys, codec }: RecordContext,
  after: BranchHead | undefined,
  move: Move,
): { readonly parts: Operation[]; readonly last: Operation[]; readonly head: BranchHead } {
  const { from, to, pack, index } = move;
  const sequence = (after?.sequence ?? 0) + 1;
  const content = index === undefined ? pack : Buffer.concat([pack, index]);
  const count = Math.ceil(content.length / PART_BYTES);
  const bytes = (after?.bytes ?? 0) + content.length;
  const parts = Array.from({ length: count }, (_, part) => {
    const plain = content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
    const value = codec.encode(nameOf(sequence, part), plain, true);
    return { put: partKey(keys.packs, sequence, part), value };
  });
  const record: Omit<LogRecord, 'sequence'> = {
    from,
    to,
    parts: count,
    packBytes: pack.length,
    indexBytes: index?.length ?? 0,
    bytes,
  };
  const head: BranchHead = { commit: to, sequence, bytes };
  const last = [
    ...parts.slice(-1),
    { put: sequenceKey(keys.log, sequence), value: json(record) },
    { put: keys.head, value: json(head) },
  ];
  return { parts: parts.slice(0, -1), last, head };
}

export function readHead(value: Buffer): BranchHead {
  return JSON.parse(value.toString()) as BranchHead;
}

export function readRecord(kv: { readonly key: string; readonly value: Buffer }): LogRecord {
  const sequence = Number(kv.key.slice(kv.key.lastIndexOf('/') + 1));
  return { ...(JSON.parse(kv.value.toString()) as Omit<LogRecord, 'sequence'>), sequence };
}

/** Throws when parts are missing, damaged, or sealed with another key. */
export function readMove(
  { codec }: Pick<RecordContext, 'codec'>,
  record: LogRecord,
  parts: readonly Buffer[],
): Move {
  const { from, to, sequence, packBytes, indexBytes } = record;
  const content = Buffer.concat(
    parts.map((bytes, part) => codec.decode(nameOf(sequence, part), bytes)),
  );
  if (content.length !== packBytes + indexBytes) {
    throw new EtcdError(`Record ${sequence} of the repository's log is not whole`);
  }
  const index = indexBytes === 0 ? undefined : content.subarray(packBytes);
  return { from, to, pack: content.subarray(0, packBytes), index };
}

/** What the seal of a part is tied to: the same below any prefix. */
function nameOf(sequence: number, part: number): string {
  return `git/packs/${sequence}/${part}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
