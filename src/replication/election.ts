/**
 * Leader election: the replica whose key exists leads. The key is bound to its lease, so it
 * disappears with the replica; its create_revision is the term. etcd decides; replicas do not vote.
 */
import { type Compare, type Etcd, EtcdError, type KeyValue, type Lease } from '../etcd/index.ts';
import type { Term } from './term.ts';
import { transact } from './transact.ts';

/** Public data of the leader. */
export interface LeaderInfo {
  readonly id: string;
  readonly peer: string;
  readonly url: string;
  readonly version: string;
  /** True when it accepts writes; before, it is taking over. */
  readonly ready: boolean;
  readonly term: bigint;
}

type LeaderData = Omit<LeaderInfo, 'term'>;

export function readLeader(kv: KeyValue): LeaderInfo | undefined {
  try {
    const data: LeaderData = JSON.parse(kv.value.toString());
    return { ...data, term: kv.createRevision };
  } catch {
    return undefined;
  }
}

/**
 * A term of this replica. It ends when the lease is lost, the key is gone, or the replica gives it
 * up.
 */
export class LeaderTerm implements Term {
  readonly number: bigint;
  readonly fence: readonly Compare[];
  readonly signal: AbortSignal;
  readonly #lease: Lease;
  readonly #ending = new AbortController();
  readonly #key: string;
  readonly #etcd: Pick<Etcd, 'txn'>;

  constructor(of: { etcd: Pick<Etcd, 'txn'>; key: string; number: bigint; lease: Lease }) {
    this.number = of.number;
    this.#lease = of.lease;
    this.#key = of.key;
    this.#etcd = of.etcd;
    this.fence = [{ key: of.key, createRevision: of.number }];
    this.signal = AbortSignal.any([this.#ending.signal, of.lease.lost]);
  }

  isHeld(): boolean {
    // The clock comes first: after a pause of the process, the signal may not be aborted yet.
    return performance.now() < this.#lease.deadline && !this.signal.aborted;
  }

  /** Marks the term as over. */
  end(): void {
    this.#ending.abort();
  }

  /** Publishes the state of this leader. False: the term is over. */
  async publish(data: LeaderData): Promise<boolean> {
    const value = Buffer.from(JSON.stringify(data));
    const put = { put: this.#key, value, lease: this.#lease.id };
    const { succeeded } = await transact(this.#etcd, this.fence, [put]);
    if (!succeeded) this.end();
    return succeeded;
  }

  /**
   * Lets another replica lead at once. `handedOver`: the key that tells the next leader that this
   * one answers no more reads.
   */
  async giveUp(handedOver?: string): Promise<void> {
    // First: from now on this leader answers no read-index requests.
    this.end();
    const value = Buffer.from(String(this.number));
    const note = handedOver === undefined ? [] : [{ put: handedOver, value }];
    await transact(this.#etcd, this.fence, [{ remove: this.#key }, ...note]);
  }
}

/**
 * Undefined: another replica leads. Throws EtcdError when etcd does not answer. An earlier attempt
 * without an answer may have created the key: it is bound to the lease of this replica and found by
 * the next attempt. A key of a previous term, which could not be given up, is removed so that another
 * replica can lead.
 */
export async function campaign(of: {
  readonly etcd: Etcd;
  readonly key: string;
  readonly lease: Lease;
  readonly data: LeaderData;
  /** Number of the last term of this replica. */
  readonly previous?: bigint | undefined;
}): Promise<LeaderTerm | undefined> {
  const { etcd, key, lease, data } = of;
  const value = Buffer.from(JSON.stringify(data));
  try {
    const free = { key, createRevision: 0n };
    const put = { put: key, value, lease: lease.id };
    const { succeeded, revision, found } = await transact(etcd, [free], [put], key);
    if (succeeded) return new LeaderTerm({ etcd, key, number: revision, lease });
    return await ownTerm(of, found[0]);
  } catch (error) {
    if (!(error instanceof EtcdError && error.unknown)) throw error;
    // The attempt may have succeeded; only this replica uses the lease.
    const { kvs } = await etcd.range({ key });
    return await ownTerm(of, kvs[0]);
  }
}

async function ownTerm(
  {
    etcd,
    key,
    lease,
    previous,
  }: Pick<Parameters<typeof campaign>[0], 'etcd' | 'key' | 'lease' | 'previous'>,
  found: KeyValue | undefined,
): Promise<LeaderTerm | undefined> {
  if (found === undefined || found.lease !== lease.id) return undefined;
  const term = new LeaderTerm({ etcd, key, number: found.createRevision, lease });
  if (term.number !== previous) return term;
  await term.giveUp();
  return undefined;
}
