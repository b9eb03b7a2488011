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
import { type Clock, systemClock } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject } from '../apimachinery/object.ts';
import { runInSlices } from '../apimachinery/pauses.ts';
import { EtcdError } from '../etcd/etcd-error.ts';
import type { RecordCodec } from './codec.ts';
import { deferred, within } from './deferred.ts';
import { difference } from './difference.ts';
import type { HeldObject } from './held-object.ts';
import type { JournalWindow } from './journal.ts';
import {
  type ReceivedBatch,
  type ReceivedNote,
  readBatch,
  UnfittingBatchError,
} from './received-batch.ts';
import { noteRecordKey } from './record.ts';
import {
  ForgottenRevisionError,
  type Newest,
  type RecordChanges,
  type RecordFeed,
} from './record-feed.ts';
import { readState, type SavedState } from './saved-state.ts';
import { SharedLook } from './shared-look.ts';
import { StateError } from './state-error.ts';
import type { Collection, JournalEvent, ObjectList, Store, StoredObject, Watch } from './store.ts';
import { View } from './view.ts';
import { Waiters } from './waiters.ts';

export interface FollowingStoreOptions {
  readonly feed: RecordFeed;
  readonly codec: RecordCodec;
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
   * who gave it out did not live to keep it. Rejects as `barrier` does.
   */
  reached(version: number, patienceMs?: number): Promise<boolean>;
  /** Milliseconds since it was last sure to show the newest; Infinity: never yet. */
  readonly unconfirmedMs: number;
  /** Steps shown so far, and how often another state took the place of what was shown. */
  readonly counts: { readonly steps: number; readonly reloads: number };
}

const PATIENCE_MS = 3000;
const CONFIRM_EVERY_MS = 2000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5000;

/** Returns at once; `ready` tells when there is something to show. */
export function openFollowingStore(options: FollowingStoreOptions): FollowingStore {
  return new Follower(options);
}

class Follower implements FollowingStore {
  readonly #options: FollowingStoreOptions;
  readonly #view: View;
  readonly #revisions = new Waiters<bigint>();
  readonly #versions = new Waiters<number>();
  readonly #newest: SharedLook<Newest>;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  readonly #confirming: NodeJS.Timeout;
  readonly #loading = deferred<void>();
  /** The newest revision that is known. */
  #revision = -1n;
  /** The revision that is shown: less than what is known while a state comes in parts. */
  #shown = -1n;
  #confirmed: number | undefined;
  #changes: RecordChanges | undefined;
  #steps = 0;
  #reloads = 0;
  /** What is known does not fit together: it has to be read again. */
  #stale = true;
  /** Whether reading begins with what can be followed from, or with what is there now. */
  #fromOldest = true;

  constructor(options: FollowingStoreOptions) {
    const { feed, onError, window, clock = systemClock } = options;
    this.#options = options;
    this.#view = new View({ onError, window, clock }, { objects: [], notes: new Map(), head: 0 });
    this.#newest = new SharedLook(() => within(PATIENCE_MS, feed.newest(), () => this.#late()));
    this.#loading.promise.catch(() => undefined);
    this.#running = this.#run();
    this.#confirming = setInterval(() => this.#confirm(), CONFIRM_EVERY_MS).unref();
  }

  get loaded(): boolean {
    return this.#confirmed !== undefined;
  }

