/**
 * The state in etcd. One transaction is in flight at a time, and later writes share the next one,
 * so that many writers share a round trip. Each transaction compares the fence, the conditions
 * under which its owner may write, so that a writer that lost its lease writes nothing more. Writes
 * are retried during an outage of etcd; `flush` reports the reason.
 */
import { backoffBound, pause, RetryDelay } from '../../../concurrency/index.ts';
import { type Compare, type Etcd, EtcdError, type Operation } from '../../../etcd/index.ts';
import { reason, StateError, unreadableState } from '../../state-error.ts';
import {
  checkEngineKey,
  closedEngine,
  type EngineEntry,
  type EngineWrite,
  type StateEngine,
} from '../engine.ts';
import { BatchQueue } from './batch-queue.ts';
import { Chain, type Step } from './chain.ts';
import { Layout } from './layout.ts';
import { Planner } from './planner.ts';
import { readRecords } from './records.ts';

/** Progress of the batches, by number, and the callers that wait for durability. */

interface Waiting {
  /** Number of the batch. */
  readonly batch: number;
  resolve(): void;
  reject(error: Error): void;
}

export interface EtcdEngineOptions {
  readonly etcd: Etcd;
  /** Ends with a slash. No other process writes below it. */
  readonly prefix: string;
  /** Conditions of every write; empty: none. */
  readonly fence?: readonly Compare[];
  /** Aborted when the owner must stop writing. */
  readonly signal?: AbortSignal;
  /** Error of every call after that, and after a failed fence. */
  readonly ended?: () => Error;
  /** Writing starts after this promise; only the ownership of the prefix is written before. */
  readonly begins?: Promise<void>;
  /** Called once when a batch cannot be written, until writing works again. */
  readonly onError: (error: Error) => void;
  /** Called when writing works again and nothing is missing. */
  readonly onRecovered?: () => void;
  /** Time limit in ms for a batch, before waiting callers get an error. */
  readonly timeoutMs?: number;
}

export interface EtcdStateEngine extends StateEngine {
  /**
   * An etcd revision that includes everything a client may have seen before the call, if no other
   * process writes here. Waits for the step in flight.
   */
  seenRevision(): bigint | Promise<bigint>;
}

/** Limits of the queue, above which writes are refused. */
const MAX_WAITING = 4096;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 8000;
const CLOSE_TIMEOUT_MS = 2000;
const BACKOFF = { firstMs: 10, lastMs: 2000 };

/**
 * Throws StateError when etcd is unreachable, and the error of `ended` when the fence does not
 * hold.
 */
export async function openEtcdEngine(options: EtcdEngineOptions): Promise<EtcdStateEngine> {
  const { etcd, prefix, fence = [] } = options;
  const layout = new Layout(prefix);
  const ended = options.ended ?? ((): Error => closedEngine(etcd.place));
  try {
    const chain = await Chain.takeOver({ etcd, layout, fence, ended });
    const planner = new Planner(layout, () => chain.newId());
    const steps = await planner.recover({ etcd, layout });
    return new EtcdEngine({ ...options, ended }, { layout, chain, planner, steps });
  } catch (error) {
    throw error instanceof EtcdError ? stateError(etcd.place, error) : error;
  }
}

interface Parts {
  readonly layout: Layout;
  readonly chain: Chain;
  readonly planner: Planner;
  /** Unfinished steps of an earlier run. */
  readonly steps: readonly Operation[][];
}

class EtcdEngine implements EtcdStateEngine {
  readonly place: string;
  readonly #options: EtcdEngineOptions & { ended(): Error };
  readonly #parts: Parts;
  readonly #queue = new BatchQueue();
  readonly #progress = new Progress();
  /** Remaining steps of the batches that were last taken from the queue. */
  #steps: Step[];
  #isRunning = false;
  /** Reason of the last failure. */
  #failure: StateError | undefined;
  /** Writing works again, but the queue is not empty yet. */
  #isRecovering = false;
  /** Set: writing has ended. */
  #final: Error | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #delay = new RetryDelay(BACKOFF);
  #closing: Promise<void> | undefined;

