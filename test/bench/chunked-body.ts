/** Body with `Transfer-Encoding: chunked`, as kube-apiserver sends all but the shortest answers. */

const LINE_END = Buffer.from('\r\n');
const NOTHING = Buffer.alloc(0);

export class ChunkedBody {
  /** Start of a line whose end has not arrived. */
  #line: Buffer = NOTHING;
  /** Bytes that the present chunk still has, its line end included. */
  #left = 0;
  #last = false;
  #ended = false;

  /** True after the empty line that ends the body. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The data in `bytes`. Throws when a chunk has no size. */
  *take(bytes: Buffer): IterableIterator<Buffer> {
    let rest = this.#line.length === 0 ? bytes : Buffer.concat([this.#line, bytes]);
    this.#line = NOTHING;
    while (rest.length > 0 && !this.#ended) {
      if (this.#left > 0) {
        const some = Math.min(rest.length, this.#left);
        const data = Math.min(some, Math.max(this.#left - LINE_END.length, 0));
        if (data > 0) yield rest.subarray(0, data);
        this.#left -= some;
        rest = rest.subarray(some);
        continue;
      }
      const end = rest.indexOf(LINE_END);
      if (end === -1) {
        this.#line = rest;
        return;
      }
      this.#readLine(rest.toString('latin1', 0, end));
      rest = rest.subarray(end + LINE_END.length);
    }
  }

  #readLine(line: string): void {
    // After the last chunk: trailers, then an empty line.
    if (this.#last) {
      this.#ended = line === '';
      return;
    }
    const size = Number.parseInt(line, 16);
    if (Number.isNaN(size)) throw new Error(`A chunk without a size: ${line.slice(0, 40)}`);
    if (size === 0) this.#last = true;
    else this.#left = size + LINE_END.length;
  }
}
