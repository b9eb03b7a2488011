/** One delivery to a system outside, and the reasons why it fails. */
import type { JsonObject } from '../apimachinery/index.ts';

export interface Delivery {
  /** Stays the same over all attempts, so that receivers can recognise a repetition. */
  readonly id: string;
  /** Deliveries to one destination leave in order. */
  readonly destination: string;
  /** A later delivery of the same topic replaces one that has not left. Absent: none does. */
  readonly topic?: string | undefined;
  readonly payload: JsonObject;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

export type NewDelivery = Pick<Delivery, 'destination' | 'topic' | 'payload'>;

/**
 * Result of a failed attempt:
 * - `unavailable`: the destination takes nothing now. All its deliveries wait.
 * - `refused`: it does not take this delivery. The others go on.
 * - `obsolete`: the delivery has no receiver any more. It is removed.
 */
export type DeliveryProblem = 'unavailable' | 'refused' | 'obsolete';

export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  readonly problem: DeliveryProblem;
  /** Wait that the destination asked for. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    of: {
      readonly problem: DeliveryProblem;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: of.cause });
    this.problem = of.problem;
    this.retryAfterMs = of.retryAfterMs;
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Wrong credentials are replaced, and an overloaded server recovers. */
const LATER: readonly number[] = [401, 402, 403, 407, 408, 421, 425, 429];
const LONGEST_WAIT_MS = 3_600_000;

/** Throws DeliveryError unless the status is a success. `what` names the receiver. */
export function assertAccepted(what: string, { status, headers }: Answer, now: number): void {
  if (status >= 200 && status < 300) return;
  if (status >= 300 && status < 400) {
    throw new DeliveryError(`${what} redirects elsewhere; configure the final address`, {
      problem: 'unavailable',
    });
  }
  const isLater = status >= 500 || status < 200 || LATER.includes(status);
  const retryAfterMs = isLater ? retryAfter(headers, now) : undefined;
  const message = `${what} answered ${status}`;
  throw new DeliveryError(message, { problem: isLater ? 'unavailable' : 'refused', retryAfterMs });
}

/** `Retry-After` in seconds or as a date, or the reset time of a GitHub rate limit. */
function retryAfter(headers: Answer['headers'], now: number): number | undefined {
  const {
    'retry-after': text,
    'x-ratelimit-remaining': left,
    'x-ratelimit-reset': reset,
  } = headers;
  const isSeconds = text !== undefined && /^\d{1,9}$/.test(text);
  const ms = isSeconds
    ? Number(text) * 1000
    : text !== undefined
      ? Date.parse(text) - now
      : left === '0'
        ? Number(reset) * 1000 - now
        : Number.NaN;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 1000), LONGEST_WAIT_MS) : undefined;
}
