/**
 * Facts about objects of all kinds, for questions that no list answers. The index is built on first
 * use, yields to the event loop meanwhile, follows the changes of the store, and is dropped when idle.
 */
import { keyString, type ObjectKey, Yielding } from '../../apimachinery/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { ServedStore } from '../dependencies.ts';

/** Facts about one object. */
export interface Indexed<F> {
  readonly key: ObjectKey;
  readonly facts: F;
}

/** By the text of the key. */
export type IndexedKind<F> = ReadonlyMap<string, Indexed<F>>;

export interface ObjectIndexOptions<F> {
  readonly kinds: readonly Kind[];
  readonly store: Pick<ServedStore, 'list' | 'observe'>;
  /** Undefined: the object has none. */
  factsOf(kind: Kind, stored: StoredObject): F | undefined;
  readonly idleMs?: number;
}

const IDLE_MS = 10 * 60_000;
const BETWEEN_LOOKS = 64;

export class ObjectIndex<F> {
  readonly #options: ObjectIndexOptions<F>;
  #built: Promise<ReadonlyMap<Kind, IndexedKind<F>>> | undefined;
  #stops: (() => void)[] = [];
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ObjectIndexOptions<F>) {
    this.#options = options;
  }

  /** The facts of every object. The maps follow the store: read them before the next wait, or copy. */
  async kinds(): Promise<ReadonlyMap<Kind, IndexedKind<F>>> {
    clearTimeout(this.#idle);
    this.#built ??= this.#build().catch((error: unknown) => {
      this.#drop();
      throw error;
    });
    try {
      return await this.#built;
    } finally {
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => this.#drop(), this.#options.idleMs ?? IDLE_MS).unref();
    }
  }

  /** Runs only when no build is under way: the timer starts at the end of one. */
  #drop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#built = undefined;
  }

  async #build(): Promise<ReadonlyMap<Kind, IndexedKind<F>>> {
    const { kinds, store } = this.#options;
    const found = new Map<Kind, Map<string, Indexed<F>>>();
    const pauses = new Yielding();
    let looked = 0;
    for (const kind of kinds) {
      const entries = new Map<string, Indexed<F>>();
      found.set(kind, entries);
      /** Objects that changed while they were read. */
      let changed: Set<string> | undefined = new Set<string>();
      const collection = { group: kind.group, kind: kind.kind };
      const stop = store.observe(collection, ({ type, current }) => {
        const id = keyString(current.key);
        changed?.add(id);
        if (type === 'DELETED') entries.delete(id);
        else this.#put(entries, { id, kind, stored: current });
      });
      this.#stops.push(stop);
      for (const stored of store.list(collection).items) {
        if (looked++ % BETWEEN_LOOKS === 0) await pauses.take();
        const id = keyString(stored.key);
        if (!changed.has(id)) this.#put(entries, { id, kind, stored });
      }
      changed = undefined;
    }
    return found;
  }

  #put(
    entries: Map<string, Indexed<F>>,
    { id, kind, stored }: { id: string; kind: Kind; stored: StoredObject },
  ): void {
    const facts = this.#options.factsOf(kind, stored);
    if (facts === undefined) entries.delete(id);
    else entries.set(id, { key: stored.key, facts });
  }
}
