/**
 * Limit of failed sign-ins per source: a burst of failures, then one every few seconds. Any number of
 * other sources cannot make the limiter forget one.
 *
 * A valid key is never delayed. Keys have 190 bits and more, so that guessing one is hopeless; the limit
 * bounds load and noise, and a stranger behind the same address must not be able to lock a pipeline out.
 */
import { isIPv6 } from 'node:net';
import type { Clock } from '../../apimachinery/index.ts';
import { CountingSlots } from './counting-slots.ts';
import { TokenBucket, type TokenBucketRate } from './token-bucket.ts';

/** A burst of failures per source, then one every three seconds. */
const RATE: TokenBucketRate = { burst: 20, perSecond: 1 / 3 };

/** Refusals that are logged at warn level. Strangers cause most of them, with one request each. */
const WARNINGS: TokenBucketRate = { burst: 100, perSecond: 1 };

export class FailedLogins {
  readonly #clock: Clock;
  readonly #slots: CountingSlots;
  readonly #warnings: TokenBucket;
  /** Attempts in progress by source; at most as many as requests in progress. */
  readonly #pending = new Map<string, number>();

  constructor(clock: Clock, rate: TokenBucketRate = RATE) {
    this.#clock = clock;
    this.#slots = new CountingSlots(rate);
    this.#warnings = new TokenBucket(WARNINGS, clock.now());
  }

  /** Counts a failure. Returns the seconds until the source may fail again; 0: now. */
  failed(source: string): number {
    return Math.ceil(this.#slots.take(networkOf(source), this.#clock.now()));
  }

  /** True if a refusal may be logged at warn level. Counts it. */
  mayWarn(): boolean {
    return this.#warnings.take(this.#clock.now()) === 0;
  }

  /** Seconds until the source may fail again; 0: now. */
  wait(source: string): number {
    const id = networkOf(source);
    return Math.ceil(this.#slots.wait(id, this.#clock.now(), this.#pending.get(id)));
  }

  /**
   * Runs an attempt, which counts as a failure while it runs and when it rejects. When the source must
   * wait, counts nothing and throws the error that `refused` makes of the seconds to wait.
   */
  async attempt<T>(
    source: string,
    refused: (wait: number) => Error,
    work: () => Promise<T>,
  ): Promise<T> {
    const id = networkOf(source);
    const wait = this.wait(source);
    if (wait > 0) throw refused(wait);
    this.#pending.set(id, (this.#pending.get(id) ?? 0) + 1);
    try {
      return await work();
    } catch (error) {
      this.#slots.take(id, this.#clock.now());
      throw error;
    } finally {
      const left = (this.#pending.get(id) ?? 1) - 1;
      if (left > 0) this.#pending.set(id, left);
      else this.#pending.delete(id);
    }
  }
}

/** Network that one client can be expected to control: an IPv4 address, or a /56 of IPv6. */
export function networkOf(source: string | undefined): string {
  return networksOf(source).at(-1) ?? '';
}

/**
 * Networks of an address, widest first. The last one is that of one client, the others are those of a
 * site and of a provider: a /16, a /24 and the address, or a /32, a /48 and a /56 of IPv6. Undefined: a
 * client that is gone, whose socket has no address, although the type of Fastify says otherwise.
 */
export function networksOf(source = ''): string[] {
  if (!isIPv6(source)) return ofIPv4(source);
  const groups = groupsOf(source);
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return ofIPv4([high >> 8, high & 0xff, low >> 8, low & 0xff].join('.'));
  const [a = 0, b = 0, c = 0, d = 0] = groups;
  const nets = [
    [a, b],
    [a, b, c],
    [a, b, c, d & 0xff00],
  ];
  return nets.map((net) => net.map((group) => group.toString(16)).join(':'));
}

function ofIPv4(address: string): string[] {
  const bytes = address.split('.');
  return [bytes.slice(0, 2).join('.'), bytes.slice(0, 3).join('.'), address];
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser writes a dotted tail in hexadecimal.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = read(head);
  const after = read(tail ?? '');
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
