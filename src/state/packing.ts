/** Packs objects in the background, one pack at a time, so that nobody waits long for it. */
import type { EngineWrite } from './engine.ts';
import type { HeldObject } from './held-object.ts';
import type { Packs } from './packs.ts';

export interface PackingHost {
  readonly packs: Packs;
  /** Whether the object is still what it was, and not where it should be. */
  isDue(stored: HeldObject): boolean;
  write(writes: readonly EngineWrite[]): void;
  /** Everything that was to be packed is. */
  done(): void;
  onError(error: unknown): void;
}

export class Packing {
  readonly #host: PackingHost;
  #waiting: readonly HeldObject[] = [];
  #next = 0;
  #turn: NodeJS.Immediate | undefined;

  constructor(host: PackingHost) {
    this.#host = host;
  }

  get busy(): boolean {
    return this.#next < this.#waiting.length;
  }

  start(objects: readonly HeldObject[]): void {
    this.#waiting = objects;
    this.#next = 0;
    this.#schedule();
  }

  /** Packs what waits, now, for at most so long. */
  finish(milliseconds: number): void {
    this.stop();
    const end = performance.now() + milliseconds;
    while (this.busy && performance.now() < end) this.#step();
  }

  stop(): void {
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
    const writes = this.#host.packs.pack(() => this.#take());
    if (writes.length > 0) this.#host.write(writes);
    if (this.busy) return;
    this.#waiting = [];
    this.#next = 0;
    this.#host.done();
  }

  #take(): HeldObject | undefined {
    while (this.#next < this.#waiting.length) {
      const stored = this.#waiting[this.#next++];
      if (stored !== undefined && this.#host.isDue(stored)) return stored;
    }
    return undefined;
  }
}
