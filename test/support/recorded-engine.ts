/**
 * A state engine whose history can be read and followed, as etcd's can, in memory: batches wait until
 * they are committed, each commit is a revision, and old revisions can be forgotten.
 */
import type { EngineEntry, EngineWrite, StateEngine } from '../../src/state/engines/engine.ts';
import {
  CompactedFeedError,
  type Newest,
  type RecordBatch,
  type RecordChanges,
  type RecordFeed,
} from '../../src/state/following/record-feed.ts';
import { compareBytes } from '../../src/state/objects/key-order.ts';

type Records = Map<string, Buffer | undefined>;

/** What outlives engines. */
export class RecordedHistory {
  readonly steps: Records[] = [];
  /** Revisions below it are forgotten. */
  floor = 0;
  readonly #sleepers = new Set<() => void>();

  get revision(): number {
    return this.steps.length;
  }

  commit(records: Records): void {
    this.steps.push(records);
    this.wake();
  }

  wake(): void {
    for (const wake of [...this.#sleepers]) wake();
  }

  async sleep(): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(wake);
        resolve();
      };
      this.#sleepers.add(wake);
    });
  }

  /** What was there after a revision, with the revision that each record is of. */
  at(revision: number): Map<string, { readonly value: Buffer; readonly revision: number }> {
    const found = new Map<string, { value: Buffer; revision: number }>();
    for (const [index, records] of this.steps.slice(0, revision).entries()) {
      for (const [key, value] of records) {
        if (value === undefined) found.delete(key);
        else found.set(key, { value, revision: index + 1 });
      }
    }
    return found;
  }
}

export class RecordedEngine implements StateEngine {
  readonly place = 'the history';
  readonly #history: RecordedHistory;
  #queue: Records[] = [];

  constructor(history: RecordedHistory) {
    this.#history = history;
  }

  *load(prefix: string): Iterable<EngineEntry> {
    const records = this.#history.at(this.#history.revision);
    for (const key of [...records.keys()].sort(compareBytes)) {
      const found = records.get(key);
      if (key.startsWith(prefix) && found !== undefined) yield [key, found.value];
    }
  }

  write(batch: readonly EngineWrite[]): void {
    const records: Records = new Map();
    for (const { key, value } of batch) {
      records.set(key, typeof value === 'function' ? value() : value);
    }
    this.#queue.push(records);
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Commits at most so many batches; those that change no record twice share a revision. */
  commit(batches = Number.POSITIVE_INFINITY, shared = true): void {
    let step: Records = new Map();
    for (let left = batches; left > 0; left--) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      const repeats = [...next.keys()].some((key) => step.has(key) && key !== 'm/store');
      if (step.size > 0 && (repeats || !shared)) {
        this.#history.commit(step);
        step = new Map();
      }
      for (const [key, value] of next) step.set(key, value);
    }
    if (step.size > 0) this.#history.commit(step);
  }

  async flush(): Promise<void> {
    this.commit();
  }

  async close(): Promise<void> {
    this.commit();
  }
}

/** Shows what is in a history up to `limit`. */
export class RecordedFeed implements RecordFeed {
  readonly place = 'the history';
  readonly #history: RecordedHistory;
  #limit = Number.POSITIVE_INFINITY;

  constructor(history: RecordedHistory) {
    this.#history = history;
  }

  /** As far as a slow follower has come. */
  set limit(revision: number) {
    this.#limit = revision;
    this.#history.wake();
  }

  get #revision(): number {
    return Math.min(this.#history.revision, this.#limit);
  }

  async newest(): Promise<Newest> {
    const found = this.#history.at(this.#revision).get('m/store');
    return { written: BigInt(found?.revision ?? 0), clock: BigInt(this.#revision) };
  }

  async oldest(): Promise<bigint> {
    const now = this.#history.at(this.#revision);
    const events = [...now]
      .filter(([key]) => key.startsWith('e/'))
      .map(([, { revision }]) => revision);
    return BigInt(Math.max(Math.min(this.#revision, ...events), this.#history.floor));
  }

  async *load(revision: bigint): AsyncIterable<EngineEntry> {
    if (Number(revision) < this.#history.floor) throw new CompactedFeedError();
    const records = this.#history.at(Number(revision));
    for (const key of [...records.keys()].sort(compareBytes)) {
      const found = records.get(key);
      if (found !== undefined) yield [key, found.value];
    }
  }

  changes(from: bigint): RecordChanges {
    const history = this.#history;
    let closed = false;
    const limit = (): number => this.#revision;
    async function* follow(): AsyncGenerator<RecordBatch> {
      for (let next = Number(from); ; next++) {
        while (!closed && next > limit()) await history.sleep();
        if (closed) return;
        if (next < history.floor) throw new CompactedFeedError();
        yield { revision: BigInt(next), records: history.steps[next - 1] ?? new Map() };
      }
    }
    return {
      [Symbol.asyncIterator]: follow,
      close: () => {
        closed = true;
        history.wake();
      },
    };
  }
}
