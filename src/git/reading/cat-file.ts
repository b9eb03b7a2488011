/** The protocol of `git cat-file --batch`: one id per line; replies `<id> SP <type> SP <size> LF <bytes> LF`. */
import { replies } from '../process/process-limits.ts';
import type { Protocol, ReplyParser } from './request-process.ts';

export interface FoundObject {
  readonly type: string;
  readonly size: number;
  /** Absent if the object exceeds the size limit. */
  readonly content: Buffer | undefined;
}

/** undefined: the object does not exist. */
export type CatFileReply = FoundObject | undefined;

const LF = 0x0a;
/** If an object exceeds the limit by more than this, its rest is not read. */
const SKIPPED_BYTES = 1024 * 1024;

/**
 * Objects above `maxBytes` are not held in memory. A blob of gigabytes may need only kilobytes in a
 * push, so the process that unpacks it is replaced instead of read to the end.
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
  /** Part of a header line that has arrived. */
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
