/**
 * A lease that is renewed every third of its TTL. Its deadline is counted from the sending of a renewal,
 * on a monotonic clock. etcd counts from a later time, so that the lease never ends before.
 */
import { status } from '@grpc/grpc-js';
import type { Lease } from './etcd.ts';
import { EtcdError } from './etcd-error.ts';
import { type CallFailure, type CallOptions, failure, isFailure, type Member } from './member.ts';
import type { Members, TokenRetry } from './members.ts';
import { GRANT, KEEP_ALIVE, REVOKE, type WireLeaseResponse } from './wire.ts';

const GRANT_MS = 10_000;
const REVOKE_MS = 5000;
/** Minimum time limit of one renewal attempt. */
const LEAST_ATTEMPT_MS = 500;

/** The age of the new lease is unknown, so it is renewed at once. A lease granted twice by a retry expires by itself. */
export async function grantLease(members: Members, ttlSeconds: number): Promise<Lease> {
  const timeouts = { total: GRANT_MS, attempt: GRANT_MS / 3, repeat: true };
  const { ID, TTL } = await members.call(GRANT, { TTL: String(ttlSeconds) }, timeouts);
  const lease = new RenewedLease(members, BigInt(ID), Number(TTL) * 1000);
  await lease.begin();
  return lease;
}

class RenewedLease implements Lease {
  readonly id: bigint;
  readonly #members: Members;
  readonly #life: number;
  readonly #lost = new AbortController();
  #deadline = 0;
  #renewal: NodeJS.Timeout | undefined;
  #end: NodeJS.Timeout | undefined;
  #revoked = false;

  constructor(members: Members, id: bigint, life: number) {
    this.#members = members;
    this.id = id;
    this.#life = life;
  }

  get deadline(): number {
    return this.#deadline;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** First renewal, which sets the first deadline. */
  async begin(): Promise<void> {
    this.#deadline = performance.now() + this.#life;
    await this.#renew();
    if (this.lost.aborted) throw new EtcdError(`A lease of ${this.#members.place} expired at once`);
  }

  async revoke(): Promise<void> {
    this.#revoked = true;
    this.#stop();
    const timeouts = { total: REVOKE_MS, attempt: REVOKE_MS / 2, repeat: true };
    try {
      await this.#members.call(REVOKE, { ID: String(this.id) }, timeouts);
    } catch (error) {
      const cause = error instanceof EtcdError ? error.cause : undefined;
      if (!isFailure(cause) || !isLeaseGone(cause)) throw error;
    } finally {
      this.#lose();
    }
  }

  #stop(): void {
    clearTimeout(this.#renewal);
    clearTimeout(this.#end);
  }

  #lose(): void {
    this.#stop();
    this.#lost.abort();
  }

  get #over(): boolean {
    return this.#revoked || this.lost.aborted || this.#members.closed;
  }

  /** Tries one member after the other until one answers or the lease is over. */
  async #renew(): Promise<void> {
    const tokenRetry = this.#members.tokenRetry();
    for (let attempt = 1; !this.#over; attempt++) {
      const left = this.#deadline - performance.now();
      if (left <= 0) this.#lose();
      else if (await this.#renewAt(this.#members.current, { left, tokenRetry })) return;
      else await this.#members.pause(attempt);
    }
  }

  /** Returns false if the renewal can be retried. */
  async #renewAt(member: Member, of: { left: number; tokenRetry: TokenRetry }): Promise<boolean> {
    const sent = performance.now();
    try {
      const timeoutMs = Math.min(Math.max(this.#life / 3, LEAST_ATTEMPT_MS), of.left);
      const metadata = await this.#members.metadata();
      const { TTL } = await renewOnce(member, this.id, { metadata, timeoutMs });
      if (!this.#over) this.#renewed(sent, Number(TTL) * 1000);
      return true;
    } catch (error) {
      if (!isFailure(error)) throw error;
      if (isLeaseGone(error)) this.#lose();
      else if (of.tokenRetry.classify(error) !== 'sign-in') this.#members.leave(member);
      return false;
    }
  }

  #renewed(sent: number, life: number): void {
    if (life <= 0) {
      this.#lose();
      return;
    }
    this.#deadline = sent + life;
    const now = performance.now();
    this.#stop();
    // After a pause of the whole process, an answer may have arrived already.
    const check = (): void => void (performance.now() < this.#deadline || this.#lose());
    this.#end = setTimeout(() => setImmediate(check), Math.max(this.#deadline - now, 0)).unref();
    const next = Math.max(sent + this.#life / 3 - now, 0);
    this.#renewal = setTimeout(() => {
      this.#renew().catch(() => this.#lose());
    }, next).unref();
  }
}

function isLeaseGone({ details }: CallFailure): boolean {
  return details.includes('requested lease not found');
}

/** One renewal request and its response. Rejects with the failure of the member or the connection. */
async function renewOnce(
  member: Member,
  id: bigint,
  options: CallOptions,
): Promise<WireLeaseResponse> {
  const stream = await member.stream(KEEP_ALIVE, options);
  try {
    return await new Promise<WireLeaseResponse>((resolve, reject) => {
      stream.on('data', resolve).on('error', reject);
      stream.on('end', () => reject(failure(status.UNAVAILABLE, 'The stream ended')));
      stream.write({ ID: String(id) });
    });
  } finally {
    stream.cancel();
  }
}
