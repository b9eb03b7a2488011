/**
 * How much work a server takes on where it does not know whose it is: what may wait is bounded, and 429
 * says when to come back. Nothing is waited for for ever: 504. Where users are known, `flow-classifier.ts`
 * decides. Watches are bounded by connections.
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
  /** Of all their bodies together. */
  readonly bytes: number;
}

/** Some seconds' worth of commits, and memory that any machine can spare. */
const LIMITS: OverloadLimits = { writes: 4096, bytes: 256 * 1024 * 1024 };
/** Room of its own for who showed no key that works, so that they take none from who did. */
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
   * Takes a request on until its answer is out, or nobody waits for it. Returns the counter of
   * bytes that arrive without an announced length. Both throw 429.
   */
  admit(
    request: Pick<IncomingMessage, 'method' | 'headers'>,
    response: Pick<ServerResponse, 'once'>,
  ): BodyCounter {
    const announced = bodyBytes(request.headers);
    // A body takes the same room whatever it comes with.
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

/** The announced length; 0 for a body without one, whose bytes count as they arrive. */
export function bodyBytes(headers: IncomingMessage['headers']): number {
  if (isChunked(headers)) return 0;
  const length = Number(headers['content-length'] ?? 0);
  return Number.isFinite(length) ? Math.min(Math.max(length, 0), DEFAULT_MAX_BODY_BYTES) : 0;
}

/** As of Kubernetes; `timeout` in the query can only shorten it. */
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

/** The answer to a write, or 504 when it takes too long: it may still take effect. */
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
