/**
 * Events that clients write: in the same store as ours, in both forms, for an hour after they were
 * last written. There is room for so many of each namespace, and of all: the oldest go first. Ours
 * have room of their own, so that nobody can crowd them out.
 */
import { type Clock, keyString, type ObjectKey, tooLarge } from '../../apimachinery/index.ts';
import type { Guard } from '../../registry/index.ts';
import type { Change, ScopedStore, Store } from '../../state/index.ts';
import { inBothForms } from './event-objects.ts';

export interface EventLimits {
  readonly events: number;
  readonly inNamespace: number;
  /** JSON bytes of one, and of all together. */
  readonly bytesOfOne: number;
  readonly bytes: number;
  readonly keepMs: number;
}

export const EVENT_LIMITS: EventLimits = {
  events: 5000,
  inNamespace: 1000,
  bytesOfOne: 16 * 1024,
  bytes: 16 * 1024 * 1024,
  keepMs: 60 * 60_000,
};

/** An event that a client wrote. */
interface Kept {
  readonly key: ObjectKey;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly written: number;
}

export class ClientEvents {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  /** By namespace and name, the one that was written longest ago first. */
  readonly #kept = new Map<string, Kept>();
  /** The same of each namespace. */
  readonly #namespaces = new Map<string, Map<string, Kept>>();
  #bytes = 0;

  constructor(of: { store: Store; clock: Clock; limits?: EventLimits }) {
    this.#store = of.store;
    this.#clock = of.clock;
    this.#limits = of.limits ?? EVENT_LIMITS;
  }

  /** What a registry writes events to; all else in the store can be read in it. */
  get part(): ScopedStore {
    const store = this.#store;
    return {
      get resourceVersion(): number {
        return store.resourceVersion;
      },
      get: (key) => store.get(key),
      list: (of) => store.list(of),
      listAt: (of, version) => store.listAt(of, version),
      watch: (of, since) => store.watch(of, since),
      observe: (of, listener) => store.observe(of, listener),
      flush: () => store.flush(),
      apply: (changes) => changes.map((change) => this.#apply(change)),
    };
  }

  /** 413 for an event that no program should write. */
  readonly guard: Guard = ({ object }) => {
    const { bytesOfOne } = this.#limits;
    return object !== undefined && bytesOf(object) > bytesOfOne ? tooLarge(bytesOfOne) : undefined;
  };

  /** Drops those that were written too long ago. */
  forget(): void {
    const since = this.#clock.now() - this.#limits.keepMs;
    const old: Kept[] = [];
    for (const kept of this.#kept.values()) {
      if (kept.written > since) break;
      old.push(kept);
    }
    this.#store.apply(old.flatMap((kept) => this.#drop(kept)));
  }

  #apply(change: Change): ReturnType<Store['apply']>[number] {
    const before = this.#kept.get(idOf(change.key));
    if (before !== undefined) this.#forget(before);
    const passed: Change[] = [];
    if (change.type === 'put') {
      this.#keep(change.key, bytesOf(change.object));
      passed.push(...this.#surplus(change.key.namespace));
    }
    const [stored] = this.#store.apply([...inBothForms(change), ...passed]);
    return stored;
  }

  #keep(key: ObjectKey, bytes: number): void {
    const id = idOf(key);
    const kept = { key, bytes, written: this.#clock.now() };
    this.#kept.set(id, kept);
    const namespace = this.#namespaces.get(key.namespace) ?? new Map<string, Kept>();
    this.#namespaces.set(key.namespace, namespace.set(id, kept));
    this.#bytes += bytes;
  }

  #forget({ key, bytes }: Kept): void {
    const id = idOf(key);
    this.#kept.delete(id);
    const namespace = this.#namespaces.get(key.namespace);
    namespace?.delete(id);
    if (namespace?.size === 0) this.#namespaces.delete(key.namespace);
    this.#bytes -= bytes;
  }

  #drop(kept: Kept): Change[] {
    this.#forget(kept);
    return inBothForms({ type: 'remove', key: kept.key });
  }

  /** The removals that make room for what was written last, in a namespace. */
  #surplus(name: string): Change[] {
    const { events, inNamespace, bytes } = this.#limits;
    const namespace = this.#namespaces.get(name) ?? new Map<string, Kept>();
    const removals: Change[] = [];
    while (namespace.size > inNamespace) removals.push(...this.#dropOldest(namespace));
    while (this.#kept.size > events || this.#bytes > bytes) {
      removals.push(...this.#dropOldest(this.#kept));
    }
    return removals;
  }

  #dropOldest(of: ReadonlyMap<string, Kept>): Change[] {
    for (const kept of of.values()) return this.#drop(kept);
    return [];
  }
}

/** The same in both forms. */
function idOf(key: ObjectKey): string {
  return keyString({ ...key, group: '' });
}

function bytesOf(object: object): number {
  return Buffer.byteLength(JSON.stringify(object));
}
