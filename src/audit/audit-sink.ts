/**
 * One destination of events, which follows the configuration: its log is opened, changed and closed
 * accordingly.
 */
import { Mutex } from '../concurrency/index.ts';
import { AuditQueue, type AuditTarget } from './audit-queue.ts';
import { codeOf } from './error-code.ts';
import type { EventBlock } from './event-buffer.ts';

export interface SinkObserver {
  /** The log stops accepting lines (an error), or accepts them again (undefined). */
  trouble(sink: SinkName, error: unknown): void;
  /** Another operation failed: a new log could not be opened, or an old file not compressed. */
  refused(error: unknown): void;
}

export type SinkName = 'file' | 'store';

/** Since the start. */
export interface SinkCounts {
  readonly written: number;
  readonly dropped: number;
  /** Failed writes by error code, such as `ENOSPC`. */
  readonly failures: ReadonlyMap<string, number>;
  readonly waitingBytes: number;
  readonly inTrouble: boolean;
}

export interface SinkOptions {
  readonly name: SinkName;
  readonly observer: SinkObserver;
  /** True if the previous log stays in use when the new one cannot be opened. */
  readonly keepsFormer: boolean;
}

/** Half of the queue; the other half is for events of this daemon. */
const MOST_RELAYED_BYTES = 8 * 1024 * 1024;

export class AuditSink {
  readonly #options: SinkOptions;
  readonly #queue: AuditQueue;
  readonly #failures = new Map<string, number>();
  /** Settings that the open log was opened with. */
  #opened = '';
  #isWanted = false;
  readonly #opening = new Mutex();
  #target: AuditTarget | undefined;
  #written = 0;
  #dropped = 0;
  #inTrouble = false;

  constructor(options: SinkOptions) {
    this.#options = options;
    this.#queue = new AuditQueue({
      dropped: (events) => {
        this.#dropped += events;
      },
      written: (events) => {
        this.#written += events;
      },
      failed: (error) => {
        const code = codeOf(error);
        this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1);
      },
      trouble: (error) => {
        this.#inTrouble = error !== undefined;
        options.observer.trouble(options.name, error);
      },
    });
  }

  get counts(): SinkCounts {
    return {
      written: this.#written,
      dropped: this.#dropped,
      failures: this.#failures,
      waitingBytes: this.#queue.waiting,
      inTrouble: this.#inTrouble,
    };
  }

  /** The log that is in use, where there is one. */
  get target(): AuditTarget | undefined {
    return this.#target;
  }

  add(block: EventBlock): void {
    if (this.#isWanted) this.#queue.add(block);
  }

  /** True if relayed events may wait here as well. */
  hasRoomFor(bytes: number): boolean {
    return !this.#isWanted || this.#queue.waiting + bytes <= MOST_RELAYED_BYTES;
  }

  /** `wanted` identifies a log. Changes are serialized: the last configuration wins. */
  follow(wanted: string, make: (() => AuditTarget) | undefined): void {
    this.#isWanted = make !== undefined;
    if (make === undefined) {
      this.#then(() => this.#open(wanted, make));
      return;
    }
    // Events from now on go to the new log, even while it is still being opened.
    this.#queue.hold();
    this.#then(() => this.#open(wanted, make).finally(() => this.#queue.release()));
  }

  /** Reopens the log by its name. */
  reopen(): void {
    this.#then(async () => {
      try {
        await this.#target?.reopen?.();
      } catch (error) {
        this.#queue.failed(error);
      }
    });
  }

  /** Resolves when the log of the newest configuration is open, or could not be. */
  async opened(): Promise<void> {
    await this.#opening.idle();
  }

  async close(): Promise<void> {
    await this.#opening.idle();
    await this.#queue.close();
  }

  #then(step: () => Promise<void>): void {
    this.#opening.run(step).catch(this.#options.observer.refused);
  }

  async #open(wanted: string, make: (() => AuditTarget) | undefined): Promise<void> {
    if (wanted === this.#opened) return;
    if (make === undefined) await this.#queue.drained();
    // A store has one owner: the previous one must close first.
    if (!this.#options.keepsFormer) await this.#switchTo(undefined);
    const target = make?.();
    try {
      await target?.open();
    } catch (error) {
      if (this.#queue.hasTarget) {
        await target?.close();
        this.#options.observer.refused(error);
        return;
      }
      // The next write tries again.
      this.#queue.failed(error);
    }
    this.#opened = wanted;
    await this.#switchTo(target);
    if (target === undefined) this.#queue.discard();
  }

  async #switchTo(target: AuditTarget | undefined): Promise<void> {
    this.#target = target;
    await this.#queue.switchTo(target)?.close();
  }
}
