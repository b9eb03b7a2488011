/** Splits a group of batches into transactions: one, if it fits. */
import type { Operation } from '../../../etcd/index.ts';
import type { BigBatch } from './big-batch.ts';
import {
  decodeBig,
  MAX_BYTES,
  MAX_OPERATIONS,
  readBigBatch,
  type StoredWrites,
} from './big-batch.ts';
import { chunkReference, PART_BYTES, partsOf, readValue, wholeValue } from './chunked-value.ts';
import type { Layout } from './layout.ts';
import { type EtcdRecords, readCopying } from './records.ts';

/**
 * Size limit of a last record that is written with the commit, so that a reader of that record sees
 * the batch.
 */
const PIVOT_BYTES = 64 * 1024;

export class Planner {
  readonly #layout: Layout;
  readonly #newId: () => string;
  /** Ids of chunked values, by record key. */
  readonly #chunked = new Map<string, string>();

  constructor(layout: Layout, newId: () => string) {
    this.#layout = layout;
    this.#newId = newId;
  }

  /** Unfinished steps of an earlier run. Called before the first write. */
  async recover(place: EtcdRecords): Promise<Operation[][]> {
    const { etcd, layout } = place;
    const { kvs, revision } = await etcd.range({ key: layout.big });
    const big = kvs[0] && decodeBig(kvs[0].value);
    const writes = big && (await readBigBatch(etcd, layout, { batch: big, revision }));
    const steps: Operation[][] = big && writes ? copySteps(layout, big, writes) : [];
    const orphans = await this.#findParts(place, revision);
    if (big === undefined) orphans.push({ remove: layout.bigParts, prefix: true });
    return [...steps, ...inPortions(orphans)];
  }

  /** Steps to be applied in order. */
  plan(writes: ReadonlyMap<string, Buffer | undefined>): Operation[][] {
    const before: Operation[] = [];
    const after: Operation[] = [];
    const stored = new Map<string, Buffer | undefined>();
    for (const [key, value] of writes) {
      const parts = this.#chunked.get(key);
      if (parts !== undefined) after.push(this.#removal(parts));
      this.#chunked.delete(key);
      if (value === undefined) stored.set(key, undefined);
      else if (value.length <= PART_BYTES) stored.set(key, wholeValue(value));
      else stored.set(key, this.#chunk(key, value, before));
    }
    return [...inPortions(before), ...this.#commit(stored, after)];
  }

  #commit(stored: StoredWrites, after: readonly Operation[]): Operation[][] {
    const records = [...after, ...recordOperations(this.#layout, stored)];
    const bytes = records.reduce((sum, operation) => sum + bytesOf(operation), 0);
    if (records.length <= MAX_OPERATIONS && bytes <= MAX_BYTES) return [records];
    return [...bigBatchSteps(this.#layout, this.#newId(), stored), ...inPortions(after)];
  }

  #chunk(key: string, value: Buffer, puts: Operation[]): Buffer {
    const id = this.#newId();
    const parts = partsOf(value);
    for (const [part, bytes] of parts.entries()) {
      puts.push({ put: this.#layout.valuePart(id, part, key), value: bytes });
    }
    this.#chunked.set(key, id);
    return chunkReference({ id, parts: parts.length });
  }

  #removal(id: string): Operation {
    return { remove: this.#layout.valuePartsOf(id), prefix: true };
  }

  /** Records the chunked values; returns removals of orphaned parts. */
  async #findParts(place: EtcdRecords, revision: bigint): Promise<Operation[]> {
    const { etcd, layout } = place;
    const found = new Map<string, string>();
    const scan = etcd.scan({ key: layout.valueParts, prefix: true, keysOnly: true, revision });
    for await (const kv of scan) {
      const { id, key } = layout.readValuePart(kv.key);
      found.set(id, key);
    }
    if (found.size === 0) return [];
    const copying = await readCopying(place, revision);
    const orphans: Operation[] = [];
    for (const [id, key] of found) {
      const kvs = (await etcd.range({ key: layout.record(key), revision })).kvs;
      const record = copying?.has(key) === true ? copying.get(key) : kvs[0]?.value;
      const value = record && readValue(record);
      if (value !== undefined && !Buffer.isBuffer(value) && value.id === id)
        this.#chunked.set(key, id);
      else orphans.push(this.#removal(id));
    }
    return orphans;
  }
}

function bytesOf(operation: Operation): number {
  if ('put' in operation) return operation.put.length + operation.value.length + 16;
  return 'remove' in operation ? operation.remove.length + 16 : 0;
}

/** As few groups as the limits allow, in order. A single operation always fits. */
function inPortions(operations: readonly Operation[]): Operation[][] {
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

function recordOperations(layout: Layout, writes: StoredWrites): Operation[] {
  return [...writes].map(([key, value]) =>
    value === undefined ? { remove: layout.record(key) } : { put: layout.record(key), value },
  );
}

/** The transactions of the batch, in order. */
function bigBatchSteps(layout: Layout, id: string, writes: StoredWrites): Operation[][] {
  const parts = partsOf(encodeWrites(writes));
  const puts = parts.map((value, part) => ({ put: layout.bigPart(id, part), value }));
  const batch = { id, parts: parts.length, copied: 0 };
  const commit: Operation[] = [{ put: layout.big, value: encodeBig(batch) }];
  const last = recordOperations(layout, writes).at(-1);
  if (last !== undefined && bytesOf(last) <= PIVOT_BYTES) commit.push(last);
  return [...inPortions(puts), commit, ...copySteps(layout, batch, writes)];
}

/** The remaining steps after the batch is valid; safe to repeat from the beginning. */
function copySteps(layout: Layout, batch: BigBatch, writes: StoredWrites): Operation[][] {
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

/** A line of JSON with keys and lengths, then the values. */
function encodeWrites(writes: StoredWrites): Buffer {
  const lines = [...writes].map(([key, value]) => [key, value?.length ?? null]);
  const values = [...writes.values()].filter((value) => value !== undefined);
  return Buffer.concat([Buffer.from(`${JSON.stringify(lines)}\n`), ...values]);
}

function encodeBig(batch: BigBatch): Buffer {
  return Buffer.from(JSON.stringify(batch));
}
