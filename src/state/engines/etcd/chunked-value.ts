/**
 * Values that are too large for one entry of etcd: their parts are entries of their own, and the
 * record says where. Other values are kept byte for byte, but for those that look like such a record.
 */
export const PART_BYTES = 512 * 1024;

const CUT = 2;
const ESCAPE = 3;

export interface ChunkedValue {
  readonly id: string;
  readonly parts: number;
}

/** What the record holds for a value that is small enough. */
export function wholeValue(value: Buffer): Buffer {
  const [first] = value;
  return first === CUT || first === ESCAPE ? Buffer.concat([Buffer.of(ESCAPE), value]) : value;
}

/** What the record holds for one that is not. */
export function chunkReference(cut: ChunkedValue): Buffer {
  return Buffer.concat([Buffer.of(CUT), Buffer.from(JSON.stringify([cut.id, cut.parts]))]);
}

/** What a record holds: the value, or where it is. */
export function readValue(record: Buffer): Buffer | ChunkedValue {
  const [first] = record;
  if (first === ESCAPE) return record.subarray(1);
  if (first !== CUT) return record;
  const [id, parts] = JSON.parse(record.toString('utf8', 1)) as [string, number];
  return { id, parts };
}

export function partsOf(value: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < value.length; at += PART_BYTES) {
    parts.push(value.subarray(at, at + PART_BYTES));
  }
  return parts;
}
