/**
 * In-memory entries with an expiry. Number and bytes are limited, because strangers can create entries.
 * Each entry is charged to its owner. The owner with the most entries is evicted first, oldest entry
 * first, so that nobody can evict entries of an owner who has fewer.
 */
import type { Clock } from '../apimachinery/index.ts';

export interface ExpiringMapLimits {
  readonly entries: number;
  /** JSON bytes of the values. */
  readonly bytes: number;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const SWEEP_MS = 1000;

interface Owner {
  /** Oldest first. */
  readonly keys: Set<string>;
  bytes: number;
}

/** Arguments of `set` beside the value. */
export interface Expiring {
  readonly seconds: number;
  /** Owner of the entry: a person, or the network of a stranger. */
  readonly owner?: string;
}

export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #owners = new Map<string, Owner>();
  readonly #limits: ExpiringMapLimits;
  readonly #clock: Clock;
  readonly #onGone: (key: string, value: V) => void;
  #bytes = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

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

  set(key: string, value: V, { seconds, owner = '' }: Expiring): void {
    this.delete(key);
    const bytes = key.length + JSON.stringify(value).length;
    // A single entry must not evict everything else.
    if (bytes > this.#limits.bytes) return;
    const until = this.#clock.now() + seconds * 1000;
    this.#entries.set(key, { value, bytes, owner, until });
    this.#bytes += bytes;
    const own = this.#owners.get(owner) ?? { keys: new Set(), bytes: 0 };
    own.keys.add(key);
    own.bytes += bytes;
    this.#owners.set(owner, own);
    this.#makeRoom();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    const own = this.#owners.get(entry.owner);
    own?.keys.delete(key);
    if (own !== undefined) own.bytes -= entry.bytes;
    if (own?.keys.size === 0) this.#owners.delete(entry.owner);
    this.#onGone(key, entry.value);
  }

  clear(): void {
    this.#entries.clear();
    this.#owners.clear();
    this.#bytes = 0;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Removes expired entries first. */
  #makeRoom(): void {
    this.#deleteEnded();
    const { entries, bytes } = this.#limits;
    while (this.#entries.size > entries) this.#deleteOldestOf(({ keys }) => keys.size);
    while (this.#bytes > bytes) this.#deleteOldestOf((owner) => owner.bytes);
  }

  /** Checks the oldest entries each time, and all entries at most once per second. */
  #deleteEnded(): void {
    const now = this.#clock.now();
    const isFull = this.#entries.size > this.#limits.entries || this.#bytes > this.#limits.bytes;
    const isSweep = isFull && Math.abs(now - this.#sweptAt) >= SWEEP_MS;
    if (isSweep) this.#sweptAt = now;
    for (const [key, { until }] of this.#entries) {
      if (until <= now) this.delete(key);
      else if (!isSweep) return;
    }
  }

  /** Entry of the owner with the most entries; the newest owner if several have the same number. */
  #deleteOldestOf(share: (owner: Owner) => number): void {
    let most: Owner | undefined;
    for (const owner of this.#owners.values()) {
      if (most === undefined || share(owner) >= share(most)) most = owner;
    }
    const [oldest] = most?.keys ?? [];
    if (oldest !== undefined) this.delete(oldest);
  }
}
