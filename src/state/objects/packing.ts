/** Packs objects in the background, a few per event-loop tick. */
import type { EngineWrite } from '../engines/engine.ts';
import type { ObjectHandle } from './object-handle.ts';
import { PackDraft, type Packs } from './packs.ts';

export interface PackingHost {
  readonly packs: Packs;
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
    while (this.busy && performance.now() < end) this.#step();
  }

  stop(): void {
    clearTimeout(this.#delay);
    clearImmediate(this.#tick);
    this.#tick = undefined;
  }

  #schedule(): void {
    this.#tick ??= setImmediate(() => {
      this.#tick = undefined;
      try {
        this.#step();
        if (this.busy) this.#schedule();
      } catch (error) {
        this.#host.onError(error);
      }
    });
  }

  #step(): void {
    const end = performance.now() + MAX_BLOCK_MS;
    while (!this.#draft.isFull && this.#take()) if (performance.now() > end) return;
    this.#finishDraft();
    if (this.busy) return;
    this.#host.done();
  }

  #finishDraft(): void {
    const draft = this.#draft;
    this.#draft = new PackDraft();
    const writes = this.#host.packs.finish(draft, (stored) => this.#host.isDue(stored));
    if (writes.length > 0) this.#host.write(writes);
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
