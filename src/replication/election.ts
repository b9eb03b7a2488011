/**
 * One replica leads: the one whose key is there. The key is bound to its lease, so it goes when its
 * replica does; its create_revision is the term. etcd decides, nothing is voted on here.
 */
import { type Compare, type Etcd, EtcdError, type KeyValue, type Lease } from '../etcd/index.ts';
import type { Term } from './term.ts';
import { transact } from './transact.ts';

/** What is known of whoever leads. */
export interface LeaderInfo {
  readonly id: string;
  readonly peer: string;
  readonly url: string;
  readonly version: string;
  /** Takes writes; before that it is still taking over. */
  readonly ready: boolean;
  readonly term: bigint;
}

type Told = Omit<LeaderInfo, 'term'>;

export function readLeader(kv: KeyValue): LeaderInfo | undefined {
  try {
    const told = JSON.parse(kv.value.toString()) as Told;
    return { ...told, term: kv.createRevision };
  } catch {
    return undefined;
  }
}

/** A term of ours. Over when the lease is lost, when the key is gone, or when we give it up. */
export class HeldTerm implements Term {
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
    // The clock first: after a pause nothing else may have had the time to tell.
    return performance.now() < this.#lease.deadline && !this.signal.aborted;
  }

  /** Whoever noticed that it is over says so. */
  end(): void {
    this.#ending.abort();
  }

  /** Tells others what has become of us. False: the term is over. */
  async tell(told: Told): Promise<boolean> {
    const value = Buffer.from(JSON.stringify(told));
    const put = { put: this.#key, value, lease: this.#lease.id };
    const { succeeded } = await transact(this.#etcd, this.fence, [put]);
    if (!succeeded) this.end();
    return succeeded;
  }

  /** Lets another lead at once. `handedOver`: the key that tells it that this leader is silent. */
  async giveUp(handedOver?: string): Promise<void> {
    // First: from here on this leader says nothing of what is newest.
    this.end();
    const value = Buffer.from(String(this.number));
    const note = handedOver === undefined ? [] : [{ put: handedOver, value }];
    await transact(this.#etcd, this.fence, [{ remove: this.#key }, ...note]);
  }
}

/**
 * Undefined: somebody leads already. Throws EtcdError when etcd does not answer. What an earlier attempt
 * came to that nobody answered is found by the next one: the key is bound to our lease then. Where it
 * is of a term that is over for us, because giving it up failed, it goes, for another to begin.
 */
export async function campaign(of: {
  readonly etcd: Etcd;
  readonly key: string;
  readonly lease: Lease;
  readonly told: Told;
  /** The last term that was ours. */
  readonly former?: bigint | undefined;
}): Promise<HeldTerm | undefined> {
  const { etcd, key, lease, told } = of;
  const value = Buffer.from(JSON.stringify(told));
  try {
    const free = { key, createRevision: 0n };
    const put = { put: key, value, lease: lease.id };
    const { succeeded, revision, found } = await transact(etcd, [free], [put], key);
    if (succeeded) return new HeldTerm({ etcd, key, number: revision, lease });
    return await ownTerm(of, found[0]);
  } catch (error) {
    if (!(error instanceof EtcdError && error.unknown)) throw error;
    // It may have happened; leases are ours alone.
    const { kvs } = await etcd.range({ key });
    return await ownTerm(of, kvs[0]);
  }
}

async function ownTerm(
  {
    etcd,
    key,
    lease,
    former,
  }: Pick<Parameters<typeof campaign>[0], 'etcd' | 'key' | 'lease' | 'former'>,
  found: KeyValue | undefined,
): Promise<HeldTerm | undefined> {
  if (found === undefined || found.lease !== lease.id) return undefined;
  const term = new HeldTerm({ etcd, key, number: found.createRevision, lease });
  if (term.number !== former) return term;
  await term.giveUp();
  return undefined;
}
