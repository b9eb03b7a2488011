/**
 * A store that follows one elsewhere by its records: it shows what was there at some moment, all of
 * it and nothing else, a moment later than that. Versions are those that were given there, so a
 * watch can move between stores that follow the same one.
 *
 * It begins with the oldest state from which everything can be followed, so that watches that began
 * before it can go on here. When what happened meanwhile cannot be had any more, the newest state
 * takes the place of what it shows: watches end, listeners are told the difference.
 */
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import { type Clock, runYielding, systemClock } from '../../apimachinery/index.ts';
import { EtcdError } from '../../etcd/index.ts';
import type { JournalWindow } from '../journal/journal.ts';
import { View } from '../objects/view.ts';
import { ViewReader } from '../objects/view-reader.ts';
import type { RecordCodec } from '../records/codec.ts';
import { readState } from '../records/saved-state.ts';
import { StateError } from '../state-error.ts';
import type { Store } from '../store.ts';
import { install, takeStep } from './followed-view.ts';
import { Freshness, type Writer } from './freshness.ts';
import { type ReceivedBatch, readBatch } from './received-batch.ts';
import { ForgottenRevisionError, type RecordChanges, type RecordFeed } from './record-feed.ts';

export interface FollowingStoreOptions {
  readonly feed: RecordFeed;
  readonly codec: RecordCodec;
  /** Absent: the feed is asked what is newest, each time. */
  readonly writer?: Writer | undefined;
  /** What a listener threw, and why following does not get on. Must not throw itself. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
  readonly window?: Partial<JournalWindow>;
}

type Reading = Pick<
  Store,
  'resourceVersion' | 'get' | 'list' | 'listAt' | 'watch' | 'observe' | 'note' | 'notes' | 'close'
>;

export interface FollowingStore extends Reading {
  /** Whether it has been up to date at least once; nobody should be shown anything before. */
  readonly loaded: boolean;
  /** Resolves when it is; rejects when the store is closed before. */
  ready(): Promise<void>;
  /**
   * Resolves when everything is shown that was acknowledged anywhere before the call. Rejects with
   * StateError when that takes longer than `patienceMs`.
   */
  barrier(patienceMs?: number): Promise<void>;
  /**
   * Resolves when a version is shown: true; false when none with that number will ever be, because
   * who gave it out did not live to keep it; undefined when another state came meanwhile, and it may be
   * in that or not. Rejects as `barrier` does.
   */
  reached(version: number, patienceMs?: number): Promise<boolean | undefined>;
  /** Milliseconds since it was last sure to show the newest; Infinity: never yet. */
  readonly unconfirmedMs: number;
  /** Steps shown so far, and how often another state took the place of what was shown. */
  readonly counts: { readonly steps: number; readonly reloads: number };
}

/** Whether the records were put back from a backup. */
const CHECK_EVERY_MS = 2000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;

/** Returns at once; `ready` tells when there is something to show. */
export function openFollowingStore(options: FollowingStoreOptions): FollowingStore {
  return new Follower(options);
}

class Follower extends ViewReader implements FollowingStore {
  readonly #options: FollowingStoreOptions;
  readonly #view: View;
  readonly #freshness: Freshness;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  readonly #checking: NodeJS.Timeout;
  /** The newest revision that is known. */
  #revision = -1n;
  #changes: RecordChanges | undefined;
  #steps = 0;
  #reloads = 0;
  /** What is known does not fit together: it has to be read again. */
  #stale = true;
  /** Whether reading begins with what can be followed from, or with what is there now. */
  #fromOldest = true;

