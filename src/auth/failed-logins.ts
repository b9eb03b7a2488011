/**
 * How often one source may fail to sign in before it is told to wait: a bucket a source, with a
 * number of failures at once and then one every few seconds.
 *
 * A key that works is never held up. Keys have 190 bits and more, so nobody finds one by trying;
 * what has to be bounded is the load and the noise, and a stranger behind the same address must not
 * be able to shut a pipeline out.
 */
import { isIPv6 } from 'node:net';
import type { Clock } from '../apimachinery/clock.ts';
import { TokenBucket, type TokenBucketRate } from './token-bucket.ts';

/** Failures that a source may make at once, and then one every three seconds. */
const RATE: TokenBucketRate = { burst: 20, perSecond: 1 / 3 };
/** Sources that are remembered; the one that failed longest ago is forgotten first. */
const MOST_SOURCES = 10_000;

export class FailedLogins {
  readonly #clock: Clock;
  readonly #rate: TokenBucketRate;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock, rate: TokenBucketRate = RATE) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Notes a failure. Returns after how many seconds the source may fail again; 0: now. */
  failed(source: string): number {
    const id = networkOf(source);
    const now = this.#clock.now();
    const bucket = this.#buckets.get(id) ?? new TokenBucket(this.#rate, now);
    this.#buckets.delete(id);
    this.#buckets.set(id, bucket);
    if (this.#buckets.size > MOST_SOURCES) this.#forgetOldest();
    return Math.ceil(bucket.take(now));
  }

  /** Takes a failure back that was noted before it was known to be none. */
  forgive(source: string): void {
    this.#buckets.get(networkOf(source))?.giveBack();
  }

  #forgetOldest(): void {
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}

/** Who has one IPv6 address has all of its /64. */
export function networkOf(source: string): string {
  if (!isIPv6(source) || source.startsWith('::ffff:')) return source;
  const [head = '', tail] = source.split('::');
  const before = head.split(':').filter((part) => part !== '');
  const after = (tail ?? '').split(':').filter((part) => part !== '');
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill('0'), ...after].slice(0, 4).join(':');
}
