/** Reads the repository log from etcd. */
import type { Etcd } from '../etcd/index.ts';
import { sequenceKey } from './keys.ts';
import {
  type BranchHead,
  type LogRecord,
  type Move,
  type RecordContext,
  readHead,
  readMove,
  readRecord,
} from './log-record.ts';

export interface LogReaderOptions extends RecordContext {
  readonly etcd: Pick<Etcd, 'range'>;
}

/** Page sizes: gRPC limits the size of an answer. */
const RECORDS_A_PAGE = 500;
const PARTS_A_PAGE = 4;
/** Limits within which small records are read and applied together. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_RECORDS = 64;

export class LogReader {
  readonly #options: LogReaderOptions;

  constructor(options: LogReaderOptions) {
    this.#options = options;
  }

  /** Head of the branch, by a quorum read; undefined before its first commit. */
  async head(): Promise<BranchHead | undefined> {
    const { etcd, keys } = this.#options;
    const [kv] = (await etcd.range({ key: keys.head })).kvs;
    return kv && readHead(kv.value);
  }

  /** Records after `after`, up to and including `last`, without trimmed ones. */
  async records(after: number, last: number): Promise<LogRecord[]> {
    const { etcd, keys } = this.#options;
    const end = sequenceKey(keys.log, last + 1);
    const records: LogRecord[] = [];
    for (let next = after + 1; next <= last; ) {
      const key = sequenceKey(keys.log, next);
      const { kvs, more } = await etcd.range({ key, end, limit: RECORDS_A_PAGE });
      for (const kv of kvs) records.push(readRecord(kv));
      const newest = records.at(-1);
      if (!more || newest === undefined) break;
      next = newest.sequence + 1;
    }
    return records;
  }

  /** The moves of consecutive records, in batches. */
  async *moves(records: readonly LogRecord[]): AsyncGenerator<Move[]> {
    for (const batch of batches(records)) {
      const parts = await this.#parts(batch);
      yield batch.map((record) =>
        readMove(this.#options, record, parts.get(record.sequence) ?? []),
      );
    }
  }

  async #parts(batch: readonly LogRecord[]): Promise<Map<number, Buffer[]>> {
    const { etcd, keys } = this.#options;
    const [first, last] = [batch[0]?.sequence ?? 0, batch.at(-1)?.sequence ?? 0];
    const found = new Map<number, Buffer[]>();
    const end = sequenceKey(keys.packs, last + 1);
    const limit = batch.length === 1 ? PARTS_A_PAGE : undefined;
    for (let key: string | undefined = sequenceKey(keys.packs, first); key !== undefined; ) {
      const asked = { key, end, ...(limit === undefined ? {} : { limit }) };
      const { kvs, more } = await etcd.range(asked);
      for (const kv of kvs) {
        const sequence = Number(kv.key.slice(keys.packs.length).split('/')[0]);
        found.set(sequence, [...(found.get(sequence) ?? []), kv.value]);
      }
      const newest = kvs.at(-1)?.key;
      key = more && newest !== undefined ? `${newest}\0` : undefined;
    }
    return found;
  }
}

function* batches(records: readonly LogRecord[]): Generator<LogRecord[]> {
  let batch: LogRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = record.packBytes + record.indexBytes;
    if (batch.length > 0 && (bytes + size > BATCH_BYTES || batch.length >= BATCH_RECORDS)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
