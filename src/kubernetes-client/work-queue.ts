/**
 * Keys that have work to do: each at most once in line and never twice at a time; one that failed
 * comes back later, with growing patience, and does not keep others waiting.
 */
import { type Backoff, backoffAfter } from '../concurrency/index.ts';

export interface WorkQueueOptions {
  /** Throws when the key is to come back later. */
  work(key: string): Promise<void>;
  /** What a failed attempt asks for, if it knows better than growing patience. */
  delayFor?(error: unknown): number | undefined;
  readonly workers: number;
  readonly patience?: Backoff;
  /** Nothing is in line and nothing is being worked on. */
  idle?(): void;
}

const PATIENCE: Backoff = { firstMs: 100, lastMs: 30_000 };

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #line = new Set<string>();
  readonly #working = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #later = new Map<string, NodeJS.Timeout>();
  #stopped = false;
  #idle: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Whether a key waits or is being worked on; failed ones that come back later do not count. */
  get busy(): boolean {
    return this.#line.size > 0 || this.#working.size > 0;
  }

  /** What is known has changed, so it is worth trying at once. */
  add(key: string): void {
    if (this.#stopped) return;
    clearTimeout(this.#later.get(key));
    this.#later.delete(key);
    this.#line.add(key);
    queueMicrotask(() => this.#next());
  }

  addLater(key: string, ms: number): void {
    if (this.#stopped || this.#line.has(key)) return;
    clearTimeout(this.#later.get(key));
    this.#later.set(
      key,
      setTimeout(() => this.add(key), ms),
    );
  }

  /** Resolves when nothing is being worked on any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#line.clear();
    for (const timer of this.#later.values()) clearTimeout(timer);
    this.#later.clear();
    if (this.#working.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #next(): void {
    for (const key of this.#line) {
      if (this.#working.size >= this.#options.workers) return;
      if (this.#working.has(key)) continue;
      this.#line.delete(key);
      this.#working.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    const { work, delayFor, patience = PATIENCE } = this.#options;
    try {
      await work(key);
      this.#failures.delete(key);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.addLater(key, delayFor?.(error) ?? backoffAfter(failures, patience));
    }
    this.#working.delete(key);
    if (this.#stopped && this.#working.size === 0) this.#idle?.();
    else if (!this.#stopped) this.#next();
    if (!this.busy) this.#options.idle?.();
  }
}
