/**
 * Events that clients write, in both API versions, for an hour after their last write. Capacity is
 * limited per namespace and in total; the oldest events are evicted. Events of controllers have a
 * ring of their own, so that clients cannot evict them.
 */
import { type Clock, keyString, type ObjectKey, tooLarge } from '../../apimachinery/index.ts';
import type { Guard } from '../../registry/index.ts';
import type { Change, ScopedStore, Store } from '../../state/index.ts';
import { inBothForms } from './event-objects.ts';

export interface EventLimits {
  readonly events: number;
  readonly inNamespace: number;
  /** JSON bytes of one event, and of all events. */
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

/** Size and time of an event that a client wrote. */
interface WrittenEvent {
  readonly key: ObjectKey;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly written: number;
}

export class ClientEvents {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  /** By namespace and name, least recently written first. */
  readonly #written = new Map<string, WrittenEvent>();
  /** The same entries per namespace. */
  readonly #namespaces = new Map<string, Map<string, WrittenEvent>>();
  #bytes = 0;

  constructor(of: { store: Store; clock: Clock; limits?: EventLimits }) {
    this.#store = of.store;
    this.#clock = of.clock;
    this.#limits = of.limits ?? EVENT_LIMITS;
  }

  /** Store of the event registry: writes pass the limits, reads see the whole store. */
  get store(): ScopedStore {
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

  /** 413 for an event larger than `bytesOfOne`. */
  readonly guard: Guard = ({ object }) => {
    const { bytesOfOne } = this.#limits;
    return object !== undefined && bytesOf(object) > bytesOfOne ? tooLarge(bytesOfOne) : undefined;
  };

  /** Removes events whose last write is older than `keepMs`. */
  removeOld(): void {
    const since = this.#clock.now() - this.#limits.keepMs;
    const old: WrittenEvent[] = [];
    for (const event of this.#written.values()) {
      if (event.written > since) break;
      old.push(event);
    }
    this.#store.apply(old.flatMap((event) => this.#drop(event)));
  }

  #apply(change: Change): ReturnType<Store['apply']>[number] {
    const before = this.#written.get(idOf(change.key));
    if (before !== undefined) this.#untrack(before);
    const evictions: Change[] = [];
    if (change.type === 'put') {
      this.#track(change.key, bytesOf(change.object));
      evictions.push(...this.#evictions(change.key.namespace));
    }
    const [stored] = this.#store.apply([...inBothForms(change), ...evictions]);
    return stored;
  }

  #track(key: ObjectKey, bytes: number): void {
    const id = idOf(key);
    const event = { key, bytes, written: this.#clock.now() };
    this.#written.set(id, event);
    const namespace = this.#namespaces.get(key.namespace) ?? new Map<string, WrittenEvent>();
    this.#namespaces.set(key.namespace, namespace.set(id, event));
    this.#bytes += bytes;
  }

  #untrack({ key, bytes }: WrittenEvent): void {
    const id = idOf(key);
    this.#written.delete(id);
    const namespace = this.#namespaces.get(key.namespace);
    namespace?.delete(id);
    if (namespace?.size === 0) this.#namespaces.delete(key.namespace);
    this.#bytes -= bytes;
  }

  #drop(event: WrittenEvent): Change[] {
    this.#untrack(event);
    return inBothForms({ type: 'remove', key: event.key });
  }

  /** Removals that bring a namespace and the total back under the limits. */
  #evictions(name: string): Change[] {
    const { events, inNamespace, bytes } = this.#limits;
    const namespace = this.#namespaces.get(name) ?? new Map<string, WrittenEvent>();
    const removals: Change[] = [];
    while (namespace.size > inNamespace) removals.push(...this.#dropOldest(namespace));
    while (this.#written.size > events || this.#bytes > bytes) {
      removals.push(...this.#dropOldest(this.#written));
    }
    return removals;
  }

  #dropOldest(of: ReadonlyMap<string, WrittenEvent>): Change[] {
    for (const event of of.values()) return this.#drop(event);
    return [];
  }
}

/** Equal for both API versions of an event. */
function idOf(key: ObjectKey): string {
  return keyString({ ...key, group: '' });
}

function bytesOf(object: object): number {
  return Buffer.byteLength(JSON.stringify(object));
}
