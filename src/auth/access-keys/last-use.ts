/**
 * Last use of each access key. Uses are held in memory and saved at a bounded rate, since every request
 * is a use; they are never in git.
 */
import { Mutex } from '../../concurrency/index.ts';

export interface ActivityOptions {
  /**
   * Persists the last use of keys by name, in milliseconds since the epoch. A failed batch is included in
   * the next one.
   */
  readonly save: (lastUse: ReadonlyMap<string, number>) => void | Promise<void>;
  /** Called for a failed background save. */
  readonly onError: (error: unknown) => void;
}

/** Longest time that a use is only in memory. */
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
   * Records a use. `atOnce` saves it without delay, for keys that a lost use would end early. Saved
   * timestamps have whole seconds, so only the first use in a second is saved.
   */
  record(key: string, now: number, atOnce: boolean): void {
    const last = this.#lastUse.get(key);
    this.#lastUse.set(key, now);
    if (last !== undefined && Math.floor(last / SECOND_MS) === Math.floor(now / SECOND_MS)) return;
    this.#unsaved.set(key, now);
    if (atOnce) this.#saveInBackground();
    else this.#schedule();
  }

  /** Drops a removed key: a later key of the same name has no last use. */
  drop(key: string): void {
    this.#lastUse.delete(key);
    this.#unsaved.delete(key);
  }

  /** Saves all unsaved uses. Rejects on failure; the uses then stay unsaved. */
  save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#mutex.run(() => this.#saveBatch());
  }

  /** Saves all unsaved uses and stops the timer. */
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
