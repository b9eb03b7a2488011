/**
 * The newest move of the branch that etcd had, as this disk remembers it: how a replica knows that
 * etcd was put back to an earlier time (`etcdctl snapshot restore`), and that what is here beyond it
 * was acknowledged.
 *
 * The mark is written before the branch moves on this disk, so a process that is killed leaves it
 * exact. It is not flushed: a loss of power may leave an older one. Therefore a mark of an earlier boot
 * of the machine counts as none.
 */
import { closeSync, constants, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId } from '../files/index.ts';
import type { BranchHead } from './log-record.ts';

export type AcknowledgedCommit = Pick<BranchHead, 'commit' | 'sequence'>;

const FILE = 'gitplane/agreed.json';
/** One write within one page: a process that is killed leaves all of it or nothing. */
const BYTES = 256;

export class LastAcknowledgedCommit {
  readonly #file: string;
  #agreed: AcknowledgedCommit | undefined;
  #descriptor: number | undefined;

  constructor(gitDir: string) {
    this.#file = join(gitDir, FILE);
  }

  /** Undefined: this disk remembers nothing, or what it remembers may be too old. */
  async read(): Promise<AcknowledgedCommit | undefined> {
    if (this.#agreed !== undefined) return this.#agreed;
    try {
      const { boot, ...agreed } = JSON.parse(await readFile(this.#file, 'utf8'));
      return boot !== '' && boot === bootId() ? agreed : undefined;
    } catch {
      return undefined;
    }
  }

  /** To be called before the branch moves there on this disk. */
  note({ commit, sequence }: AcknowledgedCommit): void {
    if (this.#agreed?.commit === commit && this.#agreed.sequence === sequence) return;
    this.#agreed = { commit, sequence };
    try {
      this.#write(JSON.stringify({ commit, sequence, boot: bootId() }));
    } catch {
      // No mark is right, an old one is not. A disk that takes nothing is reported by other writes.
      this.close();
      rmSync(this.#file, { force: true });
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Some microseconds, in place: no room on the disk is needed. */
  #write(text: string): void {
    if (this.#descriptor === undefined) {
      this.#descriptor = openSync(this.#file, constants.O_RDWR | constants.O_CREAT, 0o600);
      ftruncateSync(this.#descriptor, BYTES);
    }
    writeSync(this.#descriptor, text.padEnd(BYTES), 0);
  }
}
