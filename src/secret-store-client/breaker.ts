/**
 * One trial instead of many failures, for one store and namespace. It never gives up: a store that
 * comes back after a week is asked again.
 */

import type { Clock } from '../apimachinery/index.ts';
import { backoffBound } from '../concurrency/index.ts';

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
const LONGEST_IN_INTERVALS = 5;

export interface BreakerOptions {
  readonly clock: Clock;
  /** How often the store is asked when all is well. */
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

  /** How long nobody may ask, in milliseconds; a question only. */
  get remaining(): number {
    return this.#failures === 0 ? 0 : Math.max(0, this.#closedUntil - this.#options.clock.now());
  }

  /** How long nobody may ask, in milliseconds; 0: one may, and must report. */
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

  /** `retryAfterMs`: what the store itself asked for; taken as the least. */
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
