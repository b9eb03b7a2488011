/**
 * What makes replicas one platform: a record that is written once, by the first of them to lead. As
 * long as it is not there, replicas offer what they have, and the one with the longest history
 * leads: an etcd that was lost is filled again from there.
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
  /** The base URL that tokens name as their issuer, unless --public-url says another. */
  readonly url: string;
  /** The first commit of the repository, once it is known. */
  readonly root?: string;
}

/** What a replica has for an etcd that is empty, or was put back to an earlier time. */
export interface Offer {
  readonly id: string;
  /** Of its branch. */
  readonly commits: number;
}

/** Long enough for replicas that are started together. */
const OFFERS_MS = 3_000;
/** A replica with less to offer waits so much longer, for each that has more. */
const RANK_MS = 2_000;
/** A replica that has more and does not lead by then cannot. */
const GIVE_WAY_MS = 20_000;

export class Cluster {
  readonly #etcd: Etcd;
  readonly #keys: Keys;

  constructor(etcd: Etcd, keys: Keys) {
    this.#etcd = etcd;
    this.#keys = keys;
  }

  /** Undefined: etcd is empty. Throws when it was written by another version. */
  async read(): Promise<ClusterRecord | undefined> {
    const [kv] = (await this.#etcd.range({ key: this.#keys.cluster })).kvs;
    return kv && readCluster(kv);
  }

  /** Tells others what this replica has, as long as it is there and nobody leads. */
  async offer(own: Offer, put: (key: string, value: Buffer) => Promise<void>): Promise<void> {
    await put(this.#keys.candidates + own.id, Buffer.from(JSON.stringify(own)));
  }

  /** Resolves when the replica of this offer may try to lead a platform of which etcd knows less. */
  async compete(own: Offer): Promise<void> {
    await sleep(OFFERS_MS);
    await this.giveWay(async () => own);
  }

  /** True if some replica has more than etcd, and the state does not show it yet. */
  async isBehind(): Promise<boolean> {
    const { recovery: key } = this.#keys;
    const { kvs } = await this.#etcd.range({ key, prefix: true, limit: 1, keysOnly: true });
    return kvs.length > 0;
  }

  /** Calls back with `isBehind`, now and whenever it changes. */
  followRecovery(told: (isBehind: boolean) => void): KeyFollower {
    const found = new Set<string>();
    return followKeys(
      this.#etcd,
      { key: this.#keys.recovery, prefix: true },
      {
        reset: (kvs) => {
          found.clear();
          for (const { key } of kvs) found.add(key);
          told(found.size > 0);
        },
        changed: ({ type, kv: { key } }) => {
          if (type === 'put') found.add(key);
          else found.delete(key);
          told(found.size > 0);
        },
      },
    );
  }

  /** As the leader, with the state durable. Throws TermEndedError. */
  async recovered(term: Pick<Term, 'fence'>): Promise<void> {
    await transactInTerm(this.#etcd, term.fence, [{ remove: this.#keys.recovering }]);
  }

  /** True if a leader took up what a disk has, and the state may not have it. */
  async isRecovering(): Promise<boolean> {
    return (await this.#etcd.range({ key: this.#keys.recovering, keysOnly: true })).kvs.length > 0;
  }

  /** Somebody leads, so that an offer says nothing any more. */
  async withdraw(id: string): Promise<void> {
    await transact(this.#etcd, [], [{ remove: this.#keys.candidates + id }]);
  }

  /** Lets those go first that have offered more, as long as they are there. */
  async giveWay(offer: () => Promise<Offer>): Promise<void> {
    const until = performance.now() + GIVE_WAY_MS;
    let wait = 0;
    do {
      await sleep(wait);
      const { kvs } = await this.#etcd.range({ key: this.#keys.candidates, prefix: true });
      if (kvs.length === 0) return;
      const own = await offer();
      const offers = kvs.map(({ value }) => JSON.parse(value.toString()) as Offer);
      const better = offers.filter((other) => isBetter(other, own)).length;
      wait = wait === 0 ? better * RANK_MS : Math.min(better, 1) * RANK_MS;
    } while (wait > 0 && performance.now() < until);
  }

  /** Calls back when etcd has no such platform any more: it was emptied, or put back to another time. */
  follow(id: string, onLost: () => void): KeyFollower {
    const look = (kv: KeyValue | undefined): void => {
      if (kv === undefined || (JSON.parse(kv.value.toString()) as ClusterRecord).id !== id)
        onLost();
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

  /** As the first leader. Throws TermEndedError. */
  async found(term: Pick<Term, 'fence'>, url: string): Promise<ClusterRecord> {
    const record: ClusterRecord = { format: 1, id: randomUUID(), url };
    await this.#put(term, record);
    return record;
  }

  /** As the leader, once there is a first commit. */
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
  const record = JSON.parse(kv.value.toString()) as { format?: unknown };
  if (record.format === 1) return record as ClusterRecord;
  throw new Error(
    `${kv.key} in etcd was written by another version of gitplane: use that one, or another --etcd-prefix`,
  );
}

function isBetter(other: Offer, own: Offer): boolean {
  if (other.commits !== own.commits) return other.commits > own.commits;
  return other.id < own.id;
}
