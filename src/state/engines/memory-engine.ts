/** State for tests and one-off tools: durable only as long as the map that it is given. */

import { compareBytes } from '../objects/key-order.ts';
import {
  checkEngineKey,
  closedEngine,
  type EngineEntry,
  type EngineQueue,
  type EngineWrite,
  evaluated,
  type StateEngine,
} from './engine.ts';

export class MemoryEngine implements StateEngine {
  readonly place = 'memory';
  readonly #disk: Map<string, Buffer>;
  #queue: EngineQueue = new Map();
  #drain: NodeJS.Immediate | undefined;
  #closed = false;

  /** `disk` stands for stable storage: it changes with a flush, or shortly after a write. */
  constructor(disk = new Map<string, Buffer>()) {
    this.#disk = disk;
  }

  *load(prefix: string): Iterable<EngineEntry> {
    const keys = [...this.#disk.keys()].filter((key) => key.startsWith(prefix));
    for (const key of keys.sort(compareBytes)) {
      const value = this.#disk.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  write(batch: readonly EngineWrite[]): void {
    if (this.#closed) throw closedEngine(this.place);
    for (const { key } of batch) checkEngineKey(key);
    for (const { key, value } of batch) this.#queue.set(key, value);
    this.#drain ??= setImmediate(() => this.#settle());
  }

  async flush(): Promise<void> {
    this.#settle();
  }

  async close(): Promise<void> {
    this.#settle();
    this.#closed = true;
  }

  #settle(): void {
    clearImmediate(this.#drain);
    this.#drain = undefined;
    for (const [key, value] of evaluated(this.#queue)) {
      if (value === undefined) this.#disk.delete(key);
      else this.#disk.set(key, value);
    }
    this.#queue = new Map();
  }
}
