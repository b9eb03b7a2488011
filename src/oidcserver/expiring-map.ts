/**
 * What is kept in memory for a while: bounded in number and bytes, since strangers can make entries.
 * The oldest make room.
 */
import type { Clock } from '../apimachinery/clock.ts';

export interface ExpiringMapLimits {
  readonly entries: number;
  /** Of the values as JSON. */
  readonly bytes: number;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #limits: ExpiringMapLimits;
  readonly #clock: Clock;
  readonly #onGone: (key: string, value: V) => void;
  #bytes = 0;

  constructor(
    limits: ExpiringMapLimits,
    clock: Clock,
    onGone: (key: string, value: V) => void = () => undefined,
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#onGone = onGone;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#clock.now()) return entry.value;
    this.delete(key);
    return undefined;
  }

  set(key: string, value: V, seconds: number): void {
    this.delete(key);
    const bytes = key.length + JSON.stringify(value).length;
    // It would take the place of everything else.
    if (bytes > this.#limits.bytes) return;
    const until = this.#clock.now() + seconds * 1000;
    this.#entries.set(key, { value, bytes, until });
    this.#bytes += bytes;
    this.#makeRoom();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    this.#onGone(key, entry.value);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The oldest first, whether they are over or not; those that are over go in passing. */
  #makeRoom(): void {
    const now = this.#clock.now();
    for (const [key, { until }] of this.#entries) {
      const isFull = this.#entries.size > this.#limits.entries || this.#bytes > this.#limits.bytes;
      if (!isFull && until > now) return;
      this.delete(key);
    }
  }
}
