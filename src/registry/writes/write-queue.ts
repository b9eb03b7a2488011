/**
 * Queue of API writes. Several writes share one flush, with one commit each. While one group is
 * being written to disk, the next one is built on top of it (invariants 1 and 2).
 * Visibility and answers follow the order of the commits. If a group cannot be published, later
 * groups cannot either. All of them are undone, newest first, and their writes are decided again on
 * the present branch.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { keyString, tooManyRequests, unavailable } from '../../apimachinery/index.ts';
import type { ObjectChange } from '../../catalog/index.ts';
import type { Mutex } from '../../concurrency/index.ts';
import { type CommitBatch, HeadMovedError } from '../../git/index.ts';
import type { BranchObserver } from '../branch-options.ts';
import { FileTexts } from './file-texts.ts';
import { type Group, InFlightCommits } from './in-flight-commits.ts';
import { type Staged, type StagingOptions, stage } from './staging.ts';
import type { Write, Written } from './write.ts';

interface QueuedWrite {
  readonly write: Write;
  attempts: number;
  resolve(written: Written): void;
  reject(error: unknown): void;
}

interface StagedInQueue extends Staged {
  readonly queued: QueuedWrite;
}

/** Commits per flush; more would only delay the first ones. */
const MAX_BATCH = 256;
/** Groups in flight at once, beside the one that is being built. */
const MAX_IN_FLIGHT = 2;
/** A smaller group waits: each group costs a flush, whatever its size. */
const MIN_GROUP_AHEAD = 8;
/** Interval at which building a group yields to the groups in flight. */
const YIELD_MS = 2;
/** The same while none is in flight: requests alone wait for it. */
const YIELD_ALONE_MS = 10;
/**
 * A write that takes longer, such as one of thousands of keys, is followed by a pause of a part of its
 * time, in the next group too. A tick accepts one connection: without the pause, each new one would
 * wait for one more write.
 */
const LONG_MS = 50;
const PAUSE_SHARE = 1 / 4;
const MAX_ATTEMPTS = 8;
const MAX_QUEUED = 10_000;

