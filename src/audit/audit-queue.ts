/**
 * The queue of one log. Requests never wait for the log: events wait here, up to a limit. Beyond it
 * new events are dropped, and counted.
 */
import type { EventBlock } from './event-buffer.ts';

/** A log: a file, standard output, a data store. */
export interface AuditTarget {
  /**
   * Opens the log. Rejects if the log cannot be written, or belongs to another program. `append`
   * opens it again.
   */
  open(): Promise<void>;
  /**
   * Appends whole lines: all of them or, if it rejects, none. Returns the number of lines that the
   * log can never accept, if any.
   */
  append(lines: readonly Buffer[]): Promise<number | undefined>;
  /** Closes the log and opens it again by its name, after another program moved its file. */
  reopen?(): Promise<void>;
  close(): Promise<void>;
}

export interface AuditQueueOptions {
  /** Reports the number of lost events. */
  dropped(events: number): void;
  written(events: number): void;
  /**
   * Called once per change: with an error if the log stops accepting lines, with undefined if it
   * accepts them again.
   */
  trouble(error: unknown): void;
  /** Called for each failed write. */
  failed?(error: unknown): void;
  readonly mostBytes?: number;
  readonly retryMs?: number;
  /** Time limit at shutdown for a log that accepts nothing. */
  readonly closeWithinMs?: number;
}

const MOST_BYTES = 16 * 1024 * 1024;
const RETRY_MS = 1000;
const BATCH_BYTES = 1024 * 1024;
const CLOSE_WITHIN_MS = 3000;

export class AuditQueue {
  readonly #options: AuditQueueOptions;
  #target: AuditTarget | undefined;
  #blocks: EventBlock[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;
  #inTrouble = false;
  #closing = false;
  #holds = 0;
  #wake: (() => void) | undefined;

  constructor(options: AuditQueueOptions) {
    this.#options = options;
  }

  add(block: EventBlock): void {
    if (this.#closing || this.#bytes + block.bytes.length > this.#mostBytes) {
      this.#options.dropped(block.events);
      return;
    }
    block.hold?.();
    this.#blocks.push(block);
    this.#bytes += block.bytes.length;
    this.#run();
  }

  get #mostBytes(): number {
    return this.#options.mostBytes ?? MOST_BYTES;
  }

  /** Bytes in the queue. */
  get waiting(): number {
    return this.#bytes;
  }

  /**
   * Pauses writes to the current log, until as many calls of `release`: another log is being
   * opened.
   */
  hold(): void {
    this.#holds++;
  }

  release(): void {
    this.#holds--;
    this.#run();
  }

  /**
   * Sends the queued lines to the new log. Returns the old one, which finishes its current write.
   */
  switchTo(target: AuditTarget | undefined): AuditTarget | undefined {
    const before = this.#target;
    this.#target = target;
    this.#wake?.();
    this.#run();
    return before;
  }

  /** Resolves when all queued lines are written, or the time limit is over. */
  async drained(withinMs = CLOSE_WITHIN_MS): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (this.#target !== undefined && this.#blocks.length > 0 && !this.#inTrouble) {
      const left = deadline - performance.now();
      if (left <= 0) return;
      await Promise.race([this.#running, pause(Math.min(left, 50))]);
    }
  }

  /** True if there is a log to write to. */
  get hasTarget(): boolean {
    return this.#target !== undefined;
  }

  /** Reports that the log failed before anything was written. */
  failed(error: unknown): void {
    this.#options.failed?.(error);
    if (!this.#inTrouble) this.#options.trouble(error);
    this.#inTrouble = true;
  }

  /** Drops the waiting events: their log is not configured any more. */
  discard(): void {
    this.#dropAll();
    if (this.#inTrouble) this.#options.trouble(undefined);
    this.#inTrouble = false;
  }

  /**
   * Writes the queued lines. Lines that the log does not accept in time are dropped and counted.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake?.();
    const { closeWithinMs = CLOSE_WITHIN_MS } = this.#options;
    await Promise.race([this.#running, pause(closeWithinMs)]);
    this.#dropAll();
    const target = this.#target;
    this.#target = undefined;
    await target?.close();
  }

  #run(): void {
    if (this.#running !== undefined || !this.#canWrite) return;
    this.#running = this.#write().finally(() => {
      this.#running = undefined;
      this.#run();
    });
  }

  get #canWrite(): boolean {
    return this.#target !== undefined && this.#blocks.length > 0 && this.#holds === 0;
  }

  async #write(): Promise<void> {
    while (this.#target !== undefined && this.#canWrite) {
      const blocks = this.#batch();
      let lost: number | undefined;
      try {
        lost = await this.#target.append(blocks.map(({ bytes }) => bytes));
      } catch (error) {
        this.failed(error);
        if (this.#closing) return;
        await this.#pause(this.#options.retryMs ?? RETRY_MS);
        continue;
      }
      this.#took(blocks, lost ?? 0);
    }
  }

  #took(blocks: readonly EventBlock[], lost: number): void {
    // At shutdown the blocks may have been dropped meanwhile.
    if (this.#blocks[0] !== blocks[0]) return;
    this.#blocks.splice(0, blocks.length);
    for (const block of blocks) block.release?.();
    this.#bytes -= sum(blocks, ({ bytes }) => bytes.length);
    this.#options.written(sum(blocks, ({ events }) => events) - lost);
    if (lost > 0) this.#options.dropped(lost);
    if (this.#inTrouble) this.#options.trouble(undefined);
    this.#inTrouble = false;
  }

  /** At least one. */
  #batch(): EventBlock[] {
    let bytes = 0;
    const end = this.#blocks.findIndex((block) => {
      bytes += block.bytes.length;
      return bytes > BATCH_BYTES;
    });
    return this.#blocks.slice(0, end < 0 ? undefined : Math.max(end, 1));
  }

  #dropAll(): void {
    // The block that is being written stays held: the log may still read it.
    const lost = sum(this.#blocks.splice(0), ({ events }) => events);
    if (lost > 0) this.#options.dropped(lost);
    this.#bytes = 0;
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
