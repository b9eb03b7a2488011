/**
 * The record that makes replicas one platform, written once by the first leader. While it is
 * absent, each replica offers its repository, and the one with the longest history leads: a lost
 * etcd is filled again from there.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd, KeyValue } from '../etcd/index.ts';
import { followKeys, type KeyFollower } from './follow-keys.ts';
import type { Keys } from './keys.ts';
import type { Term } from './term.ts';
import { transact, transactInTerm } from './transact.ts';

export interface ClusterRecord {
  readonly format: 1;
  readonly id: string;
  /** The base URL that tokens name as their issuer, unless --public-url is set. */
  readonly url: string;
  /** The first commit of the repository, once it is known. */
  readonly root?: string;
}

/**
 * The data that a replica can restore to an etcd that is empty or was restored from an older
 * snapshot.
 */
export interface RecoveryCandidate {
  readonly id: string;
  /** Number of commits on its branch. */
  readonly commits: number;
}

/** Time for replicas that start together to offer their data. */
const CANDIDATES_MS = 3_000;
/** Extra wait per replica that offers more. */
const RANK_MS = 2_000;
/** After this time, a replica with a better offer is considered unable to lead. */
const MAX_WAIT_MS = 20_000;

export class Cluster {
  readonly #etcd: Etcd;
  readonly #keys: Keys;

  constructor(etcd: Etcd, keys: Keys) {
    this.#etcd = etcd;
    this.#keys = keys;
  }

  /** Undefined: etcd is empty. Throws when another version wrote the record. */
  async read(): Promise<ClusterRecord | undefined> {
    const [kv] = (await this.#etcd.range({ key: this.#keys.cluster })).kvs;
    return kv && readCluster(kv);
  }

  /** Publishes the offer of this replica while it is alive and there is no leader. */
  async announce(
    own: RecoveryCandidate,
    put: (key: string, value: Buffer) => Promise<void>,
  ): Promise<void> {
    await put(this.#keys.candidates + own.id, Buffer.from(JSON.stringify(own)));
  }

  /**
   * Resolves when the replica of this offer may try to lead a platform of which etcd knows less.
   */
  async compete(own: RecoveryCandidate): Promise<void> {
    await sleep(CANDIDATES_MS);
    await this.waitForBetterCandidates(async () => own);
  }

  /** True while some replica has more data than etcd, and the state is not rebuilt from it yet. */
  async isBehind(): Promise<boolean> {
    const { recovery: key } = this.#keys;
    const { kvs } = await this.#etcd.range({ key, prefix: true, limit: 1, keysOnly: true });
    return kvs.length > 0;
  }

  /** Calls `listener` with `isBehind` now and after each change. */
  followRecovery(listener: (isBehind: boolean) => void): KeyFollower {
    const entries = new Set<string>();
    return followKeys(
      this.#etcd,
      { key: this.#keys.recovery, prefix: true },
      {
        reset: (kvs) => {
          entries.clear();
          for (const { key } of kvs) entries.add(key);
          listener(entries.size > 0);
        },
        changed: ({ type, kv: { key } }) => {
          if (type === 'put') entries.add(key);
          else entries.delete(key);
          listener(entries.size > 0);
        },
      },
    );
  }

  /** Ends the recovery: called by the leader when the state is durable. Throws TermEndedError. */
  async recovered(term: Pick<Term, 'fence'>): Promise<void> {
    await transactInTerm(this.#etcd, term.fence, [{ remove: this.#keys.recovering }]);
  }

  /** True if a leader restored data from a disk, and the state may lack it. */
  async isRecovering(): Promise<boolean> {
    return (await this.#etcd.range({ key: this.#keys.recovering, keysOnly: true })).kvs.length > 0;
  }

  /** Removes an offer after a leader was elected. */
  async withdraw(id: string): Promise<void> {
    await transact(this.#etcd, [], [{ remove: this.#keys.candidates + id }]);
  }

  /** Waits while other live replicas have a better offer. */
  async waitForBetterCandidates(offer: () => Promise<RecoveryCandidate>): Promise<void> {
    const until = performance.now() + MAX_WAIT_MS;
    let wait = 0;
    do {
      await sleep(wait);
      const { kvs } = await this.#etcd.range({ key: this.#keys.candidates, prefix: true });
      if (kvs.length === 0) return;
      const own = await offer();
      const offers = kvs.map(({ value }): RecoveryCandidate => JSON.parse(value.toString()));
      const better = offers.filter((other) => isBetter(other, own)).length;
      wait = wait === 0 ? better * RANK_MS : Math.min(better, 1) * RANK_MS;
    } while (wait > 0 && performance.now() < until);
  }

  /**
   * Calls `onLost` when the platform record is gone: etcd was emptied, or restored from another
   * time.
   */
  follow(id: string, onLost: () => void): KeyFollower {
    const look = (kv: KeyValue | undefined): void => {
      const found: Partial<ClusterRecord> = kv === undefined ? {} : JSON.parse(kv.value.toString());
      if (found.id !== id) onLost();
    };
    return followKeys(
      this.#etcd,
      { key: this.#keys.cluster },
      {
        reset: ([kv]) => look(kv),
        changed: ({ type, kv }) => look(type === 'put' ? kv : undefined),
      },
    );
  }

  /** Called by the first leader. Throws TermEndedError. */
  async createRecord(term: Pick<Term, 'fence'>, url: string): Promise<ClusterRecord> {
    const record: ClusterRecord = { format: 1, id: randomUUID(), url };
    await this.#put(term, record);
    return record;
  }

  /** Records the root commit. Called by the leader when there is a first commit. */
  async root(term: Pick<Term, 'fence'>, root: string): Promise<void> {
    const record = await this.read();
    if (record === undefined || record.root !== undefined) return;
    await this.#put(term, { ...record, root });
  }

  async #put(term: Pick<Term, 'fence'>, record: ClusterRecord): Promise<void> {
    const value = Buffer.from(JSON.stringify(record));
    await transactInTerm(this.#etcd, term.fence, [
      { put: this.#keys.cluster, value },
      { remove: this.#keys.candidates, prefix: true },
    ]);
  }
}

export function readCluster(kv: Pick<KeyValue, 'key' | 'value'>): ClusterRecord {
  const record: ClusterRecord | { format?: undefined } = JSON.parse(kv.value.toString());
  if (record.format === 1) return record;
  throw new Error(
    `${kv.key} in etcd was written by another version of gitplane: use that one, or another --etcd-prefix`,
  );
}

function isBetter(other: RecoveryCandidate, own: RecoveryCandidate): boolean {
  if (other.commits !== own.commits) return other.commits > own.commits;
  return other.id < own.id;
}
