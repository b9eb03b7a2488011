/**
 * What a replica does when etcd knows less than the replicas do, because it is empty or was put back
 * to an earlier time: it tells what it has, and the one that has most leads and goes on from there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Cluster,
  KeyFollower,
  Mirror,
  RecoveryCandidate,
  ReplicaCoordination,
} from '../../replication/index.ts';
import type { LocalRepository } from './local-repository.ts';

export interface EtcdRecoveryOptions {
  /** Our own id. */
  readonly self: string;
  readonly cluster: Cluster;
  readonly link: ReplicaCoordination;
  readonly repository: Pick<LocalRepository, 'isEmpty' | 'commits'> | undefined;
  readonly mirror: Pick<Mirror, 'ahead'> | undefined;
}

const POLL_MS = 100;
const SLOW_POLL_MS = 1_000;
/** A replica whose disk is empty waits until others had the time to say that they have more. */
const EMPTY_MS = 4_000;
/** Reads at a `resourceVersion` are answered after this, though etcd is still behind. */
const CURRENT_MS = 30_000;
const DEPOSE_EVERY_MS = 10_000;
const BEHIND =
  'etcd may have less than the disks of the replicas: it was put back to an earlier time, or does not answer';

export class EtcdRecovery {
  readonly #options: EtcdRecoveryOptions;
  readonly #begun = performance.now();
  readonly #wasEmpty: Promise<boolean>;
  readonly #closing = new AbortController();
  readonly #follower: KeyFollower;
  #checked: Promise<void> | undefined;
  #isChecked = false;
  #isBehindOthers = true;
  #isOffered = false;
  #deposeAt = 0;

  constructor(options: EtcdRecoveryOptions) {
    this.#options = options;
    const { cluster, link, repository } = options;
    this.#wasEmpty = repository?.isEmpty() ?? Promise.resolve(false);
    this.#wasEmpty.catch(() => undefined);
    link.onLeader((leader) => {
      if (leader?.ready === true && this.#isOffered) void this.#withdraw();
    });
    this.#follower = cluster.followRecovery((isBehind) => {
      this.#isBehindOthers = isBehind;
    });
  }

  /** Why what etcd has is not the newest; undefined: no replica that is here has more. */
  get problem(): string | undefined {
    return this.#isChecked && !this.#isBehindOthers ? undefined : BEHIND;
  }

  /** Whether there is more here than in an etcd that was put back. */
  async isAhead(): Promise<boolean> {
    return (await this.#options.mirror?.ahead()) !== undefined;
  }

  /** Resolves when this replica may try to lead, with what etcd does not have. */
  async compete(): Promise<void> {
    const { cluster, link } = this.#options;
    const own = await this.#offer();
    if (link.leader?.ready === true) await this.#withdraw();
    if (this.#isOffered) await cluster.compete(own);
  }

  /** Resolves when nobody has more than this replica, as far as can be told in time. */
  async deferToOthers(signal: AbortSignal): Promise<void> {
    const left = EMPTY_MS - (performance.now() - this.#begun);
    if (left > 0 && (await this.#wasEmpty)) await sleep(left, undefined, { signal });
    await this.#options.cluster.waitForBetterCandidates(() => this.#own());
  }

  /**
   * Resolves when etcd knows what the replicas know that are here. One that has more has to lead:
   * whoever leads without knowing it is made to let go.
   */
  async current(): Promise<void> {
    const { signal } = this.#closing;
    this.#checked ??= this.#check();
    await Promise.race([
      this.#checked,
      sleep(CURRENT_MS, undefined, { signal }).catch(() => undefined),
    ]);
  }

  /** To be called when etcd had forgotten this replica, and its offer with it. */
  announceAgain(): void {
    if (this.#isOffered) void this.#offer().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#follower.close();
  }

  /**
   * Withdraws the offer when a leader takes writes that has what is here. An offer that stays would
   * keep every replica from showing the newest. A leader that was elected before it saw the offer has
   * less: the offer stays, so that nobody shows that as the newest, until `#check` has deposed it.
   */
  async #withdraw(): Promise<void> {
    const { cluster, link, self } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      if (this.#isOffered && link.leader?.ready !== true) return;
      try {
        if (!this.#isOffered) return await cluster.withdraw(self);
        this.#isOffered = await this.isAhead();
        if (!this.#isOffered) continue;
      } catch {
        // An etcd that does not answer is asked again.
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #check(): Promise<void> {
    const { signal } = this.#closing;
    const begun = performance.now();
    while (!signal.aborted) {
      // An etcd that does not answer may have been put back.
      this.#isChecked = !(await this.#isBehind().catch(() => true));
      if (this.#isChecked) return;
      const isSlow = performance.now() - begun > CURRENT_MS;
      await sleep(isSlow ? SLOW_POLL_MS : POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #isBehind(): Promise<boolean> {
    const { cluster, link, self } = this.#options;
    if (!(await this.isAhead())) return await cluster.isBehind();
    const { leader } = link;
    const now = performance.now();
    // One that does not take writes yet may be about to go on from what it has.
    if (leader?.ready === true && leader.id !== self && now >= this.#deposeAt) {
      this.#deposeAt = now + DEPOSE_EVERY_MS;
      await this.#offer();
      await link.depose(leader.term);
    }
    return true;
  }

  async #own(): Promise<RecoveryCandidate> {
    const { self, repository } = this.#options;
    return { id: self, commits: (await repository?.commits()) ?? 0 };
  }

  async #offer(): Promise<RecoveryCandidate> {
    const { cluster, link } = this.#options;
    const own = await this.#own();
    this.#isOffered = true;
    await cluster.announce(own, (key, value) => link.putWithLease(key, value));
    // Somebody may have begun to lead meanwhile.
    if (!this.#isOffered) await this.#withdraw();
    return own;
  }
}
