/** The token of a store: its properties, and its renewal. */
import { backoffAfter } from '../concurrency/index.ts';
import { StoreError } from '../secrets-merge/index.ts';
import type { StoreClient } from './client.ts';
import { readJson } from './kv-data.ts';

export interface TokenFacts {
  /** Remaining seconds; 0 for a token that does not expire. */
  readonly ttl: number;
  /** Lifetime after the last renewal, if the store reports it. */
  readonly fullTtl: number;
  readonly isRenewable: boolean;
  /** Messages for a condition. */
  readonly warnings: readonly string[];
}

interface LookupFields {
  readonly ttl?: number;
  readonly creation_ttl?: number;
  readonly period?: number;
  readonly renewable?: boolean;
  readonly num_uses?: number;
  readonly type?: string;
}

/** Undefined: the token may not look itself up. Rejects with `StoreError`. */
export async function lookUpToken(client: StoreClient): Promise<TokenFacts | undefined> {
  const answer = await client
    .call({ method: 'GET', path: 'auth/token/lookup-self' })
    .catch((error: unknown) => {
      if (error instanceof StoreError && error.reason === 'Forbidden') return undefined;
      throw error;
    });
  if (answer === undefined) return undefined;
  if (answer.status === 404) {
    const message = `The secret store has no namespace ${client.namespace ?? ''}`;
    throw new StoreError(message, { reason: 'NamespaceMissing' });
  }
  const data = readJson<{ data?: LookupFields | null }>(answer, 'The token').data ?? {};
  const { ttl = 0, creation_ttl = 0, period = 0 } = data;
  const fullTtl = Math.max(creation_ttl, period, ttl);
  const isRenewable = data.renewable === true && data.type !== 'batch';
  return { ttl, fullTtl, isRenewable, warnings: warningsOf(data, fullTtl, isRenewable) };
}

const WARNING_SHARE = 0.2;

function warningsOf(fields: LookupFields, fullTtl: number, isRenewable: boolean): string[] {
  const { ttl = 0, num_uses = 0 } = fields;
  const warnings: string[] = [];
  if (num_uses > 0) warnings.push(`the token is good for ${num_uses} more requests only`);
  if (ttl > 0 && !isRenewable) warnings.push('the token ends and cannot be renewed');
  if (ttl > 0 && ttl < fullTtl * WARNING_SHARE) {
    warnings.push(`the token ends in ${ttl} s`);
  }
  return warnings;
}

/** Returns the remaining seconds of the token. */
export async function renewToken(client: StoreClient, fullTtl: number): Promise<number> {
  const body = JSON.stringify(fullTtl > 0 ? { increment: `${fullTtl}s` } : {});
  const answer = await client.call({ method: 'POST', path: 'auth/token/renew-self', body });
  const { auth } = readJson<{ auth?: { lease_duration?: number } }>(answer, 'The token');
  return auth?.lease_duration ?? 0;
}

/** Milliseconds until the renewal: after most of the lifetime, with jitter between daemons. */
export function renewalDelay(ttlSeconds: number, random: number): number {
  return ttlSeconds * 1000 * (2 / 3) * (0.9 + 0.1 * random);
}

/** Longest delay of a Node timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const SHORTEST_DELAY_MS = 1_000;
const LONGEST_RETRY_MS = 5 * 60_000;
/** Of the lifetime: pauses that grew further would miss the end of a token whose store is back before it. */
const RETRY_SHARE = 0.1;

export interface RenewalTimerOptions {
  /** Resolves to the new lifetime in seconds; 0: the token does not expire. */
  readonly renew: () => Promise<number>;
  /** Called with errors; the renewal is retried after growing pauses, which are short while the token lives. */
  readonly onFailure: (error: unknown) => void;
  readonly random?: (() => number) | undefined;
}

/** Renews a token after two thirds of its lifetime, until it is closed. */
export class RenewalTimer {
  readonly #options: RenewalTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #ttlMs = 0;
  #endsAt = 0;
  #isClosed = false;

  constructor(options: RenewalTimerOptions) {
    this.#options = options;
  }

  /** Schedules the renewal. `ttl`: remaining seconds; 0: no renewal. */
  plan(ttl: number): void {
    clearTimeout(this.#timer);
    this.#failures = 0;
    this.#ttlMs = ttl * 1000;
    this.#endsAt = Date.now() + this.#ttlMs;
    const { random = Math.random } = this.#options;
    if (ttl > 0) this.#schedule(Math.max(SHORTEST_DELAY_MS, renewalDelay(ttl, random())));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(delay: number): void {
    if (this.#isClosed) return;
    const slice = Math.min(delay, MAX_TIMER_MS);
    const next = (): void => (delay > slice ? this.#schedule(delay - slice) : this.#renew());
    this.#timer = setTimeout(next, slice).unref();
  }

  #renew(): void {
    const { renew, onFailure } = this.#options;
    renew().then(
      (ttl) => this.plan(ttl),
      (error: unknown) => {
        onFailure(error);
        this.#failures += 1;
        clearTimeout(this.#timer);
        this.#schedule(this.#pause());
      },
    );
  }

  #pause(): number {
    const isAlive = Date.now() < this.#endsAt;
    const lastMs = isAlive
      ? Math.min(this.#ttlMs * RETRY_SHARE, LONGEST_RETRY_MS)
      : LONGEST_RETRY_MS;
    const retries = { firstMs: SHORTEST_DELAY_MS, lastMs: Math.max(SHORTEST_DELAY_MS, lastMs) };
    return backoffAfter(this.#failures, retries, this.#options.random);
  }
}

export interface TokenKeeperOptions extends Omit<RenewalTimerOptions, 'renew'> {
  readonly client: StoreClient;
  readonly onFacts: (facts: TokenFacts | undefined) => void;
}

/** Renews a configured token, and never revokes it: it does not belong to this daemon. */
export class TokenKeeper {
  readonly #options: TokenKeeperOptions;
  readonly #renewals: RenewalTimer;
  #fullTtl = 0;

  constructor(options: TokenKeeperOptions) {
    this.#options = options;
    const renew = (): Promise<number> => renewToken(options.client, this.#fullTtl);
    this.#renewals = new RenewalTimer({ ...options, renew });
  }

  /** Looks up the token and schedules its renewal. Call again after the token was replaced. */
  async start(): Promise<void> {
    this.#renewals.plan(0);
    this.#options.onFacts(undefined);
    const facts = await lookUpToken(this.#options.client);
    this.#options.onFacts(facts);
    if (facts === undefined || !facts.isRenewable) return;
    this.#fullTtl = facts.fullTtl;
    // The remaining time may be shorter than a full lifetime.
    this.#renewals.plan(facts.ttl);
  }

  close(): void {
    this.#renewals.close();
  }
}
