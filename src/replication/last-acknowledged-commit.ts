/**
 * The newest branch update of etcd that this disk knows. From it a replica detects that etcd was
 * restored from an older snapshot (`etcdctl snapshot restore`), and that its later commits were
 * acknowledged.
 *
 * The mark is written before the branch moves on this disk, so it is exact after a crash of the
 * process. It is not flushed: after a power loss it may be older. Therefore a mark from an earlier
 * boot is ignored.
 */
import { closeSync, constants, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bootId } from '../files/index.ts';
import type { BranchHead } from './log-record.ts';

export type AcknowledgedCommit = Pick<BranchHead, 'commit' | 'sequence'>;

const FILE = 'gitplane/agreed.json';
/** One write within one page: atomic if the process is killed. */
const BYTES = 256;

export class LastAcknowledgedCommit {
  readonly #file: string;
  #saved: AcknowledgedCommit | undefined;
  #descriptor: number | undefined;

  constructor(gitDir: string) {
    this.#file = join(gitDir, FILE);
  }

  /** Undefined: no mark, or it may be too old. */
  async read(): Promise<AcknowledgedCommit | undefined> {
    if (this.#saved !== undefined) return this.#saved;
    try {
      const { boot, ...saved } = JSON.parse(await readFile(this.#file, 'utf8'));
      return boot !== '' && boot === bootId() ? saved : undefined;
    } catch {
      return undefined;
    }
  }

  /** Called before the branch moves on this disk. */
  save({ commit, sequence }: AcknowledgedCommit): void {
    if (this.#saved?.commit === commit && this.#saved.sequence === sequence) return;
    this.#saved = { commit, sequence };
    try {
      this.#write(JSON.stringify({ commit, sequence, boot: bootId() }));
    } catch {
      // A missing mark is correct, an old one is not. Other writes report a full disk.
      this.close();
      rmSync(this.#file, { force: true });
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  /** Takes some microseconds, in place: needs no free space. */
  #write(text: string): void {
    if (this.#descriptor === undefined) {
      this.#descriptor = openSync(this.#file, constants.O_RDWR | constants.O_CREAT, 0o600);
      ftruncateSync(this.#descriptor, BYTES);
    }
    writeSync(this.#descriptor, text.padEnd(BYTES), 0);
  }
}
