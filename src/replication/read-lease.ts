/**
 * The read lease of a leader: it knows without a request to etcd that no other replica has led so
 * far. If etcd says that the leader key is of this term, this was true at some moment after the
 * question was sent. The next leader waits for `SILENT_MS` before its first visible write, unless
 * this leader handed over, and its term begins after that moment. So for `READS_MS` from sending
 * the question, no other leader has written. This does not depend on the clock of etcd. The clocks
 * of replicas need only run at about the same rate: SILENT_MS by the clock of the next leader must
 * not be shorter than READS_MS by that of this one.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { SingleFlight } from '../concurrency/index.ts';
import type { Etcd } from '../etcd/index.ts';
import type { Term } from './term.ts';

/**
 * Replicas of different versions run together: the first value may only shrink, the second only
 * grow.
 */
const READS_MS = 400;
const SILENT_MS = 500;
/** Age at which a read renews the lease in the background, so that no read waits for etcd. */
const REFRESH_MS = 150;

/** Clocks at the time when a question was sent. */
interface ClockReadings {
  /** performance.now(), which stops while the machine sleeps. */
  readonly running: number;
  /** Date.now(), which may be set: a jump ahead only causes a question to etcd. */
  readonly wall: number;
}

export interface ReadLeaseOptions {
  readonly etcd: Pick<Etcd, 'range'>;
  /** Key of the leader. */
  readonly key: string;
  readonly term: Pick<Term, 'number' | 'signal'>;
  /** True: no earlier leader answers reads; see hand-over.ts. */
  readonly isHandedOver?: boolean;
}

export class ReadLease {
  /** Resolves when no earlier leader answers reads. */
  readonly begins: Promise<void>;
  readonly #options: ReadLeaseOptions;
  readonly #confirmation = new SingleFlight(() => this.#askEtcd());
  #confirmed: ClockReadings | undefined;
  #isRefreshing = false;

  /** Created when the term has begun. */
  constructor(options: ReadLeaseOptions) {
    this.#options = options;
    this.begins = options.isHandedOver === true ? Promise.resolve() : waitForSilence();
  }

  /** True if no other replica can have written until this call. */
  isValid(): boolean {
    if (this.#confirmed === undefined || this.#options.term.signal.aborted) return false;
    const age = since(this.#confirmed);
    if (age > REFRESH_MS) this.#refresh();
    return age < READS_MS;
  }

  /** As `isSure`, but asks etcd. Rejects when etcd does not answer. */
  async confirm(): Promise<boolean> {
    return await this.#confirmation.look();
  }

  #refresh(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const done = (): void => {
      this.#isRefreshing = false;
    };
    this.#confirmation.look().then(done, done);
  }

  async #askEtcd(): Promise<boolean> {
    const { etcd, key, term } = this.#options;
    const sent = now();
    const { kvs } = await etcd.range({ key, keysOnly: true });
    const isOurs = kvs[0]?.createRevision === term.number;
    if (isOurs) this.#confirmed = sent;
    return isOurs;
  }
}

function now(): ClockReadings {
  return { running: performance.now(), wall: Date.now() };
}

function since({ running, wall }: ClockReadings): number {
  return Math.max(performance.now() - running, Date.now() - wall);
}

async function waitForSilence(): Promise<void> {
  const end = performance.now() + SILENT_MS;
  // Timers count from the start of the event-loop tick that set them.
  for (let left = SILENT_MS; left > 0; left = end - performance.now()) await sleep(left);
}
