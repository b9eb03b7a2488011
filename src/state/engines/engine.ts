/**
 * The durable layer below the store: an ordered map of text keys to bytes, with atomic batches. An
 * engine knows no objects, versions or secrets; the store knows no files.
 */
import { runAtOnce } from '../../apimachinery/index.ts';
import { StateError } from '../state-error.ts';

/**
 * Undefined removes the key. The engine takes ownership of the bytes. It calls a function when it
 * writes; of several values in short succession, perhaps only the last one.
 */
export interface EngineWrite {
  readonly key: string;
  readonly value: EngineValue | undefined;
}

/** A function must not throw. */
export type EngineValue = Buffer | (() => Buffer);

/** Values that wait to be written. */
export type EngineQueue = Map<string, EngineValue | undefined>;

/** Evaluates all values. */
export function evaluated(queue: EngineQueue): Map<string, Buffer | undefined> {
  return runAtOnce(evaluateEach(queue));
}

/** Evaluates all values, and yields after each one. */
export function* evaluateEach(
  queue: EngineQueue,
): Generator<void, Map<string, Buffer | undefined>> {
  const made = new Map<string, Buffer | undefined>();
  for (const [key, value] of queue) {
    yield void made.set(key, typeof value === 'function' ? value() : value);
  }
  return made;
}

export type EngineEntry = readonly [key: string, value: Buffer];

/** Keys are 1 to 1,024 bytes of UTF-8. */
export const MAX_KEY_BYTES = 1024;

export interface StateEngine {
  /** Location of the state, for messages: a directory or an address. */
  readonly place: string;
  /**
   * Durable entries with a key prefix ('' for all), in bytewise order. Throws StateError when they
   * cannot be read. For the start: writes may be missing before the next flush.
   */
  load(prefix: string): Iterable<EngineEntry> | AsyncIterable<EngineEntry>;
  /**
   * Frees resources that only `load` needs. Called before the first write; `load` still works
   * afterwards.
   */
  loaded?(): Promise<void>;
  /**
   * Queues a batch and returns at once. Batches become durable atomically and in the order of the
   * calls, so that a crash leaves the state after some batch. A failed batch is retried together
   * with those after it; `flush` reports the reason.
   */
  write(batch: readonly EngineWrite[]): void;
  /**
   * Resolves when every batch so far is on stable storage; rejects with StateError if one of them
   * cannot be written at the moment.
   */
  flush(): Promise<void>;
  /**
   * Reason to refuse writes at the moment: they would not become durable soon, and the queue in
   * memory is limited.
   */
  readonly trouble?: StateError | undefined;
  /** Flushes and frees all resources; rejects as `flush` does. A second call does nothing. */
  close(): Promise<void>;
}

/** Every engine calls it for every key, so that all refuse the same ones. */
export function checkEngineKey(key: string): void {
  const bytes = Buffer.byteLength(key);
  if (bytes === 0 || bytes > MAX_KEY_BYTES) {
    throw new StateError(`a state key has 1 to ${MAX_KEY_BYTES} bytes, not ${bytes}`);
  }
}

export function closedEngine(place: string): StateError {
  return new StateError(`the state in ${place} is closed`);
}
