/**
 * Registration of this replica: a lease, renewed while the process lives, and public data bound to
 * it. A lost lease is replaced as soon as etcd answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { pause } from '../concurrency/index.ts';
import type { Etcd, Lease } from '../etcd/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { transact } from './transact.ts';

/** Public data of a replica. */
export interface ReplicaInfo {
  readonly id: string;
  /** Host and port for its peers. */
  readonly peer: string;
  /** URL for clients. */
  readonly url: string;
  readonly version: string;
  /** Sequence of the newest repository record on its disk; -1: none. */
  readonly mirrored: number;
}

export interface SessionOptions {
  readonly etcd: Etcd;
  /** Key prefix of the replicas. */
  readonly replicas: string;
  readonly leaseSeconds: number;
  readonly info: ReplicaInfo;
  /** Called when this replica is registered again after it lost its lease. */
  readonly onRejoin: () => void;
  readonly logger: Logger;
}

const RETRY_MS = 250;
/** Time limit for revoking the lease, which otherwise expires. */
const REVOKE_MS = 1_000;
/** Shortest interval between updates of `mirrored`. */
const PUBLISH_INTERVAL_MS = 500;

export class Session {
  readonly #options: SessionOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #info: ReplicaInfo;
  #lease: Lease | undefined;
  #waiting: ((lease: Lease) => void)[] = [];
  #publishing: NodeJS.Timeout | undefined;
  /** Time since which there is no lease; undefined before the first one. */
  #lostAt: number | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#info = options.info;
    this.#running = this.#run();
  }

  /** Milliseconds since the last lease was lost; 0: it is held. */
  get silentMs(): number {
    return this.#lostAt === undefined ? 0 : performance.now() - this.#lostAt;
  }

  /** Resolves with a live lease, as far as is known. Rejects when the signal is aborted. */
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

  /** Publishes the position of the mirror, debounced. */
  publishMirrored(mirrored: number): void {
    if (mirrored === this.#info.mirrored) return;
    this.#info = { ...this.#info, mirrored };
    this.#publishing ??= setTimeout(() => {
      this.#publishing = undefined;
      this.#register().catch(() => undefined);
    }, PUBLISH_INTERVAL_MS).unref();
  }

  /** Revokes the lease, and so removes everything that is bound to it. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#publishing);
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
        if (isAgain) this.#options.onRejoin();
        isAgain = true;
      } catch (err) {
        if (!isTold) this.#options.logger.warn({ err }, 'Cannot register with etcd; trying again');
        isTold = true;
        await pause(RETRY_MS, signal);
        continue;
      }
      await aborted(this.#lease?.lost, signal);
      this.#lostAt = performance.now();
      if (signal.aborted) return;
      this.#options.logger.warn('The lease in etcd was lost');
      // If only the answers of etcd are lost, the lease would block the next leader until its end.
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
