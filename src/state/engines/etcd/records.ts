/** The records of a store at an etcd revision, complete and in order. */
import type { Etcd } from '../../../etcd/index.ts';
import { compareBytes } from '../../objects/key-order.ts';
import type { EngineEntry } from '../engine.ts';
import { decodeBig, readBigBatch, type StoredWrites } from './big-batch.ts';
import { readValue } from './chunked-value.ts';
import type { Layout } from './layout.ts';

export interface EtcdRecords {
  readonly etcd: Etcd;
  readonly layout: Layout;
}

interface Snapshot {
  /** Prefix of the keys. */
  readonly prefix: string;
  readonly revision: bigint;
}

/** Throws CompactedRevisionError when etcd has compacted the revision. */
export async function* readRecords(place: EtcdRecords, at: Snapshot): AsyncGenerator<EngineEntry> {
  const copying = await readCopying(place, at.revision);
  const newer = [...(copying ?? [])]
    .filter(([key]) => key.startsWith(at.prefix))
    .sort(([a], [b]) => compareBytes(a, b));
  for await (const [key, record] of overlaid(stored(place, at), newer)) {
    yield [key, await resolved(place, record, at.revision)];
  }
}

/** The batch that is valid and not yet copied to its record keys. */
export async function readCopying(
  { etcd, layout }: EtcdRecords,
  revision: bigint,
): Promise<StoredWrites | undefined> {
  const [big] = (await etcd.range({ key: layout.big, revision })).kvs;
  if (big === undefined) return undefined;
  return await readBigBatch(etcd, layout, { batch: decodeBig(big.value), revision });
}

/** The value of a record, which may be chunked. */
export async function resolved(
  { etcd, layout }: EtcdRecords,
  record: Buffer,
  revision: bigint,
): Promise<Buffer> {
  const value = readValue(record);
  if (Buffer.isBuffer(value)) return value;
  const parts: Buffer[] = [];
  const scan = etcd.scan({ key: layout.valuePartsOf(value.id), prefix: true, revision });
  for await (const part of scan) parts.push(part.value);
  if (parts.length !== value.parts) throw new Error('parts of a value are missing');
  return Buffer.concat(parts);
}

async function* stored({ etcd, layout }: EtcdRecords, at: Snapshot): AsyncGenerator<EngineEntry> {
  for (const span of layout.spans(at.prefix)) {
    for await (const { key, value } of etcd.scan({ ...span, revision: at.revision })) {
      const own = layout.keyOf(key);
      if (own !== undefined) yield [own, value];
    }
  }
}

async function* overlaid(
  older: AsyncIterable<EngineEntry>,
  newer: readonly (readonly [string, Buffer | undefined])[],
): AsyncGenerator<EngineEntry> {
  let next = 0;
  function* newerUntil(key: string | undefined): Generator<EngineEntry> {
    for (let entry = newer[next]; entry !== undefined; entry = newer[next]) {
      if (key !== undefined && compareBytes(entry[0], key) > 0) return;
      next++;
      if (entry[1] !== undefined) yield [entry[0], entry[1]];
    }
  }
  for await (const entry of older) {
    yield* newerUntil(entry[0]);
    if (newer[next - 1]?.[0] !== entry[0]) yield entry;
  }
  yield* newerUntil(undefined);
}
