/**
 * Circuit breaker for one store and namespace: one trial request instead of many failures. It never
 * gives up: a store that returns after a week is tried again.
 */

import type { Clock } from '../apimachinery/index.ts';
import { backoffBound } from '../concurrency/index.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
const LONGEST_IN_INTERVALS = 5;

export interface BreakerOptions {
  readonly clock: Clock;
  /** Normal interval between requests. */
  readonly intervalMs: number;
  /** Between 0 and 1. */
  readonly random?: () => number;
}

export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #closedUntil = 0;
  #isTrying = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#failures > 0;
  }

  /** Remaining delay in milliseconds, without reserving a trial. */
  get remaining(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#closedUntil - this.#options.clock.now());
  }

  /**
   * Remaining delay in milliseconds; 0: the caller may send a request, and must report its result.
   */
  wait(): number {
    if (this.#failures === 0) return 0;
    const left = this.#closedUntil - this.#options.clock.now();
    if (left > 0) return left;
    if (this.#isTrying) return FIRST_WAIT_MS;
    this.#isTrying = true;
    return 0;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#isTrying = false;
  }

  /** `retryAfterMs`: minimum delay that the store asked for. */
  failed(retryAfterMs = 0): void {
    const { clock, intervalMs, random = Math.random } = this.#options;
    this.#isTrying = false;
    this.#failures += 1;
    const most = Math.min(LONGEST_WAIT_MS, LONGEST_IN_INTERVALS * intervalMs);
    const ceiling = backoffBound(this.#failures, { firstMs: FIRST_WAIT_MS, lastMs: most });
    const wait = Math.max(retryAfterMs, random() * ceiling);
    this.#closedUntil = Math.max(this.#closedUntil, clock.now() + wait);
  }
}