export interface WriteQueueOptions extends StagingOptions {
  readonly mutex: Mutex;
  readonly observer: BranchObserver;
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #texts = new FileTexts(MAX_IN_FLIGHT);
  readonly #inFlight: InFlightCommits<StagedInQueue>;
  #waiting: QueuedWrite[] = [];
  #building = false;
  /** Recent number of concurrent writes. */
  #usual = 0;
  readonly #answering = new Set<Promise<void>>();
  #scheduled = false;
  /** End of the pause after a long write. */
  #pausesUntil = 0;
  #closed = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
    this.#inFlight = new InFlightCommits({
      ...options,
      onShown: (staged) => this.#answer(staged),
      onFailed: (staged, error) => {
        for (const { queued } of staged) queued.reject(error);
      },
      onEnded: () => this.#schedule(),
    });
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Resolves when the write is durable and visible; rejects with the refusal. */
  submit(write: Write): Promise<Written> {
    if (this.#closed) return Promise.reject(unavailable('The server is shutting down'));
    if (this.#waiting.length >= MAX_QUEUED) {
      return Promise.reject(tooManyRequests('Too many requests, please try again later.', 1));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, attempts: 0, resolve, reject });
      this.#schedule();
    });
  }

  /** True if API writes moved the branch there: groups in flight, or the last visible one. */
  isOwn(head: string): boolean {
    if (this.#inFlight.endsAt(head)) return true;
    return (this.#building || this.#inFlight.size > 0) && head === this.#inFlight.reached;
  }

  /**
   * Resolves when nothing is in flight and catalog and state are at the head of the branch, as far
   * as API writes are concerned. Callers hold the mutex.
   */
  async settle(): Promise<void> {
    while (this.#inFlight.broken || this.#inFlight.size > 0) {
      await this.#inFlight.ended();
      this.#schedule();
      if (this.#inFlight.broken) await this.#repair();
    }
  }

  /** Refuses new writes and resolves when those in flight are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#scheduled || this.#waiting.length > 0 || this.#inFlight.size > 0) {
      await this.#options.mutex.run(() => this.settle());
    }
    await Promise.all(this.#answering);
  }

  #schedule(): void {
    if (this.#scheduled || !this.#isDue()) return;
    this.#scheduled = true;
    void this.#options.mutex.run(async () => {
      try {
        // Requests that arrived together are read first, so that they share a group.
        if (this.#usual > 1) await setImmediate();
        await this.#decideWaiting();
      } finally {
        this.#scheduled = false;
      }
      this.#schedule();
    });
  }

  #isDue(): boolean {
    const { broken, size } = this.#inFlight;
    if (broken) return true;
    if (size === 0) return this.#waiting.length > 0;
    const enough = Math.max(MIN_GROUP_AHEAD, this.#usual / 2);
    if (size >= MAX_IN_FLIGHT || this.#waiting.length < enough) return false;
    let ready = 0;
    // Bounded, since this runs for each write, however long the queue is.
    for (const { write } of this.#waiting.slice(0, 2 * MAX_BATCH)) {
      if (!this.#inFlight.isBusy(keyString(write.key))) ready += 1;
      if (ready >= enough) return true;
    }
    return false;
  }

  async #decideWaiting(): Promise<void> {
    if (this.#inFlight.broken) await this.settle();
    const batch = this.#take();
    if (batch.length === 0) return;
    this.#building = true;
    try {
      await this.#build(batch);
    } catch (error) {
      for (const queued of batch) queued.reject(error);
    }
    this.#building = false;
    this.#inFlight.showPublished();
  }

  /** The next writes, at most one per object: a second one depends on the result of the first. */
  #take(): QueuedWrite[] {
    const batch: QueuedWrite[] = [];
    const later: QueuedWrite[] = [];
    const keys = new Set<string>();
    const outstanding = this.#waiting.length + this.#inFlight.writes;
    this.#usual = Math.max(outstanding, Math.floor(this.#usual * 0.9));
    for (const queued of this.#waiting) {
      const id = keyString(queued.write.key);
      const waits = batch.length >= MAX_BATCH || keys.has(id) || this.#inFlight.isBusy(id);
      if (waits) later.push(queued);
      else batch.push(queued);
      keys.add(id);
    }
    this.#waiting = later;
    return batch;
  }

  async #build(writes: readonly QueuedWrite[]): Promise<void> {
    const { repository, state } = this.#options;
    if (this.#inFlight.size === 0) await state.recover();
    this.#texts.beginGroup();
    const batch = repository.begin(state.revision);
    const staged = await this.#stageAll(batch, writes);
    if (staged.length === 0) return;
    try {
      this.#inFlight.publish(batch, staged, state.closeGroup(staged));
      this.#texts.keepGroup();
    } catch (error) {
      undoAll(staged);
      throw error;
    }
  }

  async #stageAll(batch: CommitBatch, writes: readonly QueuedWrite[]): Promise<StagedInQueue[]> {
    const staged: StagedInQueue[] = [];
    const inFlight = (): ObjectChange[] =>
      [...this.#inFlight.staged, ...staged].flatMap(({ changes }) => changes);
    const options = { ...this.#options, texts: this.#texts, inFlight };
    let held = performance.now();
    for (const queued of writes) {
      const limit = this.#inFlight.size > 0 ? YIELD_MS : YIELD_ALONE_MS;
      let began = performance.now();
      const pause = this.#pausesUntil - began;
      if (pause > 0 || began - held > limit) {
        await (pause > 0 ? setTimeout(pause) : setImmediate());
        held = performance.now();
        began = held;
      }
      try {
        staged.push({ ...(await stage(options, batch, queued.write)), queued });
      } catch (error) {
        queued.reject(error);
      }
      this.#pauseAfter(performance.now() - began);
    }
    return staged;
  }

  #pauseAfter(spentMs: number): void {
    if (spentMs > LONG_MS) this.#pausesUntil = performance.now() + spentMs * PAUSE_SHARE;
  }

  #answer(staged: readonly StagedInQueue[]): void {
    const { store } = this.#options;
    for (const { queued, commit, inState } of staged) {
      const written = { stored: store.get(queued.write.key), commit };
      if (inState !== true) queued.resolve(written);
      else {
        const answering = store
          .flush()
          .then(() => queued.resolve(written), queued.reject)
          .finally(() => this.#answering.delete(answering));
        this.#answering.add(answering);
      }
    }
  }

  /** Returns to the state before the failed group, then follows the branch. */
  async #repair(): Promise<void> {
    const groups = this.#inFlight.takeFailed();
    for (const { staged } of groups.toReversed()) undoAll(staged);
    const failed = groups.filter(({ outcome }) => outcome !== 'published');
    try {
      await this.#options.state.catchUp();
    } catch (error) {
      for (const { staged } of groups) for (const { queued } of staged) queued.reject(error);
      return;
    }
    // A group was published even so if the branch had moved before its predecessor failed.
    for (const { staged, outcome } of groups) if (outcome === 'published') this.#answer(staged);
    this.#again(failed);
  }

  /** Another writer moved the branch first: every write is decided again. */
  #again(failed: readonly Group<StagedInQueue>[]): void {
    const again: QueuedWrite[] = [];
    for (const { staged, outcome } of failed) {
      const error = typeof outcome === 'object' ? outcome.error : undefined;
      for (const { queued } of staged) {
        queued.attempts++;
        if (!(error instanceof HeadMovedError)) queued.reject(error);
        else if (queued.attempts < MAX_ATTEMPTS) again.push(queued);
        else queued.reject(unavailable('The branch keeps moving; please try again'));
      }
    }
    this.#waiting = [...again, ...this.#waiting];
  }
}

/** Newest step first. */
function undoAll(staged: readonly Staged[]): void {
  for (const { undo } of staged.toReversed()) undo?.();
}