  constructor(options: FollowingStoreOptions) {
    const { feed, writer, onError, window, clock = systemClock } = options;
    const begin = { objects: [], notes: new Map(), head: 0 };
    const view = new View({ onError, window, clock }, begin);
    super(view);
    this.#view = view;
    this.#options = options;
    this.#freshness = new Freshness({
      place: feed.place,
      newest: () => feed.newest(),
      writer,
      received: () => this.#revision,
      onRewound: () => this.#rewind(),
    });
    this.#running = this.#run();
    this.#checking = setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  get loaded(): boolean {
    return this.#freshness.loaded;
  }

  get unconfirmedMs(): number {
    return this.#freshness.unconfirmedMs;
  }

  get counts(): FollowingStore['counts'] {
    return { steps: this.#steps, reloads: this.#reloads };
  }

  ready(): Promise<void> {
    return this.#freshness.ready();
  }

  barrier(patienceMs?: number): Promise<void> {
    return this.#freshness.barrier(patienceMs);
  }

  async reached(version: number, patienceMs?: number): Promise<boolean | undefined> {
    await this.#freshness.reached(version, patienceMs);
    const isSkipped = this.#view.isSkipped(version);
    return isSkipped === undefined ? undefined : !isSkipped;
  }

  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort();
      clearInterval(this.#checking);
      this.#changes?.close();
      this.#view.close();
      this.#freshness.close(this.#closed());
    }
    await this.#running;
  }

  protected assertOpen(): void {
    if (this.#closing.signal.aborted) throw this.#closed();
  }

  /** Follows until it is closed, whatever happens on the way. */
  async #run(): Promise<void> {
    let patience = FIRST_RETRY_MS;
    while (!this.#closing.signal.aborted) {
      const before = this.#revision;
      try {
        if (this.#stale) await this.#load();
        await this.#follow();
      } catch (error) {
        this.#failed(error);
      }
      patience = this.#revision === before ? Math.min(patience * 2, LAST_RETRY_MS) : FIRST_RETRY_MS;
      await pause(patience, this.#closing.signal);
    }
  }

  #failed(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const isForgotten = error instanceof ForgottenRevisionError;
    // Where etcd was not there for a while, what is known still is.
    if (!(error instanceof EtcdError)) {
      this.#stale = true;
      this.#fromOldest = isForgotten;
    }
    if (!isForgotten) this.#options.onError(error);
  }

  async #load(): Promise<void> {
    const { feed, codec } = this.#options;
    const oldest = this.#fromOldest ? await feed.oldest() : -1n;
    // Readers never go back in time.
    const revision = oldest > this.#freshness.shown ? oldest : (await feed.newest()).clock;
    const state = await readState({ place: feed.place, load: () => feed.load(revision) }, codec);
    if (this.#closing.signal.aborted) return;
    this.#stale = false;
    this.#revision = revision;
    const isAgain = this.loaded;
    if (install(this.#view, state)) {
      if (isAgain) this.#reloads++;
      this.#show(revision);
    }
    this.#check();
  }

  async #follow(): Promise<void> {
    const { feed, codec } = this.#options;
    const changes = feed.changes(this.#revision + 1n);
    this.#changes = changes;
    if (this.#closing.signal.aborted) changes.close();
    try {
      for await (const batch of changes) {
        const read = await runYielding(readBatch(batch, codec, (key) => this.#view.get(key)));
        if (this.#closing.signal.aborted || this.#stale) return;
        this.#revision = batch.revision;
        if (this.#take(read)) this.#show(batch.revision);
        if (this.#stale) return;
      }
    } finally {
      changes.close();
    }
  }

  /** The records are older than what was read of them: somebody put a backup back. */
  #rewind(): void {
    this.#stale = true;
    this.#fromOldest = false;
    this.#revision = -1n;
    this.#freshness.hide();
    this.#changes?.close();
  }

  #check(): void {
    this.#freshness.check().catch(() => undefined);
  }

  #show(revision: bigint): void {
    this.#freshness.show(revision, this.#view.head);
  }

  /** False: there is nothing whole to show. */
  #take(step: ReceivedBatch): boolean {
    const { meta } = step;
    const isWhole = meta === undefined || meta.filling === undefined;
    if (!isWhole || !this.#freshness.isShowing) {
      // When it is whole it is read at once.
      this.#stale ||= isWhole && meta !== undefined;
      this.#fromOldest = false;
      this.#freshness.hide();
      return false;
    }
    takeStep(this.#view, step);
    this.#steps++;
    return true;
  }

  #closed(): StateError {
    return new StateError(`the state in ${this.#options.feed.place} is closed`);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeoutPromise(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
}
