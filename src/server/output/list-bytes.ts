/**
 * Cache of the bytes of lists. The key is the array of items: the store returns the same array until
 * an object in it changes. A selection of items is a new array, and so has no entry.
 */

import type { ListSink } from '../../registry/index.ts';

/** Item of a list. Immutable. */
interface Item {
  json(): Buffer;
}

/** Of all lists together: 10,000 objects of 1.5 KB are one list of 15 MB. */
const MOST_KEPT = 32 * 1024 * 1024;
/** Smaller ones are made as soon as found. */
const LEAST_KEPT = 4 * 1024;
/** Smaller ones are made before another client asks. */
const LEAST_SHARED = 256 * 1024;

/** Bytes of the largest part, unless one item is larger: short enough that memory of an earlier one is used again. */
const PART = 256 * 1024;

interface Kept {
  /** The bytes go when others need the room, also where the list is still there. */
  parts: readonly Buffer[] | undefined;
  /** Bytes of a long list for as long as an answer with them is on its way: sharing them takes no memory. */
  shared: WeakRef<readonly Buffer[]> | undefined;
}

export class ListBytes {
  readonly #most: number;
  /** Lists that were asked for once have none: many are never asked for again. */
  readonly #lists = new WeakMap<readonly Item[], Kept>();
  /** Those with bytes, the one that was asked for longest ago first. */
  readonly #order = new Set<Kept>();
  /** Long lists that are being made. */
  readonly #making = new WeakMap<readonly Item[], Promise<readonly Buffer[]>>();
  #size = 0;

  constructor(most = MOST_KEPT) {
    this.#most = most;
  }

  /** Bytes that are kept. */
  get size(): number {
    return this.#size;
  }

  /**
   * `[…]}` in parts: the items as JSON, and the end of the list around them. Shared: never mutate. What `make` returns follows
   * from the items.
   */
  of(items: readonly Item[], make = (): readonly Buffer[] => jsonParts(items)): readonly Buffer[] {
    const known = this.#lists.get(items);
    if (known?.parts !== undefined) {
      this.#order.delete(known);
      this.#order.add(known);
      return known.parts;
    }
    const parts = known?.shared?.deref() ?? make();
    const shared = totalLength(parts) < LEAST_SHARED ? undefined : new WeakRef(parts);
    const kept = known ?? { parts: undefined, shared };
    if (known === undefined) this.#lists.set(items, kept);
    else this.#keep(kept, parts);
    kept.shared = shared;
    return parts;
  }

  /** The same for a long list, which `make` makes in turns with other work, once for all who ask meanwhile. */
  async prepared(
    items: readonly Item[],
    make: () => Promise<readonly Buffer[]>,
  ): Promise<readonly Buffer[]> {
    const known = this.#lists.get(items);
    const found = known?.parts ?? known?.shared?.deref() ?? this.#making.get(items);
    if (found !== undefined) return await found;
    const making = make();
    this.#making.set(items, making);
    try {
      return await making;
    } finally {
      this.#making.delete(items);
    }
  }

  #keep(kept: Kept, parts: readonly Buffer[]): void {
    const size = totalLength(parts);
    if (size < LEAST_KEPT || size > this.#most) return;
    kept.parts = parts;
    this.#order.add(kept);
    this.#size += size;
    for (const oldest of this.#order) {
      if (this.#size <= this.#most) break;
      this.#order.delete(oldest);
      this.#size -= totalLength(oldest.parts ?? []);
      oldest.parts = undefined;
    }
  }
}

export function totalLength(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

const [START, COMMA, END] = ['[', ',', ']}'].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
];

/** Writes `[…]}` to parts: one copy of each item, and no buffer of its own. */
export class ListWriter implements ListSink {
  readonly #parts: Buffer[] = [];
  #part = Buffer.allocUnsafe(LEAST_KEPT);
  #used = 0;
  #isFirst = true;

  next(): void {
    this.write(this.#isFirst ? START : COMMA);
    this.#isFirst = false;
  }

  write(bytes: Buffer, begin = 0, end = bytes.length): void {
    const length = end - begin;
    if (this.#used + length > this.#part.length) this.#begin(length);
    bytes.copy(this.#part, this.#used, begin, end);
    this.#used += length;
  }

  /** The parts; nothing may be written afterwards. */
  end(): readonly Buffer[] {
    if (this.#isFirst) this.write(START);
    this.write(END);
    // Kept lists have no free room.
    return [...this.#parts, Buffer.from(this.#part.subarray(0, this.#used))];
  }

  /** Parts grow, so that a short list takes little. */
  #begin(length: number): void {
    if (this.#used > 0) this.#parts.push(this.#part.subarray(0, this.#used));
    const grown = Math.min(2 * this.#part.length, PART);
    this.#part = Buffer.allocUnsafe(Math.max(grown, length));
    this.#used = 0;
  }
}

/** `[…]}` of items that are shown as they are. */
export function jsonParts(items: readonly Item[]): readonly Buffer[] {
  const writer = new ListWriter();
  for (const item of items) {
    writer.next();
    writer.write(item.json());
  }
  return writer.end();
}
