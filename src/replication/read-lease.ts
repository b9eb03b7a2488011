/**
 * How a leader knows that nobody else has led up to this moment, without asking etcd each time. When
 * etcd says that the leader's key is of our term, it is so at some moment after the question was sent.
 * The next leader lets its first `SILENT_MS` pass before it writes anything that can be read, unless
 * this leader handed over, and its term begins after that moment. So for `READS_MS` from when the
 * question was sent, no other leader has written. This needs nothing of the clock of etcd, and of ours only that they go about equally fast:
 * SILENT_MS by the clock of the next leader must not be shorter than READS_MS by that of this one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd } from '../etcd/index.ts';
import { SingleFlight } from '../state/index.ts';
import type { Term } from './term.ts';

/** Replicas of different versions run beside each other: the first may only shrink, the second only grow. */
const READS_MS = 400;
const SILENT_MS = 500;
/** Etcd is asked again, while somebody reads, so that nobody has to wait for it. */
const REFRESH_MS = 150;

/** What was the time when a question was sent. */
interface Moment {
  /** Of performance.now(), which does not go on while the machine sleeps. */
  readonly running: number;
  /** Of Date.now(), which somebody may set: when it jumps ahead etcd is asked, and that is all. */
  readonly wall: number;
}

export interface ReadLeaseOptions {
  readonly etcd: Pick<Etcd, 'range'>;
  /** Of the leader. */
  readonly key: string;
  readonly term: Pick<Term, 'number' | 'signal'>;
  /** No earlier leader answers from what it knows: see hand-over.ts. */
  readonly isHandedOver?: boolean;
}

export class ReadLease {
  /** Resolves when no earlier leader answers from what it knows. */
  readonly begins: Promise<void>;
  readonly #options: ReadLeaseOptions;
  readonly #looks = new SingleFlight(() => this.#look());
  #confirmed: Moment | undefined;
  #isRefreshing = false;

  /** To be made when the term has begun. */
  constructor(options: ReadLeaseOptions) {
    this.#options = options;
    this.begins = options.isHandedOver === true ? Promise.resolve() : silence();
  }

  /** Whether nobody else can have written anything up to the moment of the call. */
  isSure(): boolean {
    if (this.#confirmed === undefined || this.#options.term.signal.aborted) return false;
    const age = since(this.#confirmed);
    if (age > REFRESH_MS) this.#refresh();
    return age < READS_MS;
  }

  /** The same, asking etcd. Rejects when that does not answer. */
  async sure(): Promise<boolean> {
    return await this.#looks.look();
  }

  #refresh(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const done = (): void => {
      this.#isRefreshing = false;
    };
    this.#looks.look().then(done, done);
  }

  async #look(): Promise<boolean> {
    const { etcd, key, term } = this.#options;
    const sent = now();
    const { kvs } = await etcd.range({ key, keysOnly: true });
    const isOurs = kvs[0]?.createRevision === term.number;
    if (isOurs) this.#confirmed = sent;
    return isOurs;
  }
}

function now(): Moment {
  return { running: performance.now(), wall: Date.now() };
}

function since({ running, wall }: Moment): number {
  return Math.max(performance.now() - running, Date.now() - wall);
}

async function silence(): Promise<void> {
  const end = performance.now() + SILENT_MS;
  // Timers count from the begin of the turn in which they were set.
  for (let left = SILENT_MS; left > 0; left = end - performance.now()) await sleep(left);
}
