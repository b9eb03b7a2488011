/**
 * Merges the small parts of a body. Node makes a buffer of 100 to 200 bytes for each chunk of HTTP/1.1 and
 * each DATA frame of HTTP/2, even for one byte: a body of 3 MiB in such parts would take 500 MB.
 */
import { IncomingMessage } from 'node:http';

type Push = (part: Buffer | null) => boolean;

const SMALL_BYTES = 256;
/** Small parts that are passed on unchanged: most bodies have fewer. */
const MOST_UNCHANGED = 64;
const BLOCK_BYTES = 4096;

export class SmallParts {
  #count = 0;
  #block: Buffer | undefined;
  #used = 0;

  /** Passes a part on, or keeps it until the block is full or the body ends. */
  take(part: Buffer | null, push: Push): boolean {
    const isSmall = part !== null && part.length < SMALL_BYTES;
    if (!isSmall || ++this.#count <= MOST_UNCHANGED) {
      this.#flush(push);
      return push(part);
    }
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#used += part.copy(this.#block, this.#used);
    return this.#used + SMALL_BYTES < BLOCK_BYTES || this.#flush(push);
  }

  #flush(push: Push): boolean {
    const whole = this.#block?.subarray(0, this.#used);
    this.#block = undefined;
    this.#used = 0;
    return whole === undefined || push(whole);
  }
}

/** A request of HTTP/1.1. */
export class Http1Request extends IncomingMessage {
  readonly #parts = new SmallParts();

  override push(part: Buffer | null): boolean {
    return this.#parts.take(part, (merged) => super.push(merged));
  }
}
