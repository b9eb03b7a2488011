/**
 * Bytes that are needed for about as long as each other. A block of this size is a mapping of its own
 * and goes back to the system as a whole when nothing of it is needed any more. What threads allocate
 * in small blocks stays resident when they have ended, and small blocks of our own leave holes.
 */
const SLAB_BYTES = 16 * 1024 * 1024;

export class BufferArena {
  #slab: Buffer<ArrayBuffer> | undefined;
  #used = 0;

  /** A copy of the bytes, among others that are copied soon. */
  place(bytes: Uint8Array<ArrayBuffer>): Buffer<ArrayBuffer> {
    if (bytes.length > SLAB_BYTES) return Buffer.from(bytes);
    if (this.#slab === undefined || this.#used + bytes.length > SLAB_BYTES) {
      // Pages of it take no memory before they are written to.
      this.#slab = Buffer.from(new ArrayBuffer(SLAB_BYTES));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes.length;
    this.#slab.set(bytes, start);
    return this.#slab.subarray(start, this.#used);
  }
}
