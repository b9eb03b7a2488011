/**
 * Buffer of events, as bytes side by side in large blocks: an event costs one copy, and neither an
 * allocation nor a write of its own.
 */

/** Whole lines. Not changed while a log holds them; several logs may hold the same block. */
export interface EventBlock {
  readonly bytes: Buffer;
  readonly events: number;
  /** Counts a holder of the block. Each holder calls `release` once. */
  hold?(): void;
  release?(): void;
}

const BLOCK_BYTES = 256 * 1024;
/** Of a UTF-16 unit in UTF-8. */
const MOST_BYTES_A_UNIT = 3;
const LINE_END = '}\n';
const CLOSING_BRACE = 0x7d;
const NEW_LINE = 0x0a;
const MOST_SPARE = 8;

export class EventBuffer {
  readonly #deliver: (block: EventBlock) => void;
  /** Memory that no log holds, for reuse: new memory would cost garbage collection. */
  readonly #free: Memory[] = [];
  #memory: Memory = { bytes: Buffer.alloc(0), holders: 1 };
  /** Start and end of the block that is being filled, in the memory. */
  #start = 0;
  #end = 0;
  #events = 0;

  constructor(deliver: (block: EventBlock) => void) {
    this.#deliver = deliver;
  }

  /** One line: the text and, behind it, the bytes. `text` lacks the last brace of the event. */
  add(text: string, bytes?: Buffer): void {
    this.#makeRoom(text, (bytes?.length ?? 0) + LINE_END.length);
    const memory = this.#memory.bytes;
    let at = this.#end;
    at += memory.write(text, at);
    if (bytes !== undefined) {
      memory.set(bytes, at);
      at += bytes.length;
    }
    memory[at++] = CLOSING_BRACE;
    memory[at++] = NEW_LINE;
    this.#end = at;
    this.#events++;
  }

  /** Hands on what there is. */
  flush(): void {
    if (this.#events === 0) return;
    const memory = this.#memory;
    const block = {
      bytes: memory.bytes.subarray(this.#start, this.#end),
      events: this.#events,
      hold: () => {
        memory.holders++;
      },
      release: () => this.#release(memory),
    };
    // The rest of the memory is for the next block.
    this.#start = this.#end;
    this.#events = 0;
    this.#deliver(block);
  }

  #makeRoom(text: string, tail: number): void {
    const most = text.length * MOST_BYTES_A_UNIT + tail;
    if (most <= this.#memory.bytes.length - this.#end) return;
    this.flush();
    this.#release(this.#memory);
    this.#memory = this.#memoryOf(Buffer.byteLength(text) + tail);
    this.#start = 0;
    this.#end = 0;
  }

  #memoryOf(size: number): Memory {
    const spare = size <= BLOCK_BYTES ? this.#free.pop() : undefined;
    const memory = spare ?? {
      bytes: Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, size)),
      holders: 0,
    };
    // It is held here as well, as long as it is filled.
    memory.holders = 1;
    return memory;
  }

  #release(memory: Memory): void {
    memory.holders--;
    if (memory.holders > 0 || memory.bytes.length !== BLOCK_BYTES) return;
    if (this.#free.length < MOST_SPARE) this.#free.push(memory);
  }
}

interface Memory {
  readonly bytes: Buffer;
  holders: number;
}
