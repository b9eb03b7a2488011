/**
 * The durable seam below the store: an ordered map of text keys to bytes that takes atomic batches.
 * An engine knows nothing of objects, versions or secrets; the store knows nothing of files.
 */
import { runAtOnce } from '../../apimachinery/index.ts';
import { StateError } from '../state-error.ts';

/**
 * A value of undefined removes the key. The engine owns the bytes from here on, and makes those that
 * are still to be made when it writes them: of the values of a key that come shortly after each other
 * only the last one need be.
 */
export interface EngineWrite {
  readonly key: string;
  readonly value: EngineValue | undefined;
}

/** A function must not fail. */
export type EngineValue = Buffer | (() => Buffer);

/** What engines keep until they write it. */
export type EngineQueue = Map<string, EngineValue | undefined>;

/** The same with every value made. */
export function madeValues(queue: EngineQueue): Map<string, Buffer | undefined> {
  return runAtOnce(valuesOf(queue));
}

/** The same, with a yield after each value. */
export function* valuesOf(queue: EngineQueue): Generator<void, Map<string, Buffer | undefined>> {
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
  /** Where the state is, for messages: a directory, an address. */
  readonly place: string;
  /**
   * What is durable below a prefix ('' for everything), in bytewise order of the keys. Throws
   * StateError when it cannot be read. Meant for the start: writes may not be seen before the next
   * flush.
   */
  load(prefix: string): Iterable<EngineEntry> | AsyncIterable<EngineEntry>;
  /**
   * Lets go of what only `load` needs. To be called before anything is written; loading works
   * afterwards, too.
   */
  loaded?(): Promise<void>;
  /**
   * Queues a batch and returns at once. Batches become durable each as a whole and in the order of
   * the calls, so what a crash leaves is the state after some batch. A batch that cannot be written
   * is tried again, together with those after it: the reason goes to `flush`.
   */
  write(batch: readonly EngineWrite[]): void;
  /**
   * Resolves when every batch written so far is on stable storage; rejects with StateError if one
   * of them cannot be written at the moment.
   */
  flush(): Promise<void>;
  /**
   * Why nothing more should be written at the moment: it would not become durable soon, and memory
   * is not for waiting. Absent: nothing is known against it.
   */
  readonly trouble?: StateError | undefined;
  /** Flushes and lets go of everything; rejects as `flush` does. Calling it again does nothing. */
  close(): Promise<void>;
}

/** Engines call it on every key, so that all of them refuse the same ones. */
export function checkEngineKey(key: string): void {
  const bytes = Buffer.byteLength(key);
  if (bytes === 0 || bytes > MAX_KEY_BYTES) {
    throw new StateError(`a state key has 1 to ${MAX_KEY_BYTES} bytes, not ${bytes}`);
  }
}

export function closedEngine(place: string): StateError {
  return new StateError(`the state in ${place} is closed`);
}
