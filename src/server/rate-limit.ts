/** So many a second, with a reserve for bursts. */
export class RateLimit {
  readonly #perSecond: number;
  readonly #burst: number;
  #left: number;
  #at = performance.now();

  constructor(options: { readonly perSecond: number; readonly burst: number }) {
    this.#perSecond = options.perSecond;
    this.#burst = options.burst;
    this.#left = options.burst;
  }

  /** False: too many; the caller is to be turned away. */
  take(now = performance.now()): boolean {
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
