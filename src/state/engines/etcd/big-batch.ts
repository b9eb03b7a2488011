/**
 * A batch that is too large for one etcd transaction. Its parts are written first. One transaction
 * then makes the whole batch valid, and readers count it as applied. After that it is copied to its
 * record keys in portions, and the parts are removed. Nothing else is written before that is done,
 * so there is never more than one.
 */
import type { Etcd } from '../../../etcd/index.ts';
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

const LF = 0x0a;

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
