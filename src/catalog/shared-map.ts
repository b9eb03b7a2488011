/**
 * A map whose copies share its entries until they change. A copy costs a list of chunks, and two copies
 * are compared by the chunks that they do not share.
 */
import type { Restorable } from './undo-log.ts';

const CHUNK_SIZE = 64;

/** Numbers of the keys of a map and all of its copies. */
interface Numbers<K> {
  readonly byKey: Pick<Restorable<K, number>, 'get' | 'set'>;
  /** By number. */
  readonly keys: K[];
}

type Chunk<V> = (V | undefined)[];

export class SharedMap<K, V> {
  readonly #numbers: Numbers<K>;
  readonly #chunks: (Chunk<V> | undefined)[];
  /** Numbers of chunks that no copy shares. */
  readonly #own = new Set<number>();

  private constructor(numbers: Numbers<K>, chunks: (Chunk<V> | undefined)[]) {
    this.#numbers = numbers;
    this.#chunks = chunks;
  }

  /** An empty map. `byKey`: an empty map for the numbers of its keys. */
  static of<K, V>(byKey: Numbers<K>['byKey']): SharedMap<K, V> {
    return new SharedMap({ byKey, keys: [] }, []);
  }

  copy(): SharedMap<K, V> {
    this.#own.clear();
    return new SharedMap(this.#numbers, this.#chunks.slice());
  }

  get(key: K): V | undefined {
    const number = this.#numbers.byKey.get(key);
    if (number === undefined) return undefined;
    return this.#chunks[Math.floor(number / CHUNK_SIZE)]?.[number % CHUNK_SIZE];
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    const number = this.#numberOf(key);
    const at = Math.floor(number / CHUNK_SIZE);
    this.#ownChunk(at)[number % CHUNK_SIZE] = value;
  }

  #numberOf(key: K): number {
    const { byKey, keys } = this.#numbers;
    const known = byKey.get(key);
    if (known !== undefined) return known;
    byKey.set(key, keys.length);
    return keys.push(key) - 1;
  }

  #ownChunk(at: number): Chunk<V> {
    const chunk = this.#chunks[at];
    if (chunk !== undefined && this.#own.has(at)) return chunk;
    const own = chunk === undefined ? [] : chunk.slice();
    // Without holes, so that lists of chunks stay small.
    while (this.#chunks.length < at) this.#chunks.push(undefined);
    this.#chunks[at] = own;
    this.#own.add(at);
    return own;
  }

  *entries(): IterableIterator<[K, V]> {
    for (const at of this.#chunks.keys()) yield* this.#entriesIn(at);
  }

  /** Keys with another value in the other map; undefined if that is no copy. */
  keysDifferingFrom(other: SharedMap<K, V>): K[] | undefined {
    if (this.#numbers !== other.#numbers) return undefined;
    const found: K[] = [];
    const length = Math.max(this.#chunks.length, other.#chunks.length);
    for (let at = 0; at < length; at += 1) {
      const [one, two] = [this.#chunks[at], other.#chunks[at]];
      if (one === two) continue;
      for (let i = 0; i < CHUNK_SIZE; i += 1) {
        const key = this.#numbers.keys[at * CHUNK_SIZE + i];
        if (key !== undefined && one?.[i] !== two?.[i]) found.push(key);
      }
    }
    return found;
  }

  *#entriesIn(at: number): IterableIterator<[K, V]> {
    for (const [i, value] of (this.#chunks[at] ?? []).entries()) {
      const key = this.#numbers.keys[at * CHUNK_SIZE + i];
      if (key !== undefined && value !== undefined) yield [key, value];
    }
  }
}
