/**
 * The request pace of a store, learned from its answers: an accepted request raises it a little, a
 * refused one (429) lowers it to the recently accepted rate. Quota headers are followed if the
 * operator of the store has enabled them. Times are in milliseconds.
 */
import { type Backoff, backoffBound } from '../concurrency/index.ts';
import type { StoreResponse } from '../secret-store-client/index.ts';

export interface PaceLimits {
  /** Highest pace, used until the store refuses a request. */
  readonly perSecond: number;
  /** Requests that may be sent at once after a pause, until the store refuses one. */
  readonly burst: number;
}

/** Times of a request. */
export interface Exchange {
  readonly sentAt: number;
  readonly now: number;
}

/** Increase of the pace per second of accepted requests at full pace. */
const INCREASE = 1;
const DECREASE = 0.9;
/** Factor of the rate that was accepted within a second. */
const OF_ACCEPTED = 0.95;
/** Factor per second in which the store refuses everything. */
const DECREASE_REFUSED = 0.5;
/** Pauses after consecutive refusals without `Retry-After`. */
const PAUSE: Backoff = { firstMs: 50, lastMs: 1_000 };
const SLOWEST = 0.2;
const SECOND = 1_000;
/** Seconds that a timer may be late without a loss of pace. */
const CATCH_UP = 0.1;

export class LearnedPace {
  readonly #limits: PaceLimits;
  #perSecond: number;
  /** Earliest time of the next request: by the pace, and by the answers of the store. */
  #next = 0;
  #notBefore = 0;
  /** Time of the last decrease: requests sent before it do not measure the new pace. */
  #slowedAt = Number.NEGATIVE_INFINITY;
  /** Consecutive refusals, and the time of the first. */
  #refusals = 0;
  #refusedSince = 0;
  /** Times of accepted requests within the last second. */
  #accepted: number[] = [];

  constructor(limits: PaceLimits) {
    this.#limits = limits;
    this.#perSecond = limits.perSecond;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** True after a refusal, until the highest pace is reached again. */
  get isLimited(): boolean {
    return this.#perSecond < this.#limits.perSecond;
  }

  /** Share of the highest pace, above 0 and at most 1. */
  get share(): number {
    return this.#perSecond / this.#limits.perSecond;
  }

  /** Time for which the store has refused every request. */
  refusedMs(now: number): number {
    return this.#refusals === 0 ? 0 : now - this.#refusedSince;
  }

  /** Time until the next request may be sent; 0: now. */
  wait(now: number): number {
    return Math.max(0, this.#next - now, this.#notBefore - now);
  }

  /** Called when a request is sent. */
  sent(now: number): void {
    const gap = SECOND / this.#perSecond;
    const burst = this.isLimited ? Math.max(1, this.#perSecond * CATCH_UP) : this.#limits.burst;
    this.#next = Math.max(this.#next, now - burst * gap) + gap;
  }

  accepted(response: StoreResponse, { sentAt, now }: Exchange): void {
    if (sentAt >= this.#slowedAt) this.#refusals = 0;
    this.#accepted.push(now);
    this.#forgetBefore(now - SECOND);
    const quota = quotaOf(response);
    if (quota === undefined) this.#setPace(this.#perSecond + INCREASE / this.#perSecond);
    else if (quota.remaining > 0) this.#setPace(quota.remaining / quota.seconds);
    else this.#notBefore = Math.max(this.#notBefore, now + quota.seconds * SECOND);
  }

  /** `retryAfterMs`: 0 if the store gives none. */
  refused(retryAfterMs: number, { sentAt, now }: Exchange): void {
    if (this.#refusals === 0) this.#refusedSince = now;
    const pause = backoffBound(this.#refusals + 1, PAUSE);
    this.#notBefore = Math.max(this.#notBefore, now + Math.max(retryAfterMs, pause));
    if (sentAt < this.#slowedAt) return;
    this.#refusals += 1;
    if (this.#refusals === 1) {
      this.#forgetBefore(now - SECOND);
      const accepted = this.#accepted.length * OF_ACCEPTED;
      this.#setPace(Math.min(this.#perSecond * DECREASE, accepted || this.#perSecond));
    } else if (now - this.#slowedAt >= SECOND) this.#setPace(this.#perSecond * DECREASE_REFUSED);
    else return;
    this.#slowedAt = now;
    this.#next = now + SECOND / this.#perSecond;
  }

  #setPace(perSecond: number): void {
    this.#perSecond = Math.min(this.#limits.perSecond, Math.max(SLOWEST, perSecond));
  }

  #forgetBefore(time: number): void {
    while ((this.#accepted[0] ?? time) < time) this.#accepted.shift();
  }
}

/**
 * Remaining quota, if its window ends in a second or later. OpenBao and Vault round down to
 * seconds.
 */
function quotaOf({ headers }: StoreResponse): { remaining: number; seconds: number } | undefined {
  const remaining = Number(headers['x-ratelimit-remaining'] ?? Number.NaN);
  const seconds = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
  return remaining >= 0 && seconds >= 1 ? { remaining, seconds } : undefined;
}
