/**
 * Standard output as the audit log (`path: "-"`). Its reader may be slow or gone, and the daemon
 * must not wait for it. Node writes synchronously to pipes of its own output, so the pipe is opened
 * again in non-blocking mode.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { AuditTarget } from './audit-queue.ts';
import { codeOf } from './error-code.ts';

export interface Output {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** Linux knows the first, others the second. */
const PLACES = ['/proc/self/fd/1', '/dev/fd/1'];
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK;
const FULL_FOR_MS = 20;

export class AuditOutput implements AuditTarget {
  readonly #output: Output;
  readonly #places: readonly string[];
  #handle: FileHandle | undefined;
  #isClosed = false;

  constructor(output: Output, places: readonly string[] = PLACES) {
    this.#output = output;
    this.#places = places;
    // A reader that is gone ends the log, and not the daemon.
    output.on('error', () => undefined);
  }

  async open(): Promise<void> {
    for (const place of this.#places) {
      this.#handle ??= await open(place, FLAGS).catch(() => undefined);
    }
  }

  async append(lines: readonly Buffer[]): Promise<undefined> {
    const all = Buffer.concat(lines);
    if (this.#handle === undefined) await this.#appendToStream(all);
    else await this.#appendTo(this.#handle, all);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  /** A line that was begun is always finished: half a line would corrupt the next one. */
  async #appendTo(handle: FileHandle, lines: Buffer): Promise<void> {
    let at = 0;
    while (at < lines.length) {
      try {
        const { bytesWritten } = await handle.write(lines, at);
        at += bytesWritten;
      } catch (error) {
        if (codeOf(error) !== 'EAGAIN' || this.#isClosed) throw error;
        await new Promise((resolve) => setTimeout(resolve, FULL_FOR_MS).unref());
      }
    }
  }

  /** A socket cannot be opened once more. */
  #appendToStream(lines: Buffer): Promise<void> {
    return new Promise((done, fail) => {
      this.#output.write(lines.toString(), (error) => (error ? fail(error) : done()));
    });
  }
}
