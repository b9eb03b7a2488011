/** Packs objects in the background, a few at a time, so that nobody waits long for it. */
import type { EngineWrite } from '../engines/engine.ts';
import type { HeldObject } from './held-object.ts';
import { PackDraft, type Packs } from './packs.ts';

export interface PackingHost {
  readonly packs: Packs;
  /** Whether the object is still what it was, and not where it should be. */
  isDue(stored: HeldObject): boolean;
  write(writes: readonly EngineWrite[]): void;
  /** Everything that was to be packed is. */
  done(): void;
  onError(error: unknown): void;
}

/** Whoever asks for an object meanwhile waits about so long. */
const LONGEST_HOLD_MS = 0.5;

export class Packing {
  readonly #host: PackingHost;
  #waiting: Iterator<HeldObject> | undefined;
  #draft = new PackDraft();
  #delay: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(host: PackingHost) {
    this.#host = host;
  }

  get busy(): boolean {
    return this.#waiting !== undefined || this.#draft.chosen.length > 0;
  }

  /** Objects are looked at when it is their turn. `afterMs`: how long others come first. */
  start(objects: Iterable<HeldObject>, afterMs = 0): void {
    this.stop();
    this.#waiting = objects[Symbol.iterator]();
    this.#draft = new PackDraft();
    if (afterMs === 0) this.#schedule();
    else this.#delay = setTimeout(() => this.#schedule(), afterMs);
  }

  /** Packs what waits, now, for at most so long. */
  finish(milliseconds: number): void {
    this.stop();
    const end = performance.now() + milliseconds;
    while (this.busy && performance.now() < end) this.#step();
  }

  stop(): void {
    clearTimeout(this.#delay);
    clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  #schedule(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      try {
        this.#step();
        if (this.busy) this.#schedule();
      } catch (error) {
        this.#host.onError(error);
      }
    });
  }

  #step(): void {
    const end = performance.now() + LONGEST_HOLD_MS;
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

  /** Looks at the next object. False: there is none. */
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
