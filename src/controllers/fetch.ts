/**
 * Schedules fetches of the followed branch: periodically, when a client reports a move, and soon
 * after a failure. Requests during a fetch share the next one.
 */
import { backoffBound } from '../concurrency/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface FetchLoop {
  /** Fetches soon, in the background. Never rejects; cheap when called often. */
  trigger(): void;
  /**
   * Resolves when a fetch that began after this call is done and readers see its result; rejects
   * with the reason of its failure.
   */
  refresh(): Promise<void>;
  /** Resolves when nothing is in progress. */
  close(): Promise<void>;
}

export interface FetchLoopOptions {
  readonly source: { refresh(): Promise<unknown>; close(): Promise<void> };
  readonly follower: { catchUp(): Promise<void> };
  readonly intervalMs: number;
  readonly logger: Logger;
  /** Between 0 and 1; for tests. */
  readonly random?: () => number;
}

const FIRST_RETRY_MS = 1_000;
/** Minimum time between fetches, however often clients report moves. */
const SHORTEST_GAP_MS = 250;
/** Jitter, as a fraction of the interval: many daemons must not fetch at the same time. */
const JITTER = 0.2;

export function startFetching(options: FetchLoopOptions): FetchLoop {
  return new Loop(options);
}

class Loop implements FetchLoop {
  readonly #options: FetchLoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** The fetch that begins when the running one ends. */
  #next: Promise<void> | undefined;
  #failures = 0;
  /** Triggered during a fetch, which may have begun before the reported move. */
  #triggered = false;
  #began = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: FetchLoopOptions) {
    this.#options = options;
    this.#schedule();
  }

  trigger(): void {
    if (this.#running !== undefined) {
      this.#triggered = true;
      return;
    }
    const wait = this.#untilAllowed();
    if (wait > 0) {
      this.#arm(wait);
      return;
    }
    this.refresh().catch((error: unknown) => {
      this.#options.logger.debug({ err: error }, 'A fetch that was asked for failed');
    });
  }

  refresh(): Promise<void> {
    if (this.#closed) return Promise.reject(new Error('Fetching has ended'));
    if (this.#running === undefined) return this.#begin();
    const begin = (): Promise<void> => {
      this.#next = undefined;
      return this.#begin();
    };
    this.#next ??= this.#running.then(begin, begin);
    return this.#next;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#options.source.close();
    await Promise.allSettled([this.#running, this.#next]);
  }

  #begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.#triggered = false;
    this.#began = performance.now();
    this.#running = this.#fetch().finally(() => {
      this.#running = undefined;
      this.#schedule();
    });
    return this.#running;
  }

  async #fetch(): Promise<void> {
    const { source, follower } = this.#options;
    try {
      await source.refresh();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
    await follower.catchUp();
  }

  #schedule(): void {
    if (this.#closed || this.#next !== undefined) return;
    this.#arm(this.#triggered ? this.#untilAllowed() : this.#wait());
  }

  #untilAllowed(): number {
    return this.#began + SHORTEST_GAP_MS - performance.now();
  }

  #arm(wait: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.trigger(), wait);
    this.#timer.unref();
  }

  #wait(): number {
    const { intervalMs, random = Math.random } = this.#options;
    const backoff = { firstMs: FIRST_RETRY_MS, lastMs: intervalMs };
    const wait = this.#failures === 0 ? intervalMs : backoffBound(this.#failures, backoff);
    return wait * (1 + JITTER * (2 * random() - 1));
  }
}
