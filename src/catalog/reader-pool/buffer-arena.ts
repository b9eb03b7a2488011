/**
 * Arena for buffers of similar lifetime. A block of this size is a separate memory mapping, which
 * the system gets back as a whole when none of it is used any more. Small allocations of threads
 * stay resident after the threads have ended, and small blocks of the main thread fragment the
 * heap.
 */
const SLAB_BYTES = 16 * 1024 * 1024;

export class BufferArena {
  #slab: Buffer<ArrayBuffer> | undefined;
  #used = 0;

  /** A copy of the bytes, next to others that are copied soon. */
  place(bytes: Uint8Array<ArrayBuffer>): Buffer<ArrayBuffer> {
    if (bytes.length > SLAB_BYTES) return Buffer.from(bytes);
    if (this.#slab === undefined || this.#used + bytes.length > SLAB_BYTES) {
      // Its pages take no memory before they are written.
      this.#slab = Buffer.from(new ArrayBuffer(SLAB_BYTES));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes.length;
    this.#slab.set(bytes, start);
    return this.#slab.subarray(start, this.#used);
  }
}
