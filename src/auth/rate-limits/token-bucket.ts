/** A rate per second with a burst. Times in milliseconds of any one clock. */
export interface TokenBucketRate {
  readonly perSecond: number;
  readonly burst: number;
}

export class TokenBucket {
  readonly #rate: TokenBucketRate;
  #left: number;
  #at: number;

  constructor(rate: TokenBucketRate, now: number) {
    this.#rate = rate;
    this.#left = rate.burst;
    this.#at = now;
  }

  /** Takes one token and returns 0, or returns the seconds until one is available. */
  take(now: number): number {
    const { perSecond, burst } = this.#rate;
    const elapsed = Math.max(0, now - this.#at) / 1000;
    this.#left = Math.min(burst, this.#left + elapsed * perSecond);
    this.#at = now;
    if (this.#left < 1) return (1 - this.#left) / perSecond;
    this.#left -= 1;
    return 0;
  }
}
