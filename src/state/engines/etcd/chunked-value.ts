/**
 * Values that are too large for one etcd entry: their parts are separate entries, and the record
 * refers to them. Other values are stored unchanged, unless they look like such a reference.
 */
export const PART_BYTES = 512 * 1024;

const CHUNKED = 2;
const ESCAPE = 3;

export interface ChunkedValue {
  readonly id: string;
  readonly parts: number;
}

/** Record of a value that is small enough. */
export function wholeValue(value: Buffer): Buffer {
  const [first] = value;
  return first === CHUNKED || first === ESCAPE ? Buffer.concat([Buffer.of(ESCAPE), value]) : value;
}

/** Record of a chunked value. */
export function chunkReference(cut: ChunkedValue): Buffer {
  return Buffer.concat([Buffer.of(CHUNKED), Buffer.from(JSON.stringify([cut.id, cut.parts]))]);
}

/** The value of a record, or the reference in it. */
export function readValue(record: Buffer): Buffer | ChunkedValue {
  const [first] = record;
  if (first === ESCAPE) return record.subarray(1);
  if (first !== CHUNKED) return record;
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
