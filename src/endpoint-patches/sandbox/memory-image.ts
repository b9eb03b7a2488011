/**
 * Image of the memory of a sandbox when it was ready. It is restored after each evaluation: every
 * run begins in the same state, and finds nothing of the previous one.
 */

const BLOCK_BYTES = 4096;

interface Stretch {
  readonly start: number;
  readonly bytes: Uint8Array;
}

export class MemoryImage {
  readonly #memory: WebAssembly.Memory;
  readonly #length: number;
  /** Stretches that hold something; what lies between them is the engine's empty stack. */
  readonly #stretches: readonly Stretch[];
  #view: Uint8Array;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#view = new Uint8Array(memory.buffer);
    this.#length = this.#view.length;
    this.#stretches = stretchesOf(this.#view);
  }

  /** Bytes that are copied to put the memory back. */
  get size(): number {
    return this.#stretches.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Memory never shrinks: a realm whose memory has grown is replaced instead. */
  get grown(): boolean {
    return this.#memory.buffer.byteLength > this.#length;
  }

  restore(): void {
    if (this.#view.buffer !== this.#memory.buffer) this.#view = new Uint8Array(this.#memory.buffer);
    for (const { start, bytes } of this.#stretches) this.#view.set(bytes, start);
  }
}

const NOTHING = Buffer.alloc(BLOCK_BYTES);

function stretchesOf(view: Uint8Array): Stretch[] {
  const stretches: Stretch[] = [];
  let start: number | undefined;
  for (let at = 0; at <= view.length; at += BLOCK_BYTES) {
    const used = at < view.length && !NOTHING.equals(view.subarray(at, at + BLOCK_BYTES));
    if (used) start ??= at;
    else if (start !== undefined) {
      stretches.push({ start, bytes: view.slice(start, at) });
      start = undefined;
    }
  }
  return stretches;
}
