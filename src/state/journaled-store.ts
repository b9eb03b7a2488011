/**
 * The store: objects and journal in memory, which answer every read, and an engine below that
 * persists each batch of changes. A change is visible at once and durable a little later; a caller
 * that needs durability awaits `flush`.
 */
import {
  type Clock,
  type JsonValue,
  runAtOnce,
  runYielding,
  systemClock,
} from '../apimachinery/index.ts';
import type { EngineWrite, StateEngine } from './engines/engine.ts';
import { PersistedEvents } from './journal/event-records.ts';
import { firstVersions } from './journal/versions.ts';
import { LazyObject } from './objects/lazy-object.ts';
import { ObjectHandle } from './objects/object-handle.ts';
import { Pack } from './objects/pack.ts';
import { Packing } from './objects/packing.ts';
import { isLoose, Packs } from './objects/packs.ts';
import { View } from './objects/view.ts';
import { ViewReader } from './objects/view-reader.ts';
import { Preparation, type PreparedStep } from './prepared-step.ts';
import type { RecordCodec } from './records/codec.ts';
import { type Meta, metaWrite, type SavedState } from './records/saved-state.ts';
import type { RedoMark } from './redo/redo-files.ts';
import { RedoLog, type SealedStep } from './redo/redo-log.ts';
import type { StepChanges } from './redo/redo-record.ts';
import { type Restored, type RestoredStep, readRestored } from './redo/redo-replay.ts';
import { StateError } from './state-error.ts';
import type {
  Change,
  Documents,
  JournalEvent,
  NewProvenance,
  ObjectFactory,
  Source,
  Store,
  StoredObject,
} from './store.ts';
import type { StoreOptions } from './store-options.ts';

/** Time limit for the remaining packing at a shutdown. The next start can do it again. */
const FINISH_WITHIN_MS = 4_000;
/**
 * Delay before the first contents are saved: the daemon has just started, and clients wait for it.
 */
const SAVE_AFTER_MS = 1_000;
/** Delay before packing: more changes may follow. */
const PACK_AFTER_MS = 1_000;
/** Minimum number of changes before objects are packed again. */
const PACK_AT = 1024;

export class JournaledStore extends ViewReader implements Store {
  readonly #engine: StateEngine;
  readonly #codec: RecordCodec;
  readonly #view: View;
  readonly #clock: Clock;
  readonly #preparation: Preparation;
  readonly #packs: Packs;
  readonly #packing: Packing;
  /** Absent: no process follows the records. */
  readonly #persistedEvents: PersistedEvents | undefined;
  #next: number;
  /** Documents that are valid only after the first contents are saved completely. */
  #filling: readonly string[] | undefined;
  #awaitingFilled: (() => void)[] = [];
  /** Changes since objects were last packed. */
  #changes = 0;
  #closing: Promise<void> | undefined;
  /** Unfinished engine writes of a step that readers already see. */
  #writing: Generator<void, void> | undefined;
  readonly #options: StoreOptions;
  readonly #redo: RedoLog | undefined;
  /** Position in the redo log of the written records. */
  #redoMark: RedoMark | undefined;

