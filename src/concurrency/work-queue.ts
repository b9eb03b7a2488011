/**
 * The loop of a controller: a queue of keys, and the function that reconciles one of them. A key is in
 * the queue at most once and is never reconciled twice at the same time. One that failed is retried
 * with backoff, and delays no other.
 */
import { type Backoff, backoffAfter } from './backoff.ts';

export interface Reconciler {
  /**
   * Brings the key from the state that is there to the state that should be. Resolves to the
   * milliseconds after which the key is reconciled again, if any. Throws: it is retried with backoff.
   */
  reconcile(key: string): Promise<number | undefined> | Promise<void>;
}

export interface WorkQueueOptions extends Reconciler {
  /** Milliseconds that a failed attempt asks for. The backoff applies if it is longer. */
  delayFor?(error: unknown): number | undefined;
  readonly workers: number;
  readonly backoff?: Backoff | undefined;
  /** Called when no key is queued or being reconciled. */
  idle?(): void;
}

const BACKOFF: Backoff = { firstMs: 100, lastMs: 30_000 };
/** The longest delay of a timer; a key with a later deadline is reconciled then, and asks again. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #queued = new Set<string>();
  readonly #working = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #later = new Map<string, NodeJS.Timeout>();
  #stopped = false;
  #idle: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** True if a key is queued or being reconciled; keys that wait for a timer do not count. */
  get busy(): boolean {
    return this.#queued.size > 0 || this.#working.size > 0;
  }

  /** Queues the key, in place of a later time that was set for it. */
  add(key: string): void {
    if (this.#stopped) return;
    clearTimeout(this.#later.get(key));
    this.#later.delete(key);
    this.#queued.add(key);
    queueMicrotask(() => this.#next());
  }

  /** Queues the key after the time, unless it is queued. */
  addLater(key: string, ms: number): void {
    if (this.#stopped || this.#queued.has(key)) return;
    clearTimeout(this.#later.get(key));
    this.#later.set(key, setTimeout(() => this.add(key), Math.min(ms, LONGEST_DELAY_MS)).unref());
  }

  /** Drops what is queued. Resolves when no key is being reconciled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queued.clear();
    for (const timer of this.#later.values()) clearTimeout(timer);
    this.#later.clear();
    if (this.#working.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #next(): void {
    for (const key of this.#queued) {
      if (this.#working.size >= this.#options.workers) return;
      if (this.#working.has(key)) continue;
      this.#queued.delete(key);
      this.#working.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    const { delayFor, backoff = BACKOFF } = this.#options;
    try {
      const requeueAfter = await this.#options.reconcile(key);
      this.#failures.delete(key);
      if (typeof requeueAfter === 'number') this.addLater(key, requeueAfter);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.addLater(key, Math.max(delayFor?.(error) ?? 0, backoffAfter(failures, backoff)));
    }
    this.#working.delete(key);
    if (this.#stopped && this.#working.size === 0) this.#idle?.();
    else if (!this.#stopped) this.#next();
    if (!this.busy) this.#options.idle?.();
  }
}
