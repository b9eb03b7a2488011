/** Coordination with the other replicas through etcd: registration, membership, leader election. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pause } from '../concurrency/index.ts';
import type { Etcd, KeyValue } from '../etcd/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { campaign, type LeaderInfo, type LeaderTerm, readLeader } from './election.ts';
import { followKeys, type KeyFollower } from './follow-keys.ts';
import type { Keys } from './keys.ts';
import { aborted, type ReplicaInfo, Session } from './session.ts';
import type { Term } from './term.ts';
import { transact } from './transact.ts';

export interface ReplicaCoordinationOptions {
  readonly etcd: Etcd;
  readonly keys: Keys;
  readonly self: Omit<ReplicaInfo, 'mirrored'>;
  readonly leaseSeconds: number;
  /** Called when this replica is registered again after it lost its lease. */
  readonly onRejoin: () => void;
  readonly logger: Logger;
}

/** Callbacks of the leader role. */
export interface Leading {
  /**
   * Called when there is no leader; resolves when this replica may try to lead. May reject, or
   * resolve too late.
   */
  readonly eligible: (signal: AbortSignal) => Promise<void>;
  /** Leads until the term is over or resigning, and must resolve soon after. */
  readonly run: (term: Term, by: LeaderContext) => Promise<void>;
}

export interface LeaderContext {
  /** Announces that this leader accepts writes. */
  readonly ready: () => Promise<void>;
  /** Aborted when the term should end cleanly: the term is held until `run` resolves. */
  readonly resigning: AbortSignal;
}

export interface ReplicaCoordination {
  /** Last known leader. */
  readonly leader: LeaderInfo | undefined;
  readonly replicas: readonly ReplicaInfo[];
  /** Milliseconds since the lease was lost; 0: it is held. */
  readonly silentMs: number;
  /** Called when the leader or its data changes. Returns a function that stops it. */
  onLeader(listener: (leader: LeaderInfo | undefined) => void): () => void;
  /** Resolves with a leader that accepts writes, or undefined after the time limit. */
  waitForLeader(milliseconds: number): Promise<LeaderInfo | undefined>;
  /** Joins elections from now on. */
  lead(leading: Leading): void;
  /** Publishes the position of the mirror. */
  publishMirrored(mirrored: number): void;
  /** Puts an entry that disappears with this replica. */
  putWithLease(key: string, value: Buffer): Promise<void>;
  /**
   * Ends the term of the current leader, which does not know that etcd was restored from a
   * snapshot.
   */
  depose(term: bigint): Promise<void>;
  /** Ends the current term, because this replica cannot fulfil the duties of a leader. */
  stepDown(): void;
  /** Leaves elections: resolves when a current term is over and given up. */
  resign(): Promise<void>;
  close(): Promise<void>;
}

export function openReplicaCoordination(options: ReplicaCoordinationOptions): ReplicaCoordination {
  return new EtcdCoordination(options);
}

const RETRY_MS = 200;
const GIVE_UP_MS = 1_500;

class EtcdCoordination implements ReplicaCoordination {
  readonly #options: ReplicaCoordinationOptions;
  readonly #session: Session;
  readonly #followers: readonly KeyFollower[];
  readonly #listeners = new Set<(leader: LeaderInfo | undefined) => void>();
  readonly #resigning = new AbortController();
  readonly #found = new Map<string, ReplicaInfo>();
  #leader: LeaderInfo | undefined;
  #isKnown = false;
  #term: LeaderTerm | undefined;
  /** Number of the last term. */
  #previousTerm: bigint | undefined;
  #leading: Promise<void> = Promise.resolve();

  constructor(options: ReplicaCoordinationOptions) {
    this.#options = options;
    const { etcd, keys, self, logger } = options;
    const info = { ...self, mirrored: -1 };
    this.#session = new Session({ ...options, replicas: keys.replicas, info });
    const failed = (err: unknown): void => logger.warn({ err }, 'Cannot watch the leader key');
    const leader = followKeys(
      etcd,
      { key: keys.leader },
      {
        reset: ([kv], revision) => this.#leaderChanged(kv, revision),
        changed: ({ type, kv }) =>
          this.#leaderChanged(type === 'put' ? kv : undefined, kv.modRevision),
        failed,
      },
    );
    const replicas = followKeys(
      etcd,
      { key: keys.replicas, prefix: true },
      {
        reset: (kvs) => {
          this.#found.clear();
          for (const kv of kvs) this.#register(kv);
        },
        changed: ({ type, kv }) => {
          if (type === 'put') this.#register(kv);
          else this.#found.delete(kv.key);
        },
      },
    );
    this.#followers = [leader, replicas];
  }

  get leader(): LeaderInfo | undefined {
    return this.#leader;
  }

