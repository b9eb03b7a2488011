/**
 * What one replica has with the others by way of etcd: that it is there, who else is, who leads,
 * and its own turns at leading.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd, KeyValue } from '../etcd/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { campaign, type HeldTerm, type LeaderInfo, readLeader } from './election.ts';
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
  /** Called when we are there again after etcd had forgotten us. */
  readonly onAgain: () => void;
  readonly logger: Logger;
}

/** How this replica leads, when it is its turn. */
export interface Leading {
  /**
   * Called when nobody leads; resolves when this replica should try to. Rejects, or resolves when
   * it is too late, without harm.
   */
  readonly eligible: (signal: AbortSignal) => Promise<void>;
  /** Leads until the term is over or is to be given back, and must resolve soon after. */
  readonly run: (term: Term, by: LeadingWith) => Promise<void>;
}

export interface LeadingWith {
  /** Tells others that writes are taken. */
  readonly ready: () => Promise<void>;
  /** Aborted when the term is to end well: it is held until `run` resolves. */
  readonly resigning: AbortSignal;
}

export interface ReplicaCoordination {
  /** As far as is known here. */
  readonly leader: LeaderInfo | undefined;
  readonly replicas: readonly ReplicaInfo[];
  /** For how long etcd is not heard any more, as our lease tells; 0: it is. */
  readonly silentMs: number;
  /** Called when somebody else leads, or what is known of the leader changed. Returns the way to stop. */
  onLeader(listener: (leader: LeaderInfo | undefined) => void): () => void;
  /** Resolves with a leader that takes writes, or undefined when there was none for so long. */
  waitForLeader(milliseconds: number): Promise<LeaderInfo | undefined>;
  /** Takes part in elections from now on. */
  lead(leading: Leading): void;
  /** Tells others how far the mirror is. */
  tell(mirrored: number): void;
  /** Puts something that goes when this replica does. */
  offer(key: string, value: Buffer): Promise<void>;
  /** Ends the term of whoever leads, to let another: etcd was put back, and that one does not know. */
  depose(term: bigint): Promise<void>;
  /** Ends the term under way, if any, because this replica cannot do what a leader has to. */
  stepDown(): void;
  /** Leads no more: resolves when the term under way, if any, is over and given back. */
  resign(): Promise<void>;
  close(): Promise<void>;
}

export function openReplicaCoordination(options: ReplicaCoordinationOptions): ReplicaCoordination {
  return new EtcdLink(options);
}

const RETRY_MS = 200;
const GIVE_UP_MS = 1_500;

class EtcdLink implements ReplicaCoordination {
  readonly #options: ReplicaCoordinationOptions;
  readonly #session: Session;
  readonly #followers: readonly KeyFollower[];
  readonly #listeners = new Set<(leader: LeaderInfo | undefined) => void>();
  readonly #resigning = new AbortController();
  readonly #found = new Map<string, ReplicaInfo>();
  #leader: LeaderInfo | undefined;
  #isKnown = false;
  #term: HeldTerm | undefined;
  /** The number of the last one. */
  #former: bigint | undefined;
  #leading: Promise<void> = Promise.resolve();

  constructor(options: ReplicaCoordinationOptions) {
    this.#options = options;
    const { etcd, keys, self, logger } = options;
    const info = { ...self, mirrored: -1 };
    this.#session = new Session({ ...options, replicas: keys.replicas, info });
    const failed = (err: unknown): void => logger.warn({ err }, 'Cannot see who leads');
    const leader = followKeys(
      etcd,
      { key: keys.leader },
      {
        reset: ([kv], revision) => this.#saw(kv, revision),
        changed: ({ type, kv }) => this.#saw(type === 'put' ? kv : undefined, kv.modRevision),
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

  tell(mirrored: number): void {
    this.#session.tell(mirrored);
  }

  async offer(key: string, value: Buffer): Promise<void> {
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
      this.#found.set(kv.key, JSON.parse(kv.value.toString()) as ReplicaInfo);
    } catch {
      this.#found.delete(kv.key);
    }
  }

  #saw(kv: KeyValue | undefined, revision: bigint): void {
    const leader = kv && readLeader(kv);
    this.#isKnown = true;
    this.#leader = leader;
    const term = this.#term;
    // What was seen before the election says nothing of it.
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
        const told = { ...this.#options.self, ready: false };
        const former = this.#former;
        const term = await campaign({ etcd, key: keys.leader, lease, told, former });
        if (term !== undefined) await this.#lead(term, leading);
        // Our watch will tell who was faster.
        else await sleep(RETRY_MS, undefined, { signal });
      } catch (err) {
        if (signal.aborted) return;
        this.#options.logger.debug({ err }, 'An election without us');
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #lead(term: HeldTerm, leading: Leading): Promise<void> {
    const { logger, self, keys } = this.#options;
    this.#term = term;
    this.#former = term.number;
    logger.info({ term: String(term.number) }, 'Elected');
    let isReady = false;
    try {
      const ready = async (): Promise<void> => {
        isReady = await term.tell({ ...self, ready: true });
      };
      await leading.run(term, { ready, resigning: this.#resigning.signal });
    } catch (err) {
      logger.error({ err, term: String(term.number) }, 'Leading failed');
    } finally {
      // An etcd that does not answer ends the term by itself.
      const givenUp = term.giveUp(isReady ? keys.handedOver : undefined).catch(() => undefined);
      await Promise.race([givenUp, sleep(GIVE_UP_MS)]);
      this.#term = undefined;
      logger.info({ term: String(term.number) }, 'Leads no more');
    }
    // Another one may do better; and whatever failed is not tried in a circle.
    await sleep(RETRY_MS, undefined, { signal: this.#resigning.signal }).catch(() => undefined);
  }

  /** Stops waiting for what the replica has to do first, when somebody else leads meanwhile. */
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
   * Nobody leads, as far as is known, or it is us and we were not told: an attempt that nobody answered
   * came through later. Its key lives as long as we do.
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
