/**
 * Dialogue of the proc-receive hook with `git receive-pack` (githooks, "proc-receive"): pkt-lines on
 * standard input and output. Git hands over the commands and waits for one report per ref.
 */
import type { Readable } from 'node:stream';
import type { RefUpdate } from './hook-protocol.ts';
import { pktLine } from './pkt-line.ts';

const FLUSH = '0000';
const LENGTH_DIGITS = 4;
const ID_DIGITS = 40;

/** Answer to the greeting of git: version 1, without extensions. */
export const GREETING = `${pktLine('version=1\n')}${FLUSH}`;

/** Reads pkt-lines from a stream that stays open. */
export class PktLines {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest = Buffer.alloc(0);

  constructor(input: Readable) {
    this.#chunks = input[Symbol.asyncIterator]();
  }

  /** Lines before the next flush, without their line ends. */
  async section(): Promise<string[]> {
    const lines: string[] = [];
    for (;;) {
      const digits = (await this.#take(LENGTH_DIGITS)).toString('latin1');
      const length = Number.parseInt(digits, 16);
      if (length === 0) return lines;
      const bytes = await this.#take(length - LENGTH_DIGITS);
      lines.push(bytes.toString('utf8').replace(/\n$/, ''));
    }
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#rest.length < length) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw new Error('git ended the dialogue');
      this.#rest = Buffer.concat([this.#rest, value]);
    }
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}

/** Parses `<old id> SP <new id> SP <ref>`. */
export function parseUpdate(line: string): RefUpdate {
  return {
    oldId: line.slice(0, ID_DIGITS),
    newId: line.slice(ID_DIGITS + 1, 2 * ID_DIGITS + 1),
    ref: line.slice(2 * ID_DIGITS + 2),
  };
}

/** One report per ref. The client shows `reason` beside the ref. */
export function report(
  updates: readonly RefUpdate[],
  { ok, reason = 'refused' }: { readonly ok: boolean; readonly reason?: string | undefined },
): string {
  const lines = updates.map(({ ref }) => pktLine(ok ? `ok ${ref}\n` : `ng ${ref} ${reason}\n`));
  return `${lines.join('')}${FLUSH}`;
}
