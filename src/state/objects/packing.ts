/** Packs objects in the background, a few per event-loop tick. */
import type { EngineWrite } from '../engines/engine.ts';
import { compress, compressInPool } from '../records/compression.ts';
import type { ObjectHandle } from './object-handle.ts';
import { PackDraft, type Packs } from './packs.ts';

export interface PackingHost {
  readonly packs: Packs;
  /** False: other processes read the records, perhaps of an earlier release. */
  readonly isCompressed: boolean;
  /** True if the object is still current, and should move to a pack. */
  isDue(stored: ObjectHandle): boolean;
  write(writes: readonly EngineWrite[]): void;
  /** Called after all objects are packed. */
  done(): void;
  onError(error: unknown): void;
}

/** Longest time in ms that packing blocks the event loop. */
const MAX_BLOCK_MS = 0.5;

export class Packing {
  readonly #host: PackingHost;
  #waiting: Iterator<ObjectHandle> | undefined;
  #draft = new PackDraft();
  #delay: NodeJS.Timeout | undefined;
  #tick: NodeJS.Immediate | undefined;
  /** The draft whose record is compressed at the moment. */
  #compressing: PackDraft | undefined;

  constructor(host: PackingHost) {
    this.#host = host;
  }

  get busy(): boolean {
    return this.#waiting !== undefined || this.#draft.chosen.length > 0;
  }

  /**
   * Packs `objects` after a delay of `afterMs`. Each object is checked when the iterator reaches
   * it.
   */
  start(objects: Iterable<ObjectHandle>, afterMs = 0): void {
    this.stop();
    this.#waiting = objects[Symbol.iterator]();
    this.#draft = new PackDraft();
    if (afterMs === 0) this.#schedule();
    else this.#delay = setTimeout(() => this.#schedule(), afterMs);
  }

  /** Packs the remaining objects synchronously, within a time limit. */
  finish(milliseconds: number): void {
    this.stop();
    const end = performance.now() + milliseconds;
    while (this.busy && performance.now() < end) {
      if (!this.#gather()) continue;
      const { record } = this.#draft;
      this.#finishDraft(this.#host.isCompressed ? compress(record) : record);
    }
  }

  stop(): void {
    clearTimeout(this.#delay);
    clearImmediate(this.#tick);
    this.#tick = undefined;
    this.#compressing = undefined;
  }

  #schedule(): void {
    this.#tick ??= setImmediate(() => {
      this.#tick = undefined;
      this.#step().catch((error: unknown) => this.#host.onError(error));
    });
  }

  async #step(): Promise<void> {
    if (this.#gather()) {
      const draft = this.#draft;
      this.#compressing = draft;
      const { record, chosen } = draft;
      const isCompressed = this.#host.isCompressed && chosen.length > 0;
      const bytes = isCompressed ? await compressInPool(record) : record;
      // Packing was stopped or finished meanwhile.
      if (this.#compressing !== draft) return;
      this.#compressing = undefined;
      this.#finishDraft(bytes);
    }
    if (this.busy) this.#schedule();
  }

  /** Adds objects to the draft. Returns false if it took too long and there may be more. */
  #gather(): boolean {
    const end = performance.now() + MAX_BLOCK_MS;
    while (!this.#draft.isFull && this.#take()) if (performance.now() > end) return false;
    return true;
  }

  #finishDraft(bytes: Buffer): void {
    const draft = this.#draft;
    this.#draft = new PackDraft();
    const writes = this.#host.packs.finish(draft, bytes, (stored) => this.#host.isDue(stored));
    if (writes.length > 0) this.#host.write(writes);
    if (!this.busy) this.#host.done();
  }

  /** Checks the next object. Returns false at the end. */
  #take(): boolean {
    const next = this.#waiting?.next();
    if (next === undefined || next.done === true) {
      this.#waiting = undefined;
      return false;
    }
    if (this.#host.isDue(next.value)) this.#draft.add(next.value);
    return true;
  }
}