  constructor(options: EtcdEngineOptions & { ended(): Error }, parts: Parts) {
    const { etcd, prefix, signal } = options;
    this.place = `${etcd.place} below ${prefix}`;
    this.#options = options;
    this.#parts = parts;
    this.#steps = parts.steps.map((operations) => ({ operations }));
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted === true) this.#abort();
    this.#start();
  }

  get trouble(): StateError | undefined {
    if (this.#failure !== undefined) return this.#failure;
    const { bytes } = this.#queue;
    const count = this.#progress.left;
    if (bytes < MAX_WAITING_BYTES && count < MAX_WAITING) return undefined;
    const problem = `${count} batches of about ${bytes} bytes wait to be written`;
    return new StateError(`the state in ${this.place} does not keep up: ${problem}`, {
      code: 'EQUEUE',
    });
  }

  seenRevision(): bigint | Promise<bigint> {
    return this.#parts.chain.seenRevision();
  }

  async *load(prefix: string): AsyncGenerator<EngineEntry> {
    const { etcd } = this.#options;
    const { layout } = this.#parts;
    try {
      const { revision } = await etcd.range({ key: layout.head, keysOnly: true });
      yield* readRecords({ etcd, layout }, { prefix, revision });
    } catch (error) {
      if (error instanceof EtcdError) throw stateError(this.place, error);
      throw unreadableState(this.place, reason(error), error);
    }
  }

  write(batch: readonly EngineWrite[]): void {
    if (this.#closing !== undefined) throw closedEngine(this.place);
    for (const { key } of batch) checkEngineKey(key);
    if (this.#final !== undefined || batch.length === 0) return;
    this.#queue.push(batch);
    this.#progress.wrote();
    if (this.#failure === undefined) this.#start();
  }

  flush(): Promise<void> {
    if (this.#final !== undefined) return Promise.reject(this.#final);
    if (this.#progress.isDurable && this.#steps.length === 0) return Promise.resolve();
    const flushed = this.#progress.wait();
    // A caller that needs durability retries at once.
    this.#start();
    return flushed;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      clearTimeout(this.#retry);
      this.#options.signal?.removeEventListener('abort', this.#abort);
      this.#final ??= closedEngine(this.place);
    }
  }

  readonly #abort = (): void => this.#end(this.#options.ended());

  #end(final: Error): void {
    if (this.#final !== undefined) return;
    this.#final = final;
    clearTimeout(this.#retry);
    this.#queue.clear();
    this.#steps = [];
    this.#progress.fail(final);
  }

  #start(): void {
    if (this.#isRunning || this.#final !== undefined) return;
    this.#isRunning = true;
    clearTimeout(this.#retry);
    // Writes of the same tick share a transaction.
    queueMicrotask(() => void this.#run());
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    await this.#options.begins;
    try {
      while (this.#final === undefined && this.#takeSteps()) {
        const [step] = this.#steps;
        if (step !== undefined) await this.#commit(step);
        this.#steps.shift();
        if (this.#steps.length === 0) this.#progress.settle();
      }
      this.#isRunning = false;
      this.#recovered();
    } catch (error) {
      this.#isRunning = false;
      this.#failed(error as Error);
    }
  }

  /** False: there is nothing to do. */
  #takeSteps(): boolean {
    if (this.#steps.length > 0) return true;
    if (this.#queue.isEmpty) {
      // Only steps of an earlier run were done.
      this.#progress.settle();
      return false;
    }
    const { writes, count } = this.#queue.take();
    this.#progress.took(count);
    this.#steps = this.#parts.planner.plan(writes).map((operations) => ({ operations }));
    return true;
  }

  /** Retries until the timeout. Tries once if etcd is known to be unavailable. */
  async #commit(step: Step): Promise<void> {
    const { timeoutMs = TIMEOUT_MS } = this.#options;
    const start = performance.now();
    for (let failures = 1; ; failures++) {
      try {
        await this.#parts.chain.commit(step);
        this.#isRecovering ||= this.#failure !== undefined;
        this.#failure = undefined;
        return;
      } catch (error) {
        const most = this.#closing === undefined ? timeoutMs : CLOSE_TIMEOUT_MS;
        const isOver = this.#failure !== undefined || performance.now() - start > most;
        if (isOver || !isTransient(error) || this.#final !== undefined) throw error;
      }
      await pause(backoffBound(failures, BACKOFF));
    }
  }

  #failed(error: Error): void {
    if (this.#final !== undefined) return;
    if (!(error instanceof EtcdError)) {
      this.#end(error);
      this.#options.onError(error);
      return;
    }
    const isNews = this.#failure === undefined && !this.#isRecovering;
    const failure = stateError(this.place, error);
    this.#failure = failure;
    if (isNews) this.#options.onError(failure);
    this.#progress.fail(failure);
    if (this.#closing !== undefined) return;
    this.#retry = setTimeout(() => this.#start(), this.#delay.next()).unref();
  }

  #recovered(): void {
    if (!this.#isRecovering) return;
    this.#isRecovering = false;
    this.#delay.reset();
    this.#options.onRecovered?.();
  }
}

/** True if a retry may succeed. */
function isTransient(error: unknown): boolean {
  return error instanceof EtcdError && (error.unknown || error.code === 'EUNREACH');
}

function stateError(place: string, error: EtcdError): StateError {
  const code = error.code ?? 'EREFUSED';
  return new StateError(`the state in ${place} cannot be used: ${error.message}`, {
    cause: error,
    code,
  });
}

class Progress {
  #written = 0;
  #taken = 0;
  #durable = 0;
  #waiting: Waiting[] = [];

  /** Counts a batch that was given to the engine. */
  wrote(): void {
    this.#written++;
  }

  /** Counts batches that are being made durable. */
  took(count: number): void {
    this.#taken += count;
  }

  /** Batches in the queue. */
  get left(): number {
    return this.#written - this.#taken;
  }

  get isDurable(): boolean {
    return this.#durable === this.#written;
  }

  /** Resolves when all batches so far are durable. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch: this.#written, resolve, reject });
    });
  }

  /** Marks all taken batches as durable. */
  settle(): void {
    this.#durable = this.#taken;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ batch }) => batch > this.#durable);
    for (const { batch, resolve } of waiting) if (batch <= this.#durable) resolve();
  }

  /** Rejects all waiting callers. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
