/** Lines of the git protocols (gitprotocol-common): four hexadecimal digits of length, then the text. */
import { Transform, type TransformCallback } from 'node:stream';

/** A line of the pkt-line format; the length counts its own four digits. */
export function pktLine(text: string): string {
  return (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
}

const FLUSH = Buffer.from('0000');
const LENGTH_DIGITS = 4;
const TAIL_BYTES = 4096;

/** Lines before the first flush. */
export function linesOf(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let at = 0; at + LENGTH_DIGITS <= bytes.length; ) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + LENGTH_DIGITS), 16);
    if (!(length > LENGTH_DIGITS)) break;
    lines.push(bytes.toString('utf8', at + LENGTH_DIGITS, at + length));
    at += length;
  }
  return lines;
}

/** Capability of a client that sends a list of options behind that of the refs. */
const HAS_OPTIONS = 'push-options';

/**
 * True if whole lines, from the first on, reach the end of the lists in front of a pack: of refs, and of
 * options if there are some. Bytes that are not a line end the search.
 */
export function hasPushLists(bytes: Buffer): boolean {
  let hasOptions = false;
  let isInOptions = false;
  for (let at = 0; at + LENGTH_DIGITS <= bytes.length; ) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + LENGTH_DIGITS), 16);
    if (length === 0) {
      if (isInOptions || !hasOptions) return true;
      isInOptions = true;
      at += LENGTH_DIGITS;
      continue;
    }
    if (!(length >= LENGTH_DIGITS)) return false;
    const line = bytes.subarray(at, at + length);
    const capabilities = line.indexOf(0);
    // git takes them from each line.
    hasOptions ||= capabilities !== -1 && line.includes(HAS_OPTIONS, capabilities);
    at += length;
  }
  return false;
}

/**
 * Forwards the answer of `receive-pack` and delays the final flush, so that last packets can reach the
 * pusher: the second side band (gitprotocol-pack) is shown behind `remote: `.
 */
export class PushAnswer extends Transform {
  readonly #ending: (tail: string) => string;
  /** Bytes of the current line that have not arrived. */
  #left = 0;
  #digits = '';
  #tail = Buffer.alloc(0);
  /** The flush is delayed. */
  #isHeld = false;
  /** The last line was a flush. */
  #isOver = false;

  /** `ending` gets the last bytes of the answer, and returns the packets to add; '' for none. */
  constructor(ending: (tail: string) => string) {
    super();
    this.#ending = ending;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const held = this.#isHeld ? FLUSH : EMPTY;
    const isSplit = this.#digits !== '';
    this.#follow(chunk);
    this.#isHeld = this.#isOver && !(isSplit && chunk.length < FLUSH.length);
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
    const data = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    done(null, this.#isHeld ? data.subarray(0, -FLUSH.length) : data);
  }

  override _flush(done: TransformCallback): void {
    const isBetweenLines = this.#left === 0 && this.#digits === '';
    const canAdd = this.#isHeld || (isBetweenLines && !this.#isOver);
    const ending = canAdd ? this.#ending(this.#tail.toString('latin1')) : '';
    if (ending !== '') this.push(ending);
    // An answer that was cut off inside a line stays cut off.
    // Without a flush a client would wait without end, as for a git that died behind its first lines.
    if (ending !== '' || (canAdd && this.#tail.length > 0)) this.push(FLUSH);
    done();
  }

  /** Tracks the ends of lines, and if the last line is a flush. */
  #follow(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, chunk.length - at);
        this.#left -= step;
        at += step;
        continue;
      }
      const end = at + LENGTH_DIGITS - this.#digits.length;
      this.#digits += chunk.toString('latin1', at, end);
      at = end;
      if (this.#digits.length < LENGTH_DIGITS) return;
      const length = Number.parseInt(this.#digits, 16);
      this.#digits = '';
      this.#left = Math.max(0, length - LENGTH_DIGITS);
      this.#isOver = length === 0;
    }
  }
}

const EMPTY = Buffer.alloc(0);
