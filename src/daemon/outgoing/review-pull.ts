/**
 * The pull request of the branch for writes. It is opened once while commits are pending, and found again
 * when one is open, even if a person opened it.
 */
import { pause, WorkQueue } from '../../concurrency/index.ts';
import type { Forge, Pull } from '../../forges/index.ts';
import { DeliveryError, type Outbox } from '../../outbox/index.ts';
import type { PendingWrites } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';
import { FORGE } from './commit-statuses.ts';

export interface ReviewPullParts {
  readonly outbox: Pick<Outbox, 'enqueue' | 'problems'>;
  readonly store: Pick<Store, 'document' | 'apply'>;
  readonly forge: Pick<Forge, 'openPulls' | 'openPull'>;
  readonly pending: Pick<PendingWrites, 'tip' | 'series' | 'sync' | 'reviewedAt'>;
  /** Name of the branch for writes. */
  readonly head: string;
  /** The revision that readers see. */
  readonly served: () => string | undefined;
  /** Identity of the repository on its forge. */
  readonly place: string;
  readonly onError: (error: unknown) => void;
}

const RECORD = 'forge:review';
const INTERVAL_MS = 500;
/** Time that the answer to a write waits for the address of its pull request. */
const WAIT_MS = 3000;
const LOOK_MS = 50;
const MOST_TRIES = 5;
const TRY_AGAIN_MS = 300;
const TITLE = 'Writes through the API';
const BODY =
  'The commits of this branch were written through the API of gitplane. They take effect when they are merged.';

export class ReviewPull {
  readonly #parts: ReviewPullParts;
  readonly #queue: WorkQueue;
  readonly #ended = new AbortController();
  /** A series of pending commits has been enqueued. */
  #isAsked = false;
  #isSynced = false;
  #series = 0;
  /** A write of this series has waited in vain. */
  #isLate = false;

  constructor(parts: ReviewPullParts) {
    this.#parts = parts;
    this.#queue = new WorkQueue({
      reconcile: async () => {
        await this.check().catch((error: unknown) => {
          parts.onError(error);
          throw error;
        });
        return INTERVAL_MS;
      },
      workers: 1,
    });
    parts.pending.reviewedAt(() => this.#addressSoon());
  }

  start(): void {
    this.#queue.add(RECORD);
  }

  /** Address of the open pull request; undefined: it is not known. */
  get url(): string | undefined {
    const record = this.#parts.store.document(RECORD);
    const url = record?.['place'] === this.#parts.place ? record['url'] : undefined;
    return typeof url === 'string' && url !== '' ? url : undefined;
  }

  /** The same while commits are pending. */
  get pendingUrl(): string | undefined {
    const { pending, served } = this.#parts;
    return pending.tip === undefined || pending.tip === served() ? undefined : this.url;
  }

  /** Asks for a pull request while commits are pending. */
  async check(): Promise<void> {
    const { pending, served, outbox, head } = this.#parts;
    if (!this.#isSynced) await pending.sync();
    this.#isSynced = true;
    this.#forgetEnded();
    const { tip } = pending;
    if (tip === undefined || tip === served()) return;
    if (!this.#isAsked && this.url === undefined) {
      const topic = 'review';
      await outbox.enqueue([{ destination: FORGE, topic, payload: { review: { head } } }]);
      this.#isAsked = true;
    }
  }

  /** One attempt. Rejects with DeliveryError. */
  async deliver(): Promise<void> {
    const { forge, pending, served, head, store, place } = this.#parts;
    if (pending.tip === served()) {
      throw new DeliveryError('nothing is pending any more', { problem: 'obsolete' });
    }
    const open = async () =>
      (await forge.openPulls()).find((pull) => pull.head === head && !pull.isFork);
    const { url } = (await open()) ?? (await this.#open());
    store.apply([], { [RECORD]: { place, url } });
  }

  /** A forge may know the branch only a moment after the push that made it. */
  async #open(): Promise<Pull> {
    const { forge, head } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        return await forge.openPull({ head, title: TITLE, body: BODY });
      } catch (error) {
        const isRefused = error instanceof DeliveryError && error.problem === 'refused';
        if (!isRefused || tries === MOST_TRIES || this.#ended.signal.aborted) throw error;
        await pause(TRY_AGAIN_MS, this.#ended.signal);
      }
    }
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#queue.stop();
  }

  /** The pull request of an earlier series is not that of the present one. */
  #forgetEnded(): void {
    const { pending, store } = this.#parts;
    if (pending.series === this.#series) return;
    this.#series = pending.series;
    this.#isAsked = false;
    this.#isLate = false;
    if (store.document(RECORD) !== undefined) store.apply([], { [RECORD]: undefined });
  }

  /** The write is durable already, so that one answer of a series waits, and for a short time alone. */
  async #addressSoon(): Promise<string | undefined> {
    const { problems } = this.#parts.outbox;
    this.#forgetEnded();
    this.#queue.add(RECORD);
    const end = Date.now() + WAIT_MS;
    while (this.url === undefined && !this.#isLate && !problems.has(FORGE)) {
      await pause(LOOK_MS, this.#ended.signal);
      this.#isLate = Date.now() >= end || this.#ended.signal.aborted;
    }
    return this.url;
  }
}
