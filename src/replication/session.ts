/**
 * That this replica is there: a lease, renewed as long as we live, and what others have to know of
 * us, bound to it. A lease that is lost is replaced as soon as etcd answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd, Lease } from '../etcd/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { transact } from './transact.ts';

/** What a replica says of itself. */
export interface ReplicaInfo {
  readonly id: string;
  /** Where its peers reach it: host and port. */
  readonly peer: string;
  /** Where clients reach it. */
  readonly url: string;
  readonly version: string;
  /** The newest record of the repository's log that is on its disk; -1: none. */
  readonly mirrored: number;
}

export interface SessionOptions {
  readonly etcd: Etcd;
  /** Where replicas register. */
  readonly replicas: string;
  readonly leaseSeconds: number;
  readonly info: ReplicaInfo;
  /** Called when we are registered again after a lease was lost. */
  readonly onAgain: () => void;
  readonly logger: Logger;
}

const RETRY_MS = 250;
/** A lease that cannot be given back ends by itself. */
const REVOKE_MS = 1_000;
/** A lag of the mirror is told so often, at most. */
const TELL_EVERY_MS = 500;

export class Session {
  readonly #options: SessionOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #info: ReplicaInfo;
  #lease: Lease | undefined;
  #waiting: ((lease: Lease) => void)[] = [];
  #telling: NodeJS.Timeout | undefined;
  /** Since when there is no lease, although there was one. */
  #lostAt: number | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#info = options.info;
    this.#running = this.#run();
  }

  /**
   * For how many milliseconds etcd has not been heard, at the least: the last lease is over, and there
   * is no other. 0: it is there.
   */
  get silentMs(): number {
    return this.#lostAt === undefined ? 0 : performance.now() - this.#lostAt;
  }

  /** Resolves with a lease that lives, as far as is known. Rejects when the signal is aborted. */
  async lease(signal: AbortSignal): Promise<Lease> {
    const current = this.#lease;
    if (current !== undefined && !current.lost.aborted) return current;
    return await new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.push((lease) => {
        signal.removeEventListener('abort', stop);
        resolve(lease);
      });
    });
  }

  /** Tells others, soon, how far our mirror is. */
  tell(mirrored: number): void {
    if (mirrored === this.#info.mirrored) return;
    this.#info = { ...this.#info, mirrored };
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      this.#register().catch(() => undefined);
    }, TELL_EVERY_MS).unref();
  }

  /** Gives the lease back, and with it everything that is bound to it. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#telling);
    await this.#running;
    const revoked = this.#lease?.revoke().catch(() => undefined);
    await Promise.race([revoked, sleep(REVOKE_MS)]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let isTold = false;
    let isAgain = false;
    while (!signal.aborted) {
      try {
        await this.#begin();
        this.#lostAt = undefined;
        isTold = false;
        if (isAgain) this.#options.onAgain();
        isAgain = true;
      } catch (err) {
        if (!isTold) this.#options.logger.warn({ err }, 'Cannot register with etcd; trying again');
        isTold = true;
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
        continue;
      }
      await aborted(this.#lease?.lost, signal);
      this.#lostAt = performance.now();
      if (signal.aborted) return;
      this.#options.logger.warn('The lease in etcd was lost');
      // Where etcd hears us and we do not hear it, it would let nobody else lead for a while.
      this.#lease?.revoke().catch(() => undefined);
    }
  }

  async #begin(): Promise<void> {
    const { etcd, leaseSeconds } = this.#options;
    const lease = await etcd.grant(leaseSeconds);
    this.#lease = lease;
    try {
      await this.#register();
    } catch (error) {
      await lease.revoke().catch(() => undefined);
      throw error;
    }
    for (const resolve of this.#waiting.splice(0)) resolve(lease);
  }

  async #register(): Promise<void> {
    const { etcd, replicas } = this.#options;
    const lease = this.#lease;
    if (lease === undefined || lease.lost.aborted) return;
    const value = Buffer.from(JSON.stringify(this.#info));
    const put = `${replicas}${this.#info.id}`;
    await transact(etcd, [], [{ put, value, lease: lease.id }]);
  }
}

/** Resolves when one of the signals is aborted. */
export async function aborted(...signals: (AbortSignal | undefined)[]): Promise<void> {
  await new Promise<void>((resolve) => {
    const given = signals.filter((signal) => signal !== undefined);
    const done = (): void => {
      for (const signal of given) signal.removeEventListener('abort', done);
      resolve();
    };
    for (const signal of given) signal.addEventListener('abort', done);
    if (given.some(({ aborted: already }) => already)) done();
  });
}
