/** Records of the repository log in etcd: a head, and its objects in sealed parts. */
import { EtcdError, type Operation } from '../etcd/index.ts';
import type { RecordCodec } from '../state/index.ts';
import { type Keys, sequenceKey } from './keys.ts';

/** A branch update, with all objects that it adds. */
export interface Move {
  readonly from: string | undefined;
  readonly to: string;
  readonly pack: Buffer;
  /** Index of the pack; undefined: the receiver builds it. */
  readonly index: Buffer | undefined;
}

/** The value of `git/head`. */
export interface BranchHead {
  readonly commit: string;
  /** Sequence of the record that moved the branch there. */
  readonly sequence: number;
  /**
   * Total bytes of all records ever written: the difference of two heads is the size between them.
   */
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
  /** As in the head that the record produced. */
  readonly bytes: number;
}

/** Three parts fit into a transaction of the default size. */
const PART_BYTES = 512 * 1024;

export interface RecordContext {
  readonly keys: Keys;
  readonly codec: Pick<RecordCodec, 'encode' | 'decode'>;
}

/** The operations of a move, in order; `last` makes it valid. */
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

function partKey(below: string, sequence: number, part: number): string {
  return `${sequenceKey(below, sequence)}/${String(part).padStart(4, '0')}`;
}

export function readHead(value: Buffer): BranchHead {
  return JSON.parse(value.toString());
}

export function readRecord(kv: { readonly key: string; readonly value: Buffer }): LogRecord {
  const sequence = Number(kv.key.slice(kv.key.lastIndexOf('/') + 1));
  const record: Omit<LogRecord, 'sequence'> = JSON.parse(kv.value.toString());
  return { ...record, sequence };
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
    throw new EtcdError(`Record ${sequence} of the repository log is incomplete`);
  }
  const index = indexBytes === 0 ? undefined : content.subarray(packBytes);
  return { from, to, pack: content.subarray(0, packBytes), index };
}

/** Associated data of a sealed part: independent of the prefix. */
function nameOf(sequence: number, part: number): string {
  return `git/packs/${sequence}/${part}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
