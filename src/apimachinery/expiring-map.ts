/**
 * In-memory entries with an expiry. Number and bytes are limited, because strangers can create entries.
 * Each entry is charged to its owner: a person, or a network within wider ones. At each level the owner
 * with the most entries is evicted first, and of the last one the oldest entry, so that nobody can evict
 * entries of an owner who has fewer, with any number of small networks either.
 */
import type { Clock } from './clock.ts';

export interface ExpiringMapLimits {
  readonly entries: number;
  /** JSON bytes of the values. */
  readonly bytes: number;
}

interface Entry<V> {
  readonly value: V;
  readonly bytes: number;
  readonly owner: readonly string[];
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const SWEEP_MS = 1000;

class Owner {
  /** Entries of its own, oldest first. */
  readonly keys = new Set<string>();
  readonly within = new Map<string, Owner>();
  entries = 0;
  bytes = 0;

  /** This owner and those of the path below it, with those that are missing. */
  line(path: readonly string[]): Owner[] {
    const [name, ...rest] = path;
    if (name === undefined) return [this];
    const next = this.within.get(name) ?? new Owner();
    this.within.set(name, next);
    return [this, ...next.line(rest)];
  }
}

/** Arguments of `set` beside the value. */
export interface Expiring {
  readonly seconds: number;
  /** Owner of the entry: a person, or the networks of a stranger, widest first. */
  readonly owner?: string | readonly string[];
}

export class ExpiringMap<V> {
  readonly #entries = new Map<string, Entry<V>>();
  #owners = new Owner();
  readonly #limits: ExpiringMapLimits;
  readonly #clock: Clock;
  readonly #onGone: (key: string, value: V) => void;
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
    const path = typeof owner === 'string' ? [owner] : owner;
    this.#entries.set(key, { value, bytes, owner: path, until });
    const line = this.#owners.line(path);
    line.at(-1)?.keys.add(key);
    for (const one of line) {
      one.entries += 1;
      one.bytes += bytes;
    }
    this.#makeRoom();
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const line = this.#owners.line(entry.owner);
    line.at(-1)?.keys.delete(key);
    for (const [i, one] of line.entries()) {
      one.entries -= 1;
      one.bytes -= entry.bytes;
      if (one.entries === 0) line[i - 1]?.within.delete(entry.owner[i - 1] ?? '');
    }
    this.#onGone(key, entry.value);
  }

  clear(): void {
    this.#entries.clear();
    this.#owners = new Owner();
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Removes expired entries first. */
  #makeRoom(): void {
    this.deleteEnded();
    const { entries, bytes } = this.#limits;
    while (this.#owners.entries > entries) this.#deleteOldestOf((owner) => owner.entries);
    while (this.#owners.bytes > bytes) this.#deleteOldestOf((owner) => owner.bytes);
  }

  /** Checks the oldest entries each time, and those of a full map at most once per second. */
  deleteEnded(): void {
    const now = this.#clock.now();
    const { entries, bytes } = this.#limits;
    const isFull = this.#owners.entries > entries || this.#owners.bytes > bytes;
    const isSweep = isFull && Math.abs(now - this.#sweptAt) >= SWEEP_MS;
    if (isSweep) this.#sweptAt = now;
    for (const [key, { until }] of this.#entries) {
      if (until <= now) this.delete(key);
      else if (!isSweep) return;
    }
  }

  /** Entry of the owner with the most, level by level; the newest owner if several have the same. */
  #deleteOldestOf(share: (owner: Owner) => number): void {
    let most = this.#owners;
    while (most.within.size > 0) most = greatest(most.within.values(), share) ?? most;
    const [oldest] = most.keys;
    if (oldest !== undefined) this.delete(oldest);
  }
}

function greatest(owners: Iterable<Owner>, share: (owner: Owner) => number): Owner | undefined {
  let most: Owner | undefined;
  for (const owner of owners) {
    if (most === undefined || share(owner) >= share(most)) most = owner;
  }
  return most;
}
