/** The protocol of `git cat-file --batch`: one id a line, then `<id> SP <type> SP <size> LF <bytes> LF`. */
import { replies } from '../process/process-limits.ts';
import type { Protocol, ReplyParser } from './request-process.ts';

export interface FoundObject {
  readonly type: string;
  readonly size: number;
  /** Absent when the object is larger than what is read. */
  readonly content: Buffer | undefined;
}

/** undefined: there is no such object. */
export type CatFileReply = FoundObject | undefined;

const LF = 0x0a;
/** The rest of an object that is larger by so much is not waited for. */
const SKIPPED_BYTES = 1024 * 1024;

/**
 * `maxBytes`: larger objects are not kept in memory. A blob of gigabytes takes some kilobytes in a
 * push, so that the process which unpacks it is replaced.
 */
export function catFileProtocol(maxBytes: number): Protocol<CatFileReply> {
  return {
    args: ['cat-file', '--batch'],
    makeParser: () => new CatFileParser(maxBytes),
    isDoubtful: (reply) => reply === undefined,
    isLast: (reply) => reply !== undefined && reply.size > maxBytes + SKIPPED_BYTES,
    maxRequests: Number.POSITIVE_INFINITY,
    limits: replies(maxBytes + SKIPPED_BYTES),
  };
}

class CatFileParser implements ReplyParser<CatFileReply> {
  readonly #maxBytes: number;
  /** The part of a header line that came so far. */
  #header = '';
  #body: { found: FoundObject; filled: number } | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer, emit: (reply: CatFileReply) => void): void {
    let at = 0;
    while (at < chunk.length) {
      at =
        this.#body === undefined
          ? this.#readHeader(chunk, at, emit)
          : this.#readBody(chunk, at, emit);
    }
  }

  #readHeader(chunk: Buffer, at: number, emit: (reply: CatFileReply) => void): number {
    const end = chunk.indexOf(LF, at);
    if (end === -1) {
      this.#header += chunk.toString('latin1', at);
      return chunk.length;
    }
    const [, type = '', size] = (this.#header + chunk.toString('latin1', at, end)).split(' ');
    this.#header = '';
    if (size === undefined) {
      emit(undefined); // `<id> missing`
    } else {
      const bytes = Number(size);
      const content = bytes > this.#maxBytes ? undefined : Buffer.allocUnsafe(bytes);
      const found = { type, size: bytes, content };
      if (bytes > this.#maxBytes + SKIPPED_BYTES) {
        emit(found);
        return chunk.length;
      }
      this.#body = { found, filled: 0 };
    }
    return end + 1;
  }

  #readBody(chunk: Buffer, at: number, emit: (reply: CatFileReply) => void): number {
    const body = this.#body;
    if (body === undefined) return at;
    const { found } = body;
    const end = Math.min(chunk.length, at + found.size - body.filled);
    if (found.content !== undefined) chunk.copy(found.content, body.filled, at, end);
    body.filled += end - at;
    if (end === chunk.length) return end; // the newline behind the content is still to come
    this.#body = undefined;
    emit(found);
    return end + 1;
  }
}
