/**
 * Small parts of bodies. Node makes a buffer of 100 to 200 bytes for each chunk of HTTP/1.1 and each DATA
 * frame of HTTP/2, even for one byte, and takes some microseconds: small parts are merged, and a body is
 * refused when its connection has sent too many tiny ones.
 */
import { IncomingMessage } from 'node:http';
import { badRequest, StatusError } from '../apimachinery/index.ts';
import { TokenBucket } from '../auth/index.ts';

type Push = (part: Buffer | null) => boolean;

const SMALL_BYTES = 256;
/** Small parts of a body that are passed on unchanged, and not limited: most bodies have fewer. */
const MOST_UNCHANGED = 64;
const BLOCK_BYTES = 4096;
const TINY_BYTES = 16;
/** Limit of tiny parts of a connection, beyond the first small ones of each body. */
const TINY_PARTS = { perSecond: 1024, burst: 4096 };

/** By connection: the bodies of a connection share one limit. */
const limits = new WeakMap<object, TokenBucket>();

export class SmallParts {
  #count = 0;
  #block: Buffer | undefined;
  #used = 0;
  #areTooMany = false;

  /** True once the body is refused: the rest of it is dropped. */
  get areTooMany(): boolean {
    return this.#areTooMany;
  }

  /** Passes a part on, or keeps it until the block is full or the body ends. False: the client has to wait. */
  take(part: Buffer | null, connection: object, push: Push): boolean {
    if (this.#areTooMany) return false;
    const isSmall = part !== null && part.length < SMALL_BYTES;
    if (!isSmall || ++this.#count <= MOST_UNCHANGED) {
      this.#flush(push);
      return push(part);
    }
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#used += part.copy(this.#block, this.#used);
    this.#areTooMany = part.length < TINY_BYTES && !hasRoom(connection);
    // The reader asks for more after each part that it gets, and gets the refusal then.
    if (this.#areTooMany) return this.#flush(push) && false;
    return this.#used + SMALL_BYTES < BLOCK_BYTES || this.#flush(push);
  }

  #flush(push: Push): boolean {
    const whole = this.#block?.subarray(0, this.#used);
    this.#block = undefined;
    this.#used = 0;
    return whole === undefined || push(whole);
  }
}

function hasRoom(connection: object): boolean {
  const now = performance.now();
  let limit = limits.get(connection);
  if (limit === undefined) {
    limit = new TokenBucket(TINY_PARTS, now);
    limits.set(connection, limit);
  }
  return limit.take(now) === 0;
}

export function tooManyParts(): StatusError {
  return badRequest(
    `The body comes in too many parts of less than ${TINY_BYTES} bytes: send it in larger chunks`,
  );
}

/** A request of HTTP/1.1. */
export class Http1Request extends IncomingMessage {
  readonly #parts = new SmallParts();

  override push(part: Buffer | null): boolean {
    return this.#parts.take(part, this.socket, (merged) => super.push(merged));
  }

  override _read(size: number): void {
    if (this.#parts.areTooMany) this.destroy(tooManyParts());
    else super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // The connection stays open for the answer of the reader.
    if (error instanceof StatusError && this.listenerCount('error') > 0) done(error);
    else super._destroy(error, done);
  }

  /** Node calls it after an answer to a request whose body nobody has read, and would not count the parts. */
  _dump(): void {
    this.resume();
  }
}
