/**
 * A store that follows another one by its records: it shows a complete state of that store,
 * slightly later. It uses the same versions, so a watch can move between followers.
 *
 * It starts with the oldest state from which every event is available, so that older watches can
 * resume here. When events are no longer available, it switches to the newest state: watches end,
 * and listeners get the difference.
 */

import { type Clock, runAtOnce, runYielding, systemClock } from '../../apimachinery/index.ts';
import { backoffBound, pause } from '../../concurrency/index.ts';
import { EtcdError } from '../../etcd/index.ts';
import type { JournalWindow } from '../journal/journal.ts';
import { difference } from '../objects/difference.ts';
import type { ObjectHandle } from '../objects/object-handle.ts';
import { View } from '../objects/view.ts';
import { ViewReader } from '../objects/view-reader.ts';
import type { RecordCodec } from '../records/codec.ts';
import { documentRecordKey } from '../records/record.ts';
import type { SavedState } from '../records/saved-state.ts';
import { readState } from '../records/saved-state.ts';
import { StateError } from '../state-error.ts';
import type { Store } from '../store.ts';
import { Freshness, type Writer } from './freshness.ts';
import type { ReceivedDocument } from './received-batch.ts';
import { BatchMismatchError, type ReceivedBatch, readBatch } from './received-batch.ts';
import { CompactedFeedError, type RecordChanges, type RecordFeed } from './record-feed.ts';

export interface FollowingStoreOptions {
  readonly feed: RecordFeed;
  readonly codec: RecordCodec;
  /** Absent: every barrier reads the newest revision from the feed. */
  readonly writer?: Writer | undefined;
  /** Receives errors of listeners and of following. Must not throw itself. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
  readonly window?: Partial<JournalWindow>;
}

export interface FollowingStore extends Pick<ViewReader, keyof ViewReader>, Pick<Store, 'close'> {
  /** True once the store was up to date. Do not read from it before. */
  readonly loaded: boolean;
  /** Resolves when `loaded` is true; rejects when the store closes before. */
  ready(): Promise<void>;
  /**
   * Resolves when every change is shown that was acknowledged before the call. Rejects with
   * StateError after `timeoutMs`.
   */
  barrier(timeoutMs?: number): Promise<void>;
  /**
   * Resolves when a version is shown: true; false if no such version will exist, since its writer
   * ended before it was durable; undefined if another state was loaded meanwhile, which may contain
   * it. Rejects as `barrier` does.
   */
  reached(version: number, timeoutMs?: number): Promise<boolean | undefined>;
  /** Milliseconds since the store was last confirmed to be up to date; Infinity: never. */
  readonly unconfirmedMs: number;
  /** Steps applied, and full reloads, so far. */
  readonly counts: { readonly steps: number; readonly reloads: number };
}

/** Interval of the check for restored backups. */
const CHECK_EVERY_MS = 2000;
const BACKOFF = { firstMs: 100, lastMs: 5000 };

/** Returns at once; await `ready` before reading. */
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
  /** The newest received revision. */
  #revision = -1n;
  #changes: RecordChanges | undefined;
  #steps = 0;
  #reloads = 0;
  /** The state must be read again. */
  #stale = true;
  /** True: the next load starts at the oldest available revision; false: at the newest. */
  #fromOldest = true;

  constructor(options: FollowingStoreOptions) {
    const { feed, writer, onError, window, clock = systemClock } = options;
    const begin = { objects: [], documents: new Map(), head: 0 };
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

  barrier(timeoutMs?: number): Promise<void> {
    return this.#freshness.barrier(timeoutMs);
  }

  async reached(version: number, timeoutMs?: number): Promise<boolean | undefined> {
    await this.#freshness.reached(version, timeoutMs);
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
    let runs = 1;
    while (!this.#closing.signal.aborted) {
      const before = this.#revision;
      try {
        if (this.#stale) await this.#load();
        await this.#follow();
      } catch (error) {
        this.#failed(error);
      }
      runs = this.#revision === before ? runs + 1 : 1;
      await pause(backoffBound(runs, BACKOFF), this.#closing.signal, { ref: false });
    }
  }

  #failed(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const isForgotten = error instanceof CompactedFeedError;
    // After an outage of etcd, the known state is still valid.
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
    if (installState(this.#view, state)) {
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

  /** The records are older than those already read: a backup was restored. */
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

  /** False if there is no complete state to show. */
  #take(step: ReceivedBatch): boolean {
    const { meta } = step;
    const isWhole = meta === undefined || meta.filling === undefined;
    if (!isWhole || !this.#freshness.isShowing) {
      // A state that has become complete is read again.
      this.#stale ||= isWhole && meta !== undefined;
      this.#fromOldest = false;
      this.#freshness.hide();
      return false;
    }
    applyStep(this.#view, step);
    this.#steps++;
    return true;
  }

  #closed(): StateError {
    return new StateError(`the state in ${this.#options.feed.place} is closed`);
  }
}

/** Replaces the contents of the view. Returns false for an incomplete state, which is not shown. */
function installState(view: View, { meta, objects, packs, documents }: SavedState): boolean {
  if (meta === undefined || meta.filling !== undefined) return false;
  for (const pack of packs) pack.release();
  const now = { objects, documents, head: meta.head ?? meta.last };
  view.replaceAll(now, difference(view.objects(), now));
  return true;
}

/** Applies a step at once for every reader. Throws UnfittingBatchError. */
function applyStep(
  view: View,
  { events, documents, packed, provenanceChanges }: ReceivedBatch,
): void {
  const [first] = events;
  if (first !== undefined && first.resourceVersion <= view.head) {
    throw new BatchMismatchError(`version ${first.resourceVersion} comes twice`);
  }
  if (first !== undefined) view.skip(first.resourceVersion);
  const touched = view.show(runAtOnce(view.step(events, provenanceChanges)));
  for (const held of packed) moveToPack(view, held);
  for (const note of documents) setDocument(view, note);
  view.announce(touched, events);
}

/** Objects are packed as in the followed store, so that its dead packs can be freed here. */
function moveToPack(view: View, { key, resourceVersion, container, at }: ObjectHandle): void {
  const held = view.get(key);
  if (held?.resourceVersion === resourceVersion) held.move(container, at);
}

function setDocument(view: View, note: ReceivedDocument): void {
  if ('text' in note) {
    view.setDocument(note.name, note.text);
    return;
  }
  const gone = [...view.documents('')].find(([name]) => documentRecordKey(name) === note.record);
  if (gone !== undefined) view.setDocument(gone[0], undefined);
}
