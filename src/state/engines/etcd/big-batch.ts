/**
 * A batch that is too large for one etcd transaction. Its parts are written first. One transaction
 * then makes the whole batch valid, and readers count it as applied. After that it is copied to its
 * record keys in portions, and the parts are removed. Nothing else is written before that is done,
 * so there is never more than one.
 */
import type { Etcd, Operation } from '../../../etcd/index.ts';
import { partsOf } from './chunked-value.ts';
import type { Layout } from './layout.ts';

/** Bytes of records; undefined: removed. */
export type StoredWrites = ReadonlyMap<string, Buffer | undefined>;

export interface BigBatch {
  readonly id: string;
  readonly parts: number;
  /** Number of copied writes; 0: it has just become valid. */
  readonly copied: number;
}

/** The default limits of etcd for one transaction, less what a step adds. */
export const MAX_OPERATIONS = 120;
export const MAX_BYTES = 1024 * 1024;
/**
 * Size limit of a last record that is written with the commit, so that a reader of that record sees
 * the batch.
 */
const PIVOT_BYTES = 64 * 1024;

export function bytesOf(operation: Operation): number {
  if ('put' in operation) return operation.put.length + operation.value.length + 16;
  return 'remove' in operation ? operation.remove.length + 16 : 0;
}

/** As few groups as the limits allow, in order. A single operation always fits. */
export function inPortions(operations: readonly Operation[]): Operation[][] {
  const portions: Operation[][] = [];
  let portion: Operation[] = [];
  let bytes = 0;
  for (const operation of operations) {
    const size = bytesOf(operation);
    if (portion.length >= MAX_OPERATIONS || (portion.length > 0 && bytes + size > MAX_BYTES)) {
      portions.push(portion);
      portion = [];
      bytes = 0;
    }
    portion.push(operation);
    bytes += size;
  }
  if (portion.length > 0) portions.push(portion);
  return portions;
}

export function recordOperations(layout: Layout, writes: StoredWrites): Operation[] {
  return [...writes].map(([key, value]) =>
    value === undefined ? { remove: layout.record(key) } : { put: layout.record(key), value },
  );
}

/** The transactions of the batch, in order. */
export function bigBatchSteps(layout: Layout, id: string, writes: StoredWrites): Operation[][] {
  const parts = partsOf(encodeWrites(writes));
  const puts = parts.map((value, part) => ({ put: layout.bigPart(id, part), value }));
  const batch = { id, parts: parts.length, copied: 0 };
  const commit: Operation[] = [{ put: layout.big, value: encodeBig(batch) }];
  const last = recordOperations(layout, writes).at(-1);
  if (last !== undefined && bytesOf(last) <= PIVOT_BYTES) commit.push(last);
  return [...inPortions(puts), commit, ...copySteps(layout, batch, writes)];
}

/** The remaining steps after the batch is valid; safe to repeat from the beginning. */
export function copySteps(layout: Layout, batch: BigBatch, writes: StoredWrites): Operation[][] {
  let copied = 0;
  const copies = inPortions(recordOperations(layout, writes)).map((portion): Operation[] => {
    copied += portion.length;
    return [...portion, { put: layout.big, value: encodeBig({ ...batch, copied }) }];
  });
  const end: Operation[] = [
    { remove: layout.big },
    { remove: layout.bigPartsOf(batch.id), prefix: true },
  ];
  return [...copies, end];
}

/** The writes of the batch, as of a revision. */
export async function readBigBatch(
  etcd: Etcd,
  layout: Layout,
  of: { batch: BigBatch; revision: bigint },
): Promise<StoredWrites> {
  const { batch, revision } = of;
  const parts: Buffer[] = [];
  const scan = etcd.scan({ key: layout.bigPartsOf(batch.id), prefix: true, revision });
  for await (const { value } of scan) parts.push(value);
  if (parts.length !== batch.parts) throw new Error('parts of a batch are missing');
  return decodeWrites(Buffer.concat(parts));
}

export function decodeBig(value: Buffer): BigBatch {
  return JSON.parse(value.toString());
}

function encodeBig(batch: BigBatch): Buffer {
  return Buffer.from(JSON.stringify(batch));
}

const LF = 0x0a;

/** A line of JSON with keys and lengths, then the values. */
function encodeWrites(writes: StoredWrites): Buffer {
  const lines = [...writes].map(([key, value]) => [key, value?.length ?? null]);
  const values = [...writes.values()].filter((value) => value !== undefined);
  return Buffer.concat([Buffer.from(`${JSON.stringify(lines)}\n`), ...values]);
}

function decodeWrites(bytes: Buffer): StoredWrites {
  const end = bytes.indexOf(LF);
  const lines: [string, number | null][] = JSON.parse(bytes.toString('utf8', 0, end));
  let at = end + 1;
  return new Map(
    lines.map(([key, length]) => {
      if (length === null) return [key, undefined];
      at += length;
      return [key, bytes.subarray(at - length, at)];
    }),
  );
}
