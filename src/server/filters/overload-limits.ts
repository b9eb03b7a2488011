/**
 * Limits for writes of unknown users: 429 with Retry-After above them, and 504 after a time limit. For
 * known users see `flow-classifier.ts`. Watches are limited by connections.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  badRequest,
  parseGoDuration,
  StatusError,
  tooManyRequests,
} from '../../apimachinery/index.ts';
import { DEFAULT_MAX_BODY_BYTES } from '../input/body.ts';
import type { RequestInfo } from '../input/request-info.ts';

export interface OverloadLimits {
  readonly writes: number;
  /** Bytes of all bodies together. */
  readonly bytes: number;
}

/** Some seconds of commits, and an amount of memory that every machine has. */
const LIMITS: OverloadLimits = { writes: 4096, bytes: 256 * 1024 * 1024 };
/** A limit of their own for requests without a valid key, so that they cannot use up that of users. */
export const STRANGERS_LIMITS: OverloadLimits = { writes: 512, bytes: 32 * 1024 * 1024 };
const RETRY_SECONDS = 1;
export const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE'];

export class PendingWriteLimit {
  readonly #limits: OverloadLimits;
  #writes = 0;
  #bytes = 0;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Counts a request until its answer is sent or its connection closed. Returns a counter for bytes
   * of a body without Content-Length. Both throw 429.
   */
  admit(
    request: Pick<IncomingMessage, 'method' | 'headers'>,
    response: Pick<ServerResponse, 'once'>,
  ): BodyCounter {
    const announced = bodyBytes(request.headers);
    // A body takes memory with any method.
    const hasBody = announced > 0 || isChunked(request.headers);
    if (!WRITES.includes(request.method ?? '') && !hasBody) return () => undefined;
    if (this.#writes >= this.#limits.writes || !this.#hasRoomFor(announced)) throw noRoom();
    let held = announced;
    let hasLeft = false;
    this.#writes++;
    this.#bytes += held;
    response.once('close', () => {
      hasLeft = true;
      this.#writes--;
      this.#bytes -= held;
    });
    return (bytes) => {
      if (hasLeft) return;
      if (!this.#hasRoomFor(bytes)) throw noRoom();
      held += bytes;
      this.#bytes += bytes;
    };
  }

  #hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= this.#limits.bytes;
  }
}

export type BodyCounter = (bytes: number) => void;

function noRoom(): StatusError {
  return tooManyRequests('Too many requests, please try again later.', RETRY_SECONDS);
}

export function isChunked(headers: IncomingMessage['headers']): boolean {
  return headers['transfer-encoding'] !== undefined;
}

/** The Content-Length; 0 without one: those bytes are counted on arrival. */
export function bodyBytes(headers: IncomingMessage['headers']): number {
  if (isChunked(headers)) return 0;
  const length = Number(headers['content-length'] ?? 0);
  return Number.isFinite(length) ? Math.min(Math.max(length, 0), DEFAULT_MAX_BODY_BYTES) : 0;
}

/** As in Kubernetes. The query parameter `timeout` can only shorten it. */
const LONGEST_MS = 60_000;
const WRITING = ['create', 'update', 'patch', 'delete'];

/** Throws 400 for a `timeout` that is not a Go duration. A watch has `timeoutSeconds` instead. */
export function refuseWrongTimeout({ isResource, verb, query }: RequestInfo): void {
  const text = query.get('timeout') ?? '';
  if (!isResource || verb === 'watch' || text === '' || parseGoDuration(text) !== undefined) return;
  const problem = /^[-+]?[\d.]+$/.test(text) ? 'missing unit in duration' : 'invalid duration';
  throw badRequest(
    `invalid timeout specified in the request URL - time: ${problem} ${JSON.stringify(text)}`,
  );
}

/** The answer to a write, or 504 after the time limit. The write may still take effect. */
export function withinDeadline<T>(
  info: RequestInfo,
  answer: Promise<T>,
  longest = LONGEST_MS,
): Promise<T> {
  return info.isResource && WRITING.includes(info.verb) ? timed(info, answer, longest) : answer;
}

async function timed<T>(info: RequestInfo, answer: Promise<T>, longest: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const asked = parseGoDuration(info.query.get('timeout') ?? '') ?? 0;
    const after = asked > 0 ? Math.min(asked, longest) : longest;
    timer = setTimeout(() => reject(timedOut()), after);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function timedOut(): StatusError {
  const message =
    'Timeout: request did not complete within the allotted timeout; it may still take effect: read the object before trying again';
  return new StatusError(504, 'Timeout', message, {});
}
