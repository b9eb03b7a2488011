/**
 * Batches that wait for a transaction. A batch with an event record is not joined with others that
 * write the same records, since a follower must see every version. Otherwise, as many batches as
 * fit share a transaction.
 */

import { EVENT_PREFIX } from '../../journal/event-records.ts';
import { META_KEY } from '../../records/saved-state.ts';
import { type EngineValue, type EngineWrite, evaluated } from '../engine.ts';
import { MAX_BYTES, MAX_OPERATIONS } from './big-batch.ts';

interface Waiting {
  readonly writes: Map<string, EngineValue | undefined>;
  hasEvents: boolean;
  /** Number of joined batches. */
  count: number;
  /** Approximate; a value that is not evaluated yet counts as a few KiB. */
  bytes: number;
}

export interface Group {
  readonly writes: Map<string, Buffer | undefined>;
  /** Number of batches in it. */
  readonly count: number;
}

const UNEVALUATED_BYTES = 4096;
const MAX_JOINED_BYTES = MAX_BYTES / 2;

export class BatchQueue {
  #waiting: Waiting[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Approximate; a value that is not evaluated yet counts as a few KiB. */
  get bytes(): number {
    return this.#bytes;
  }

  push(batch: readonly EngineWrite[]): void {
    const writes = new Map(batch.map(({ key, value }) => [key, value]));
    const hasEvents = [...writes.keys()].some((key) => key.startsWith(EVENT_PREFIX));
    const next = { writes, hasEvents, count: 1, bytes: bytesOf(writes) };
    this.#bytes += next.bytes;
    const last = this.#waiting.at(-1);
    if (last === undefined || !joins(last, next)) this.#waiting.push(next);
    else this.#join(last, next);
  }

  clear(): void {
    this.#waiting = [];
    this.#bytes = 0;
  }

  /**
   * The next batches, with every value evaluated; at least one. Must not be called when the queue
   * is empty.
   */
  take(): Group {
    const group: Group & { count: number } = { writes: new Map(), count: 0 };
    let hasEvents = false;
    let bytes = 0;
    let taken = 0;
    for (const next of this.#waiting) {
      const made = evaluated(next.writes);
      const size = bytesOf(made);
      // Evaluated values stay in the queue, so that they are not computed twice.
      for (const [key, value] of made) next.writes.set(key, value);
      this.#bytes += size - next.bytes;
      next.bytes = size;
      if (taken > 0 && !fits(group.writes, next, { hasEvents, bytes })) break;
      // A Map keeps the first position of a key; the last write must come last.
      for (const [key, value] of made) {
        group.writes.delete(key);
        group.writes.set(key, value);
      }
      group.count += next.count;
      this.#bytes -= size;
      hasEvents ||= next.hasEvents;
      bytes += size;
      taken++;
    }
    this.#waiting.splice(0, taken);
    return group;
  }

  #join(last: Waiting, next: Waiting): void {
    this.#bytes -= last.bytes + next.bytes;
    for (const [key, value] of next.writes) {
      last.writes.delete(key);
      last.writes.set(key, value);
    }
    last.count += next.count;
    last.bytes = bytesOf(last.writes);
    this.#bytes += last.bytes;
  }
}

/** During an outage of etcd, overwritten values must not make the queue grow. */
function joins(last: Waiting, next: Waiting): boolean {
  if (last.hasEvents || next.hasEvents) return false;
  if (last.bytes + next.bytes > MAX_JOINED_BYTES) return false;
  return last.writes.size + next.writes.size <= MAX_OPERATIONS;
}

function fits(
  writes: ReadonlyMap<string, unknown>,
  next: Waiting,
  of: { hasEvents: boolean; bytes: number },
): boolean {
  if (writes.size + next.writes.size > MAX_OPERATIONS) return false;
  if (of.bytes + next.bytes > MAX_BYTES) return false;
  if (!of.hasEvents) return true;
  return ![...next.writes.keys()].some((key) => key !== META_KEY && writes.has(key));
}

function bytesOf(writes: ReadonlyMap<string, EngineValue | undefined>): number {
  let bytes = 0;
  for (const [key, value] of writes) {
    bytes += key.length + (typeof value === 'function' ? UNEVALUATED_BYTES : (value?.length ?? 0));
  }
  return bytes;
}