  get replicas(): readonly ReplicaInfo[] {
    return [...this.#found.values()];
  }

  get silentMs(): number {
    return this.#session.silentMs;
  }

  onLeader(listener: (leader: LeaderInfo | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async waitForLeader(milliseconds: number): Promise<LeaderInfo | undefined> {
    if (this.#leader?.ready === true) return this.#leader;
    return await new Promise((resolve) => {
      const done = (leader: LeaderInfo | undefined): void => {
        clearTimeout(timer);
        stop();
        resolve(leader);
      };
      const timer = setTimeout(() => done(undefined), milliseconds);
      const stop = this.onLeader((leader) => {
        if (leader?.ready === true) done(leader);
      });
    });
  }

  lead(leading: Leading): void {
    this.#leading = this.#elections(leading);
  }

  publishMirrored(mirrored: number): void {
    this.#session.publishMirrored(mirrored);
  }

  async putWithLease(key: string, value: Buffer): Promise<void> {
    const { etcd } = this.#options;
    const lease = await this.#session.lease(this.#resigning.signal);
    await transact(etcd, [], [{ put: key, value, lease: lease.id }]);
  }

  async depose(term: bigint): Promise<void> {
    const { etcd, keys } = this.#options;
    await transact(etcd, [{ key: keys.leader, createRevision: term }], [{ remove: keys.leader }]);
  }

  stepDown(): void {
    this.#term?.end();
  }

  async resign(): Promise<void> {
    this.#resigning.abort();
    await this.#leading;
  }

  async close(): Promise<void> {
    await this.resign();
    for (const follower of this.#followers) await follower.close();
    await this.#session.close();
  }

  #register(kv: KeyValue): void {
    try {
      this.#found.set(kv.key, JSON.parse(kv.value.toString()));
    } catch {
      this.#found.delete(kv.key);
    }
  }

  #leaderChanged(kv: KeyValue | undefined, revision: bigint): void {
    const leader = kv && readLeader(kv);
    this.#isKnown = true;
    this.#leader = leader;
    const term = this.#term;
    // Events from before the election do not concern it.
    if (term !== undefined && leader?.term !== term.number && revision >= term.number) term.end();
    for (const listener of [...this.#listeners]) listener(leader);
  }

  async #elections(leading: Leading): Promise<void> {
    const { signal } = this.#resigning;
    while (!signal.aborted) {
      try {
        await this.#vacancy(signal);
        const lease = await this.#session.lease(signal);
        await this.#eligible(leading, signal);
        const { etcd, keys } = this.#options;
        if (signal.aborted || !this.#isVacant) continue;
        const data = { ...this.#options.self, ready: false };
        const previous = this.#previousTerm;
        const term = await campaign({ etcd, key: keys.leader, lease, data, previous });
        if (term !== undefined) await this.#lead(term, leading);
        // The watch reports the winner.
        else await pause(RETRY_MS, signal);
      } catch (err) {
        if (signal.aborted) return;
        this.#options.logger.debug({ err }, 'Election failed');
        await pause(RETRY_MS, signal);
      }
    }
  }

  async #lead(term: LeaderTerm, leading: Leading): Promise<void> {
    const { logger, self, keys } = this.#options;
    this.#term = term;
    this.#previousTerm = term.number;
    logger.info({ term: String(term.number) }, 'Elected');
    let isReady = false;
    try {
      const ready = async (): Promise<void> => {
        isReady = await term.publish({ ...self, ready: true });
      };
      await leading.run(term, { ready, resigning: this.#resigning.signal });
    } catch (err) {
      logger.error({ err, term: String(term.number) }, 'Leading failed');
    } finally {
      // If etcd does not answer, the lease ends the term.
      const givenUp = term.giveUp(isReady ? keys.handedOver : undefined).catch(() => undefined);
      await Promise.race([givenUp, sleep(GIVE_UP_MS)]);
      this.#term = undefined;
      logger.info({ term: String(term.number) }, 'No longer the leader');
    }
    // Lets another replica try, and avoids a tight loop after a failure.
    await pause(RETRY_MS, this.#resigning.signal);
  }

  /** Stops waiting when another replica is elected meanwhile. */
  async #eligible(leading: Leading, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const stop = this.onLeader((leader) => {
      if (leader !== undefined && leader.id !== this.#options.self.id) over.abort();
    });
    try {
      await leading.eligible(AbortSignal.any([signal, over.signal]));
    } finally {
      stop();
    }
  }

  /**
   * True if there is no leader, or if the leader key is of an unanswered attempt of this replica,
   * which lives as long as its lease.
   */
  get #isVacant(): boolean {
    const leader = this.#leader;
    const isForgotten = leader?.id === this.#options.self.id && this.#term === undefined;
    return this.#isKnown && (leader === undefined || isForgotten);
  }

  async #vacancy(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isVacant) {
      await this.#changed(signal);
    }
  }

  async #changed(signal: AbortSignal): Promise<void> {
    const change = new AbortController();
    const stop = this.onLeader(() => change.abort());
    await aborted(signal, change.signal);
    stop();
  }
}
