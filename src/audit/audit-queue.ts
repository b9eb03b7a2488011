/**
 * Lines on their way to the audit log. Requests never wait for it: what the log cannot take yet
 * waits here, up to a limit; beyond it new lines are dropped, and counted.
 */
import type { AuditTarget } from './audit-file.ts';

export interface AuditQueueOptions {
  /** Called for each line that is lost. */
  dropped(): void;
  /** The log takes nothing (an error), or takes lines again (undefined). Once for each change. */
  trouble(error: unknown): void;
  readonly mostBytes?: number;
  readonly retryMs?: number;
}

const MOST_BYTES = 16 * 1024 * 1024;
const RETRY_MS = 1000;
const BATCH_BYTES = 512 * 1024;
/** Lines of the same moment share a write. */
const GATHER_MS = 20;

export class AuditQueue {
  readonly #options: AuditQueueOptions;
  #target: AuditTarget | undefined;
  #lines: Buffer[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;
  #inTrouble = false;
  #closing = false;
  #wake: (() => void) | undefined;

  constructor(options: AuditQueueOptions) {
    this.#options = options;
  }

  add(line: string): void {
    const bytes = Buffer.from(line);
    const { mostBytes = MOST_BYTES } = this.#options;
    if (this.#closing || this.#bytes + bytes.length > mostBytes) {
      this.#options.dropped();
      return;
    }
    this.#lines.push(bytes);
    this.#bytes += bytes.length;
    this.#run();
  }

  /** Lines that wait go to the new log. Returns the old one, which finishes what it is writing. */
  turnTo(target: AuditTarget | undefined): AuditTarget | undefined {
    const before = this.#target;
    this.#target = target;
    this.#wake?.();
    this.#run();
    return before;
  }

  /** Whether there is a log to write to. */
  get hasTarget(): boolean {
    return this.#target !== undefined;
  }

  /** The log was found not to work before anything was written. */
  failed(error: unknown): void {
    this.#inTrouble = true;
    this.#options.trouble(error);
  }

  /** Writes what waits; what the log does not take is dropped and counted. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake?.();
    await this.#running;
    this.#dropAll();
    await this.#target?.close();
    this.#target = undefined;
  }

  #run(): void {
    if (this.#running !== undefined || this.#target === undefined || this.#lines.length === 0)
      return;
    this.#running = this.#write().finally(() => {
      this.#running = undefined;
      this.#run();
    });
  }

  async #write(): Promise<void> {
    if (!this.#closing) await this.#pause(GATHER_MS);
    while (this.#lines.length > 0 && this.#target !== undefined) {
      const count = this.#batch();
      const lines = Buffer.concat(this.#lines.slice(0, count));
      try {
        await this.#target.append(lines);
      } catch (error) {
        if (!this.#inTrouble) this.#options.trouble(error);
        this.#inTrouble = true;
        if (this.#closing) return this.#dropAll();
        await this.#pause(this.#options.retryMs ?? RETRY_MS);
        continue;
      }
      this.#lines.splice(0, count);
      this.#bytes -= lines.length;
      if (this.#inTrouble) this.#options.trouble(undefined);
      this.#inTrouble = false;
    }
  }

  #batch(): number {
    let bytes = 0;
    const end = this.#lines.findIndex((line) => {
      bytes += line.length;
      return bytes > BATCH_BYTES;
    });
    return end < 0 ? this.#lines.length : Math.max(end, 1);
  }

  #dropAll(): void {
    for (const _line of this.#lines.splice(0)) this.#options.dropped();
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