  constructor(options: StoreOptions, { meta, objects, packs, documents, events }: SavedState) {
    const { onError, window, clock = systemClock, redo } = options;
    const isLogged = redo !== undefined && options.followed !== true;
    const known = options.followed === true || meta === undefined ? meta : withoutHead(meta);
    const { head, next } = firstVersions(known, clock);
    const view = new View({ onError, window, clock }, { objects, documents, head });
    super(view);
    this.#view = view;
    this.#options = options;
    this.#redo = isLogged ? new RedoLog(redo, options.codec, clock) : undefined;
    this.#redoMark = isLogged ? meta?.redo : undefined;
    this.#clock = clock;
    this.#engine = options.engine;
    this.#codec = options.codec;
    this.#view.skip(next);
    this.#next = next;
    if (options.followed === true) {
      this.#persistedEvents = new PersistedEvents(this.#view.window, events, clock.now());
    }
    this.#preparation = new Preparation(view, options.codec, options.followed === true);
    this.#packs = new Packs(options.codec, packs);
    this.#packing = new Packing({
      packs: this.#packs,
      isCompressed: options.followed !== true,
      isDue: (stored) => {
        this.#finishWriting();
        return isLoose(stored) && this.#view.get(stored.key) === stored;
      },
      write: (writes) => this.#engine.write(writes),
      done: () => this.#packed(),
      onError,
    });
  }

  get pristine(): boolean {
    return this.#view.pristine;
  }

  fill<S extends Source>(
    sources: readonly S[],
    filling: ObjectFactory<S>,
    documents: Documents,
  ): void {
    this.assertOpen();
    if (!this.pristine) throw new StateError(`the state in ${this.#engine.place} is in use`);
    const container = new LazyObject(filling, sources, this.#next);
    const objects = sources.map((source, at) => new ObjectHandle(source.key, container, at));
    this.#next += objects.length;
    this.#view.fill(objects, objects.length === 0 ? this.#view.head : this.#next - 1);
    this.#view.skip(this.#next);
    this.#filling = Object.keys(documents);
    // Valid after all objects are saved.
    this.#beginLog();
    const documentChanges = this.#preparation.documentChanges(documents);
    for (const [name, text] of documentChanges) this.#view.setDocument(name, text);
    this.#engine.write([...this.#preparation.documentWrites(documentChanges), this.meta(false)]);
    // Followers wait for the packed objects. Otherwise the start of the daemon goes first.
    this.#packing.start(objects, this.#persistedEvents === undefined ? SAVE_AFTER_MS : 0);
  }

  filled(): Promise<void> {
    if (this.#filling === undefined) return Promise.resolve();
    return new Promise((resolve) => void this.#awaitingFilled.push(resolve));
  }

  apply(
    changes: readonly Change[],
    documents: Documents = {},
    provenance: Iterable<NewProvenance> = [],
  ): (StoredObject | undefined)[] {
    this.assertOpen();
    return this.#commit(
      runAtOnce(this.#preparation.prepare({ changes, documents, provenance }, this.#next)),
    );
  }

  prepare(
    changes: readonly Change[],
    documents: Documents,
    provenance: Iterable<NewProvenance>,
  ): () => void {
    this.assertOpen();
    const step = runAtOnce(
      this.#preparation.prepare({ changes, documents: {}, provenance }, this.#next),
    );
    return () => {
      this.assertOpen();
      if (step.next !== this.#next) throw new StateError('The prepared step is out of date');
      // Another caller may have stored documents meanwhile. That takes no version.
      this.#commit(this.#preparation.withDocuments(step, documents));
    };
  }

  async applyYielding(
    changes: readonly Change[],
    documents: Documents,
    provenance: readonly NewProvenance[],
  ): Promise<void> {
    this.assertOpen();
    const request = { changes, documents, provenance };
    const step = await runYielding(this.#preparation.prepare(request, this.#next));
    const sealed = this.#redo && (await runYielding(this.#redo.seal(changesOf(step))));
    // Another change may have taken the planned versions meanwhile.
    if (step.next !== this.#next || this.#closing !== undefined)
      this.apply(changes, documents, provenance);
    else await this.#commitYielding(step, sealed);
  }

  #commit(step: PreparedStep): (StoredObject | undefined)[] {
    const { events, provenanceChanges, results } = step.draft;
    if (step.writes.length === 0) return results;
    this.#finishWriting();
    this.#log(step);
    const touched = this.#show(step);
    runAtOnce(this.#write(step));
    this.#view.announce(touched, events);
    this.#packWhenDue(events.length + provenanceChanges.length);
    return results;
  }

  /**
   * Publishes the step at once. Engine writes and notifications yield to the event loop. The next
   * write finishes an unfinished one first.
   */
  async #commitYielding(step: PreparedStep, sealed: SealedStep | undefined): Promise<void> {
    const { events, provenanceChanges } = step.draft;
    if (step.writes.length === 0) return;
    this.#finishWriting();
    this.#log(step, sealed);
    const touched = this.#show(step);
    const writing = this.#write(step);
    this.#writing = writing;
    await Promise.all([runYielding(writing), this.#view.announceYielding(touched, events)]);
    if (this.#writing === writing) this.#writing = undefined;
    if (this.#closing === undefined) this.#packWhenDue(events.length + provenanceChanges.length);
  }

  *provenanceFacts(): Iterable<readonly [StoredObject, JsonValue]> {
    for (const stored of this.#view.objects()) {
      const { container, at } = stored;
      const facts =
        container instanceof Pack ? container.facts(at) : (stored.provenance()?.facts ?? null);
      if (facts !== null) yield [stored, facts];
    }
    for (const pack of this.#packs) pack.release();
  }

  get trouble(): StateError | undefined {
    return this.#engine.trouble;
  }

  flush(): Promise<void> {
    this.#finishWriting();
    return this.#engine.flush();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The record of the versions and counts. */
  meta(clean: boolean): EngineWrite {
    const { size: objects, documentCount: notes, head } = this.#view;
    const last = clean ? head : this.#next - 1;
    const filling = this.#filling;
    const shown = this.#persistedEvents === undefined ? {} : { head };
    const redo = this.#redoMark;
    const next = clean ? this.#next : undefined;
    return metaWrite(this.#codec, { last, next, clean, objects, notes, filling, redo, ...shown });
  }

  /**
   * Replays the steps of the redo log that the engine or the journal lacks. Called once, before the
   * first read.
   */
  redo(meta: Meta | undefined): void {
    if (this.#redo === undefined) return;
    if (this.#isRedone(meta)) this.#redoMark = this.#redo.mark;
    else this.#beginLog();
    this.#engine.write([this.meta(false)]);
  }

  #beginLog(): void {
    this.#redo?.begin(this.#view.head);
    this.#redoMark = this.#redo?.mark;
  }

  #isRedone(meta: Meta | undefined): boolean {
    const { redo, codec } = this.#options;
    if (redo === undefined || meta?.redo === undefined || meta.filling !== undefined) return false;
    const found = readRestored({ ...redo, codec }, { meta, stored: (key) => this.#view.get(key) });
    if (found === undefined) return false;
    this.#restore(found, meta);
    return true;
  }

  #restore({ content, steps, head }: Restored, { clean, last, next }: Meta): void {
    this.#view.restartAt(content.head);
    for (const step of steps) this.#redoStep(step, content.mark.log);
    // Drops events outside the window.
    this.#view.announce(new Set(), []);
    const newest = clean ? head : Math.max(head, last);
    this.#next = firstVersions({ last: newest, next, clean, head }, this.#clock).next;
    this.#view.skip(this.#next);
    this.#redo?.resume(content);
  }

  #redoStep(
    { step, at, isSaved, events, provenanceChanges, documentChanges }: RestoredStep,
    log: string,
  ): void {
    const first = events[0]?.resourceVersion;
    if (first !== undefined) this.#view.skip(first);
    if (isSaved) {
      this.#view.restoreEvents(events, at);
      return;
    }
    const draft = { events, provenanceChanges, results: [], repeats: true };
    const prepared = runAtOnce(
      this.#preparation.encode(draft, documentChanges, first ?? this.#next),
    );
    this.#redoMark = { log, step };
    this.#show(prepared, at);
    runAtOnce(this.#write(prepared));
  }

  /** Called before a reader sees the step. */
  #log(step: PreparedStep, sealed?: SealedStep): void {
    if (this.#redo === undefined) return;
    this.#redo.append(changesOf(step), this.#view.head, sealed);
    this.#redoMark = this.#redo.mark;
  }

  async #close(): Promise<void> {
    this.#view.close();
    this.#finishWriting();
    if (this.#filling === undefined) this.#packing.stop();
    else this.#packing.finish(FINISH_WITHIN_MS);
    // The next start makes unsaved first contents again.
    this.#engine.write([this.meta(this.#filling === undefined)]);
    this.#redo?.close();
    await this.#engine.close();
  }

  protected assertOpen(): void {
    if (this.#closing !== undefined) {
      throw new StateError(`the state in ${this.#engine.place} is closed`);
    }
  }

  #show({ viewStep, documentChanges }: PreparedStep, at?: number): ReturnType<View['show']> {
    for (const [name, text] of documentChanges) this.#view.setDocument(name, text);
    const touched = this.#view.show(viewStep, at);
    this.#next = Math.max(this.#next, this.#view.head + 1);
    return touched;
  }

  /** Passes a published step to the engine as one batch. */
  *#write({ draft, writes }: PreparedStep): Generator<void, void> {
    const { events, provenanceChanges } = draft;
    const vacated: EngineWrite[] = [];
    for (const { previous } of [...events, ...provenanceChanges]) {
      if (previous === undefined) continue;
      for (const write of this.#packs.vacate(previous)) vacated.push(write);
      yield;
    }
    this.#engine.write([...writes, ...vacated, ...this.#eventWrites(events), this.meta(false)]);
  }

  /** Called before any other write, and before objects move to another pack. */
  #finishWriting(): void {
    const writing = this.#writing;
    this.#writing = undefined;
    if (writing !== undefined) runAtOnce(writing);
  }

  /** Persists the events within the window. */
  #eventWrites(events: readonly JournalEvent[]): EngineWrite[] {
    if (this.#persistedEvents === undefined) return [];
    const now = this.#clock.now();
    this.#persistedEvents.add(events, now);
    return this.#persistedEvents.trim(now);
  }

  /** Packs loose objects after enough changes; never while the first contents are saved. */
  #packWhenDue(changes: number): void {
    this.#changes += changes;
    if (this.#packing.busy || this.#changes < Math.max(PACK_AT, this.#view.size / 8)) return;
    this.#changes = 0;
    // The changes are already written, so skipping the packing loses nothing.
    this.#packing.start(this.#view.objects(), PACK_AFTER_MS);
  }

  #packed(): void {
    if (this.#filling === undefined) return;
    this.#finishWriting();
    this.#filling = undefined;
    this.#engine.write([this.meta(false)]);
    for (const resolve of this.#awaitingFilled.splice(0)) resolve();
  }
}

function changesOf({
  draft: { events, provenanceChanges },
  documentChanges,
}: PreparedStep): StepChanges {
  return { events, provenanceChanges, documentChanges };
}

/** Versions of a state whose clients saw changes before they were durable. */
function withoutHead({ head: _shown, ...meta }: Meta): Meta {
  return meta;
}
