/**
 * Cache of the bytes of lists. The key is the array of items: the store returns the same array until
 * an object in it changes. A selection of items is a new array, and so has no entry.
 */

/** Item of a list. Immutable. */
interface Item {
  json(): Buffer;
}

/** Of all lists together. */
const MOST_KEPT = 16 * 1024 * 1024;
/** Smaller ones are made as soon as found. */
const LEAST_KEPT = 4 * 1024;

/** The bytes go when others need the room, also where the list is still there. */
interface Kept {
  bytes: Buffer | undefined;
}

export class ListBytes {
  readonly #most: number;
  /** Lists that were asked for once have none: many are never asked for again. */
  readonly #lists = new WeakMap<readonly Item[], Kept>();
  /** Those with bytes, the one that was asked for longest ago first. */
  readonly #order = new Set<Kept>();
  #size = 0;

  constructor(most = MOST_KEPT) {
    this.#most = most;
  }

  /** Bytes that are kept. */
  get size(): number {
    return this.#size;
  }

  /** True if the bytes of a list are at hand. */
  has(items: readonly Item[]): boolean {
    return this.#lists.get(items)?.bytes !== undefined;
  }

  /**
   * `[…]}`: the items as JSON, and the end of the list around them. Shared: never mutate. `parts` follow from the items.
   */
  of(
    items: readonly Item[],
    parts = (): readonly Buffer[] => items.map((item) => item.json()),
  ): Buffer {
    const known = this.#lists.get(items);
    if (known?.bytes !== undefined) {
      this.#order.delete(known);
      this.#order.add(known);
      return known.bytes;
    }
    const bytes = join(parts());
    if (known === undefined) this.#lists.set(items, { bytes: undefined });
    else this.#keep(known, bytes);
    return bytes;
  }

  #keep(kept: Kept, bytes: Buffer): void {
    if (bytes.length < LEAST_KEPT || bytes.length > this.#most) return;
    kept.bytes = bytes;
    this.#order.add(kept);
    this.#size += bytes.length;
    for (const oldest of this.#order) {
      if (this.#size <= this.#most) break;
      this.#order.delete(oldest);
      this.#size -= oldest.bytes?.length ?? 0;
      oldest.bytes = undefined;
    }
  }
}

const START = '[';
const COMMA = 0x2c;
const END = Buffer.from(']}');

/** One allocation, one copy of each item. */
function join(parts: readonly Buffer[]): Buffer {
  const commas = Math.max(parts.length - 1, 0);
  const length = parts.reduce((sum, part) => sum + part.length, commas);
  const bytes = Buffer.allocUnsafe(START.length + length + END.length);
  let at = bytes.write(START);
  parts.forEach((part, index) => {
    if (index > 0) bytes[at++] = COMMA;
    bytes.set(part, at);
    at += part.length;
  });
  END.copy(bytes, at);
  return bytes;
}
