/** Answers of HTTP/1.1 as a strict client reads them (RFC 9112). */

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/;
const FIELD = /^[!#$%&'*+\-.^_`|~\w]+: ?[\x20-\x7e\x80-\xff]*$/;

interface Head {
  readonly code: number;
  readonly fields: ReadonlyMap<string, string>;
}

export class Http1Answers {
  #bytes = Buffer.alloc(0);
  #finals = 0;
  #lastId = '';
  #isOver = false;
  #isUpgraded = false;
  readonly #methods: readonly string[];
  /** Violations. */
  readonly problems: string[] = [];

  /** Of the requests, in their order; more answers than requests are those to a GET. */
  constructor(methods: readonly string[]) {
    this.#methods = methods;
  }

  /** Whole answers, without 1xx ones. */
  get count(): number {
    return this.#finals;
  }

  /** True behind an answer that is the last one of its connection. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(part: Buffer): void {
    if (this.#isUpgraded) return;
    this.#bytes = Buffer.concat([this.#bytes, part]);
    while (this.#problem === undefined && this.#bytes.length > 0 && this.#take());
  }

  get #problem(): string | undefined {
    return this.problems[0];
  }

  /** False: more bytes are needed. */
  #take(): boolean {
    if (this.#isOver) return this.#fail('bytes behind the last answer');
    const end = this.#bytes.indexOf(HEAD_END);
    if (end < 0) return false;
    const head = this.#head(this.#bytes.subarray(0, end).toString('latin1'));
    if (head === undefined) return false;
    const start = end + HEAD_END.length;
    // Frames follow, here or in later parts.
    if (head.code === 101) {
      this.#isOver = true;
      this.#isUpgraded = true;
      this.#bytes = Buffer.alloc(0);
      return false;
    }
    const after = this.#bodyEnd(head, start);
    if (after === undefined) return false;
    this.#bytes = this.#bytes.subarray(after);
    if (head.code >= 200) this.#final(head);
    return true;
  }

  #head(text: string): Head | undefined {
    const [line = '', ...lines] = text.split('\r\n');
    const [, code] = STATUS_LINE.exec(line) ?? [];
    if (code === undefined) return void this.#fail(`status line ${JSON.stringify(line)}`);
    const fields = new Map<string, string>();
    for (const one of lines) {
      if (!FIELD.test(one)) return void this.#fail(`header ${JSON.stringify(one)}`);
      const at = one.indexOf(':');
      const name = one.slice(0, at).toLowerCase();
      if (fields.has(name) && name === 'content-length') this.#fail('two lengths');
      fields.set(name, one.slice(at + 1).trim());
    }
    if (fields.has('content-length') && fields.has('transfer-encoding')) this.#fail('two framings');
    return { code: Number(code), fields };
  }

  /** Undefined: more bytes are needed. */
  #bodyEnd({ code, fields }: Head, start: number): number | undefined {
    const method = this.#methods[this.#finals];
    if (code < 200 || code === 204 || code === 304 || method === 'HEAD') return start;
    const length = fields.get('content-length');
    if (length !== undefined) {
      const end = start + Number(length);
      return end <= this.#bytes.length ? end : undefined;
    }
    if (fields.get('transfer-encoding') === 'chunked') return this.#chunksEnd(start);
    // Until the end of the connection.
    if (fields.get('connection') !== 'close') this.#fail('a body without a length');
    return undefined;
  }

  #chunksEnd(start: number): number | undefined {
    for (let at = start; ; ) {
      const lineEnd = this.#bytes.indexOf(LINE_END, at);
      if (lineEnd < 0) return undefined;
      const line = this.#bytes.subarray(at, lineEnd).toString('latin1');
      if (!/^[\da-f]+$/i.test(line)) return void this.#fail(`chunk ${JSON.stringify(line)}`);
      const size = Number.parseInt(line, 16);
      at = lineEnd + LINE_END.length + size + LINE_END.length;
      if (at > this.#bytes.length) return undefined;
      if (!this.#bytes.subarray(at - LINE_END.length, at).equals(LINE_END)) {
        return void this.#fail('a chunk of another length');
      }
      if (size === 0) return at;
    }
  }

  #final({ fields }: Head): void {
    this.#finals += 1;
    this.#isOver = fields.get('connection') === 'close';
    const id = fields.get('audit-id') ?? '';
    // Requests have their numbers in the order of their arrival.
    if (id !== '' && id.length === this.#lastId.length && id <= this.#lastId) {
      this.#fail(`answer ${id} behind ${this.#lastId}`);
    }
    if (id !== '') this.#lastId = id;
  }

  #fail(problem: string): false {
    this.problems.push(problem);
    return false;
  }
}
