/**
 * Places of all documents that name one key, in order. A push may have thousands of commits that add one
 * more: a change copies the list of chunks and the chunks with changes, and shares the others.
 */
import { comparePlaces, type Place } from './catalog-object.ts';

const CHUNK_SIZE = 64;

type Chunk = readonly Place[];

export class Places {
  static readonly none = new Places([], 0);
  readonly #chunks: readonly Chunk[];
  readonly size: number;

  private constructor(chunks: readonly Chunk[], size: number) {
    this.#chunks = chunks;
    this.size = size;
  }

  get first(): Place | undefined {
    return this.#chunks[0]?.[0];
  }

  /** The first place in a file. */
  firstIn(path: string): Place | undefined {
    const from = { path, index: 0 };
    const at = chunkOf(this.#chunks, from);
    const chunk = this.#chunks[at] ?? [];
    const found = chunk[lowerBound(chunk, from)] ?? this.#chunks[at + 1]?.[0];
    return found?.path === path ? found : undefined;
  }

  *[Symbol.iterator](): IterableIterator<Place> {
    for (const chunk of this.#chunks) yield* chunk;
  }

  changed(removed: Iterable<Place>, added: Iterable<Place>): Places {
    const chunks = [...this.#chunks];
    const own = new Set<Chunk>();
    let { size } = this;
    const ownChunk = (at: number): Place[] => {
      const chunk = chunks[at] ?? [];
      if (own.has(chunk)) return chunk as Place[];
      const copy = [...chunk];
      own.add(copy);
      chunks[at] = copy;
      return copy;
    };
    for (const place of removed) {
      const at = chunkOf(chunks, place);
      const index = lowerBound(chunks[at] ?? [], place);
      if (!isAt(chunks[at], index, place)) continue;
      const chunk = ownChunk(at);
      chunk.splice(index, 1);
      if (chunk.length === 0) chunks.splice(at, 1);
      size--;
    }
    for (const place of added) {
      const at = chunkOf(chunks, place);
      const index = lowerBound(chunks[at] ?? [], place);
      if (isAt(chunks[at], index, place)) continue;
      const chunk = ownChunk(at);
      chunk.splice(index, 0, place);
      size++;
      if (chunk.length <= CHUNK_SIZE) continue;
      const right = chunk.splice(CHUNK_SIZE / 2);
      own.add(right);
      chunks.splice(at + 1, 0, right);
    }
    return new Places(chunks, size);
  }
}

function isAt(chunk: Chunk | undefined, index: number, place: Place): boolean {
  const there = chunk?.[index];
  return there !== undefined && comparePlaces(there, place) === 0;
}

/** Index of the last chunk that begins at or before the place; 0 if there is none. */
function chunkOf(chunks: readonly Chunk[], place: Place): number {
  let [low, high] = [0, chunks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const first = chunks[middle]?.[0];
    if (first !== undefined && comparePlaces(first, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

/** Index of the first place that is not before this one. */
function lowerBound(chunk: Chunk, place: Place): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const there = chunk[middle];
    if (there !== undefined && comparePlaces(there, place) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
