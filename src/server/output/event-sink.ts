/** The open end of a watch: lines out, and whether the client keeps up. */
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/** Each ends the wait for a client that does not read. */
const ENDS = ['drain', 'close', 'error'] as const;

export class EventSink {
  readonly #out: Writable;
  readonly #isText: boolean;
  readonly #isChunked: boolean;
  #behind = false;

  /** `isText`: the lines are written as strings, which a WebSocket tells from bytes. */
  constructor(out: Writable, isText = false) {
    const socket = socketOfChunks(out);
    this.#out = socket ?? out;
    this.#isText = isText;
    this.#isChunked = socket !== undefined;
  }

  /**
   * True while lines wait for the client. A bookmark must not be sent then: it would promise
   * events that have not been written.
   */
  get behind(): boolean {
    return this.#behind;
  }

  /**
   * Returns a promise when the next line must wait for the client, which never rejects: a client
   * that left just ends.
   */
  write(line: Buffer): Promise<void> | undefined {
    if (this.#isChunked) corkForTick(this.#out);
    const isTaken = this.#out.write(this.#encoded(line));
    if (isTaken || this.#out.destroyed) return undefined;
    this.#behind = true;
    return this.#drained();
  }

  #encoded(line: Buffer): Buffer | string {
    if (this.#isText) return line.toString('utf8');
    return this.#isChunked ? chunkOf(line) : line;
  }

  /** Leaves no listener behind: a slow client is waited for thousands of times on one stream. */
  #drained(): Promise<void> {
    const out = this.#out;
    return new Promise((resolve) => {
      const done = (): void => {
        for (const event of ENDS) out.off(event, done);
        this.#behind = false;
        resolve();
      };
      for (const event of ENDS) out.on(event, done);
    });
  }
}

/**
 * The socket, where an answer of HTTP/1.1 has sent its headers and continues in chunks: the sink writes
 * chunks itself, since a chunk is the same for all watches, and Node would make three buffers of each.
 */
function socketOfChunks(out: Writable): Socket | undefined {
  if (!(out instanceof ServerResponse) || !out.headersSent || !out.chunkedEncoding)
    return undefined;
  return out.socket ?? undefined;
}

const chunks = new WeakMap<Buffer, Buffer>();
const CHUNK_END = Buffer.from('\r\n');

/** A line as one chunk (RFC 9112, section 7.1), made once for all watches that share the line. */
function chunkOf(line: Buffer): Buffer {
  let chunk = chunks.get(line);
  if (chunk === undefined) {
    const size = Buffer.from(`${line.length.toString(16)}\r\n`);
    chunk = Buffer.concat([size, line, CHUNK_END]);
    chunks.set(line, chunk);
  }
  return chunk;
}

let corked = new Set<Writable>();

/** All lines of one tick leave in one write. */
function corkForTick(out: Writable): void {
  if (corked.has(out)) return;
  if (corked.size === 0) process.nextTick(uncorkAll);
  corked.add(out);
  out.cork();
}

function uncorkAll(): void {
  const all = corked;
  corked = new Set();
  for (const out of all) out.uncork();
}
