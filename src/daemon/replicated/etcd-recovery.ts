/**
 * Recovery of an etcd that has less than the replicas, because it is empty or was restored to an earlier
 * time. Each replica offers the commits that it has, and the one with the most leads and continues.
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
  /** Id of this replica. */
  readonly self: string;
  readonly cluster: Cluster;
  readonly link: ReplicaCoordination;
  readonly repository: Pick<LocalRepository, 'isEmpty' | 'commits'> | undefined;
  readonly mirror: Pick<Mirror, 'ahead'> | undefined;
}

const POLL_MS = 100;
const SLOW_POLL_MS = 1_000;
/** Time that a replica with an empty disk leaves others to offer theirs. */
const EMPTY_MS = 4_000;
/** Time after which reads at a `resourceVersion` are answered although etcd is still behind. */
const CURRENT_MS = 30_000;
const DEPOSE_EVERY_MS = 10_000;
const BEHIND =
  'etcd may have less than the disks of the replicas: it was restored to an earlier time, or does not answer';

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

  /** Reason why etcd may be behind; undefined: no reachable replica has more. */
  get problem(): string | undefined {
    return this.#isChecked && !this.#isBehindOthers ? undefined : BEHIND;
  }

  /** True if this replica has commits that a restored etcd lacks. */
  async isAhead(): Promise<boolean> {
    return (await this.#options.mirror?.ahead()) !== undefined;
  }

  /** Resolves when this replica may try to lead, with the commits that etcd lacks. */
  async compete(): Promise<void> {
    const { cluster, link } = this.#options;
    const own = await this.#offer();
    if (link.leader?.ready === true) await this.#withdraw();
    if (this.#isOffered) await cluster.compete(own);
  }

  /** Resolves when no replica is known to have more than this one, within a time limit. */
  async deferToOthers(signal: AbortSignal): Promise<void> {
    const left = EMPTY_MS - (performance.now() - this.#begun);
    if (left > 0 && (await this.#wasEmpty)) await sleep(left, undefined, { signal });
    await this.#options.cluster.waitForBetterCandidates(() => this.#own());
  }

  /**
   * Resolves when etcd has everything that the reachable replicas have. A replica that has more must
   * lead, so a leader that lacks its commits is deposed.
   */
  async current(): Promise<void> {
    const { signal } = this.#closing;
    this.#checked ??= this.#check();
    await Promise.race([
      this.#checked,
      sleep(CURRENT_MS, undefined, { signal }).catch(() => undefined),
    ]);
  }

  /** Call when etcd has lost the registration of this replica, and its offer with it. */
  announceAgain(): void {
    if (this.#isOffered) void this.#offer().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#follower.close();
  }

  /**
   * Withdraws the offer once a ready leader has the commits of this replica; an offer that stays would
   * keep every replica from serving current reads. A leader that was elected before it saw the offer has
   * less: the offer then stays until `#check` has deposed that leader.
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
        // Ask again an etcd that does not answer.
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #check(): Promise<void> {
    const { signal } = this.#closing;
    const begun = performance.now();
    while (!signal.aborted) {
      // An etcd that does not answer may have been restored to an earlier time.
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
    // A leader that is not ready yet may be about to continue from its own commits.
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
    // A leader may have become ready meanwhile.
    if (!this.#isOffered) await this.#withdraw();
    return own;
  }
}
