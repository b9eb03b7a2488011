/** The history of a store in etcd, for followers. */
import {
  CompactedRevisionError,
  type Etcd,
  type KeyValue,
  type WatchBatch,
  type WatchEvent,
} from '../../../etcd/index.ts';
import {
  CompactedFeedError,
  type Newest,
  type RecordBatch,
  type RecordChanges,
  type RecordFeed,
} from '../../following/record-feed.ts';
import { EVENT_PREFIX } from '../../journal/event-records.ts';
import { META_KEY } from '../../records/saved-state.ts';
import type { EngineEntry } from '../engine.ts';
import { decodeBig, readBigBatch, type StoredWrites } from './big-batch.ts';
import { Layout } from './layout.ts';
import { type EtcdRecords, readRecords, resolved } from './records.ts';

/** `prefix`: that of the engine that writes the store. */
export function openEtcdFeed(etcd: Etcd, prefix: string): RecordFeed {
  return new EtcdFeed({ etcd, layout: new Layout(prefix) });
}

class EtcdFeed implements RecordFeed {
  readonly place: string;
  readonly #place: EtcdRecords;

  constructor(place: EtcdRecords) {
    this.#place = place;
    this.place = `${place.etcd.place} below ${place.layout.prefix}`;
  }

  async newest(): Promise<Newest> {
    const { etcd, layout } = this.#place;
    const { kvs, revision } = await etcd.range({ key: layout.record(META_KEY), keysOnly: true });
    return { written: kvs[0]?.modRevision ?? 0n, clock: revision };
  }

  async oldest(): Promise<bigint> {
    const { etcd, layout } = this.#place;
    const events: KeyValue[] = [];
    const key = layout.record(EVENT_PREFIX);
    const scan = etcd.scan({ key, prefix: true, keysOnly: true });
    for await (const kv of scan) events.push(kv);
    const now = await scan.revision;
    // Earlier revisions are compacted, or will be soon.
    const found = await firstWhere(events, (kv) => this.#isAvailable(kv.modRevision));
    if (found === undefined) return now;
    // A reader that has seen everything before the first event can continue with it.
    const before = found.modRevision - 1n;
    return (await this.#isAvailable(before)) ? before : found.modRevision;
  }

  async *load(revision: bigint): AsyncGenerator<EngineEntry> {
    try {
      yield* readRecords(this.#place, { prefix: '', revision });
    } catch (error) {
      throw compacted(error);
    }
  }

  changes(from: bigint): RecordChanges {
    const { etcd, layout } = this.#place;
    const watch = etcd.watch({ key: layout.prefix, prefix: true, from });
    const read = (batch: WatchBatch): Promise<RecordBatch> => this.#read(batch);
    async function* follow(): AsyncGenerator<RecordBatch> {
      try {
        for await (const batch of watch) yield await read(batch);
      } catch (error) {
        throw compacted(error);
      }
    }
    return { [Symbol.asyncIterator]: follow, close: () => watch.close() };
  }

  async #read(batch: WatchBatch): Promise<RecordBatch> {
    const { revision } = batch;
    const records = new Map<string, Buffer | undefined>();
    for (const [key, record] of await this.#changed(batch)) {
      records.set(key, record && (await resolved(this.#place, record, revision)));
    }
    return { revision, records };
  }

  async #changed({ revision, events }: WatchBatch): Promise<StoredWrites> {
    const { etcd, layout } = this.#place;
    const big = events.find(({ kv }) => kv.key === layout.big);
    if (big === undefined) return changedRecords(layout, events);
    const batch = big.type === 'put' ? decodeBig(big.kv.value) : undefined;
    // Copied records were applied when the batch became valid.
    if (batch?.copied !== 0) return new Map();
    return await readBigBatch(etcd, layout, { batch, revision });
  }

  async #isAvailable(revision: bigint): Promise<boolean> {
    const { etcd, layout } = this.#place;
    try {
      await etcd.range({ key: layout.head, keysOnly: true, revision });
      return true;
    } catch (error) {
      if (error instanceof CompactedRevisionError) return false;
      throw error;
    }
  }
}

function changedRecords(layout: Layout, events: readonly WatchEvent[]): StoredWrites {
  const records = new Map<string, Buffer | undefined>();
  for (const { type, kv } of events) {
    const key = layout.keyOf(kv.key);
    if (key !== undefined) records.set(key, type === 'put' ? kv.value : undefined);
  }
  return records;
}

/** Binary search in a list where `holds` is true from some position on. */
async function firstWhere<T>(
  items: readonly T[],
  holds: (item: T) => Promise<boolean>,
): Promise<T | undefined> {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const item = items[middle];
    if (item !== undefined && (await holds(item))) high = middle;
    else low = middle + 1;
  }
  return items[low];
}

function compacted(error: unknown): unknown {
  if (!(error instanceof CompactedRevisionError)) return error;
  return new CompactedFeedError(error.message, { cause: error });
}