  get unconfirmedMs(): number {
    return performance.now() - (this.#confirmed ?? Number.NEGATIVE_INFINITY);
  }

  get counts(): FollowingStore['counts'] {
    return { steps: this.#steps, reloads: this.#reloads };
  }

  get resourceVersion(): number {
    return this.#view.head;
  }

  get(key: ObjectKey): StoredObject | undefined {
    return this.#view.get(key);
  }

  list(collection: Collection): ObjectList {
    return this.#view.list(collection);
  }

  listAt(collection: Collection, resourceVersion: number): ObjectList {
    return this.#view.listAt(collection, resourceVersion);
  }

  watch(collection: Collection, since: number): Watch {
    if (this.#closing.signal.aborted) throw this.#closed();
    return this.#view.watch(collection, since);
  }

  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void {
    return this.#view.observe(collection, listener);
  }

  note(name: string): JsonObject | undefined {
    return this.#view.note(name);
  }

  notes(prefix: string): IterableIterator<[string, JsonObject]> {
    return this.#view.notes(prefix);
  }

  ready(): Promise<void> {
    return this.#loading.promise;
  }

  async barrier(patienceMs = PATIENCE_MS): Promise<void> {
    const asked = performance.now();
    const { written, clock } = await this.#newest.look();
    if (clock < this.#revision) this.#rewind();
    const patience = { patienceMs, late: () => this.#late() };
    await this.#revisions.reach(written, () => this.#shown, patience);
    this.#confirmed = Math.max(this.#confirmed ?? asked, asked);
    this.#loading.resolve();
  }

  async reached(version: number, patienceMs = PATIENCE_MS): Promise<boolean> {
    const patience = { patienceMs, late: () => this.#late() };
    await this.#versions.reach(version, () => this.#view.head, patience);
    return !this.#view.isSkipped(version);
  }

  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort();
      clearInterval(this.#confirming);
      this.#changes?.close();
      this.#view.close();
      const closed = this.#closed();
      this.#loading.reject(closed);
      this.#revisions.fail(closed);
      this.#versions.fail(closed);
    }
    await this.#running;
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
    const revision = oldest > this.#shown ? oldest : (await feed.newest()).clock;
    const state = await readState({ place: feed.place, load: () => feed.load(revision) }, codec);
    if (this.#closing.signal.aborted) return;
    this.#stale = false;
    this.#revision = revision;
    if (this.#install(state)) this.#show(revision);
    this.#confirm();
  }

  async #follow(): Promise<void> {
    const { feed, codec } = this.#options;
    const changes = feed.changes(this.#revision + 1n);
    this.#changes = changes;
    if (this.#closing.signal.aborted) changes.close();
    try {
      for await (const batch of changes) {
        const read = await runInSlices(readBatch(batch, codec, (key) => this.#view.get(key)));
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
    this.#shown = -1n;
    this.#changes?.close();
  }

  #confirm(): void {
    this.barrier().catch(() => undefined);
  }

  #show(revision: bigint): void {
    this.#shown = revision;
    this.#revisions.reached(revision);
    this.#versions.reached(this.#view.head);
  }

  /** A state that is not whole is not shown: false. */
  #install({ meta, objects, packs, notes }: SavedState): boolean {
    if (meta === undefined || meta.filling !== undefined) return false;
    for (const pack of packs) pack.release();
    const now = { objects, notes, head: meta.head ?? meta.last };
    const events = difference(this.#view.objects(), now);
    if (this.loaded) this.#reloads++;
    this.#view.become(now, events);
    return true;
  }

  /** All of a step is there at once for every reader. False: there is nothing whole to show. */
  #take({ events, notes, packed, meta }: ReceivedBatch): boolean {
    const isWhole = meta === undefined || meta.filling === undefined;
    if (!isWhole || this.#shown < 0n) {
      // When it is whole it is read at once.
      this.#stale ||= isWhole && meta !== undefined;
      this.#fromOldest = false;
      this.#shown = -1n;
      return false;
    }
    const [first] = events;
    if (first !== undefined && first.resourceVersion <= this.#view.head) {
      throw new UnfittingBatchError(`version ${first.resourceVersion} comes twice`);
    }
    if (first !== undefined) this.#view.skip(first.resourceVersion);
    for (const { type, current } of events) {
      this.#view.replace(current.key, type === 'DELETED' ? undefined : current);
    }
    for (const held of packed) this.#move(held);
    for (const note of notes) this.#keep(note);
    this.#steps++;
    this.#view.announce(this.#view.append(events), events);
    return true;
  }

  /** Objects share the bytes that they share there: so what is dead there is garbage here. */
  #move({ key, resourceVersion, home, at }: HeldObject): void {
    const held = this.#view.get(key);
    if (held?.resourceVersion === resourceVersion) held.move(home, at);
  }

  #keep(note: ReceivedNote): void {
    if ('text' in note) {
      this.#view.keepNote(note.name, note.text);
      return;
    }
    const gone = [...this.#view.notes('')].find(([name]) => noteRecordKey(name) === note.record);
    if (gone !== undefined) this.#view.keepNote(gone[0], undefined);
  }

  #late(): StateError {
    return new StateError(
      `the state in ${this.#options.feed.place} cannot be followed at the moment`,
    );
  }

  #closed(): StateError {
    return new StateError(`the state in ${this.#options.feed.place} is closed`);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeoutPromise(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
}
