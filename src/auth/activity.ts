/**
 * When each access key was last used. Kept in memory and written at a bounded rate, since every
 * request is a use; never in git.
 */
import { Mutex } from '../concurrency/index.ts';

export interface ActivityOptions {
  /**
   * Keeps the last use of keys by name, in milliseconds since the epoch. What it fails to keep is
   * given to it again with the next batch.
   */
  readonly save: (lastUse: ReadonlyMap<string, number>) => void | Promise<void>;
  /** Told of a failed save that nobody waits for. */
  readonly onError: (error: unknown) => void;
}

/** The longest a use stays in memory only. */
export const SAVE_INTERVAL_MS = 60_000;
const SECOND_MS = 1000;

export class ActivityTracker {
  readonly #options: ActivityOptions;
  readonly #lastUse = new Map<string, number>();
  #unsaved = new Map<string, number>();
  readonly #mutex = new Mutex();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ActivityOptions) {
    this.#options = options;
  }

  lastUse(key: string): number | undefined {
    return this.#lastUse.get(key);
  }

  /**
   * Notes a use. `atOnce` saves without waiting for the interval, for keys that a lost use would
   * end early. Saved timestamps have whole seconds, so only the first use in a second is saved.
   */
  record(key: string, now: number, atOnce: boolean): void {
    const last = this.#lastUse.get(key);
    this.#lastUse.set(key, now);
    if (last !== undefined && Math.floor(last / SECOND_MS) === Math.floor(now / SECOND_MS)) return;
    this.#unsaved.set(key, now);
    if (atOnce) this.#saveInBackground();
    else this.#schedule();
  }

  /** For a key that is gone: a later one of the same name starts afresh. */
  forget(key: string): void {
    this.#lastUse.delete(key);
    this.#unsaved.delete(key);
  }

  /** Saves what is unsaved. Rejects when that fails; the uses stay unsaved then. */
  save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#mutex.run(() => this.#saveBatch());
  }

  /** Saves the rest and stops the timer. */
  async stop(): Promise<void> {
    try {
      await this.save();
    } finally {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.#saveInBackground(), SAVE_INTERVAL_MS).unref();
  }

  #saveInBackground(): void {
    this.save().catch(this.#options.onError);
  }

  async #saveBatch(): Promise<void> {
    const batch = this.#unsaved;
    if (batch.size === 0) return;
    this.#unsaved = new Map();
    try {
      await this.#options.save(batch);
    } catch (error) {
      for (const [key, at] of batch) {
        const forgotten = !this.#lastUse.has(key);
        if (!forgotten && !this.#unsaved.has(key)) this.#unsaved.set(key, at);
      }
      this.#schedule();
      throw error;
    }
  }
}
