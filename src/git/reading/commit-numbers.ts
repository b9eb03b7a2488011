/**
 * Table from commit ids to consecutive numbers, at some 30 bytes per commit: a map of strings takes five
 * times as much.
 */
import { randomInt } from 'node:crypto';

const ID_BYTES = 20;
const SLOTS_PER_COMMIT = 2;
const WORD_BITS = 32;

export class CommitNumbers {
  readonly #ids: Buffer;
  /** Index + 1 of the id in each slot; 0: the slot is free. */
  readonly #slots: Uint32Array;
  readonly #shift: number;
  /** Secret, so that nobody can make commits whose slots collide. */
  readonly #factor = randomInt(2 ** 31) * 2 + 1;
  #size = 0;

  /** `capacity`: a power of two. */
  constructor(capacity: number) {
    this.#ids = Buffer.alloc(capacity * ID_BYTES);
    this.#slots = new Uint32Array(capacity * SLOTS_PER_COMMIT);
    this.#shift = WORD_BITS - Math.log2(capacity * SLOTS_PER_COMMIT);
  }

  get size(): number {
    return this.#size;
  }

  /** Undefined: the commit has no number. */
  find(id: string): number | undefined {
    const index = this.#slots[this.#slotOf(Buffer.from(id, 'hex'))] ?? 0;
    return index === 0 ? undefined : index - 1;
  }

  id(number: number): string {
    return this.#ids.toString('hex', number * ID_BYTES, (number + 1) * ID_BYTES);
  }

  /** Gives the next number to a commit that has none. Callers keep the size within the capacity. */
  add(id: string): number {
    const bytes = Buffer.from(id, 'hex');
    bytes.copy(this.#ids, this.#size * ID_BYTES);
    this.#slots[this.#slotOf(bytes)] = this.#size + 1;
    this.#size += 1;
    return this.#size - 1;
  }

  clear(): void {
    this.#slots.fill(0);
    this.#size = 0;
  }

  /** The slot of the id, or the free slot for it. */
  #slotOf(id: Buffer): number {
    const mask = this.#slots.length - 1;
    let slot = Math.imul(id.readUInt32LE(0), this.#factor) >>> this.#shift;
    for (let index = this.#slots[slot]; index !== 0; index = this.#slots[slot]) {
      const at = ((index ?? 1) - 1) * ID_BYTES;
      if (id.compare(this.#ids, at, at + ID_BYTES) === 0) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}
