/**
 * The newest move of the branch that etcd had, as this disk remembers it: how a replica knows that
 * etcd was put back to an earlier time (`etcdctl snapshot restore`), and that what is here beyond it
 * was acknowledged. Written a moment after it changes, without waiting for the disk.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BranchHead } from './log-record.ts';

export type Agreed = Pick<BranchHead, 'commit' | 'sequence'>;

const FILE = 'gitplane/agreed.json';
const WRITE_AFTER_MS = 500;

export class AgreedMark {
  readonly #file: string;
  #agreed: Agreed | undefined;
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(gitDir: string) {
    this.#file = join(gitDir, FILE);
  }

  /** Undefined: this disk remembers nothing. */
  async read(): Promise<Agreed | undefined> {
    if (this.#agreed !== undefined) return this.#agreed;
    try {
      return JSON.parse(await readFile(this.#file, 'utf8')) as Agreed;
    } catch {
      return undefined;
    }
  }

  note({ commit, sequence }: Agreed): void {
    this.#agreed = { commit, sequence };
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_AFTER_MS).unref();
  }

  /** A disk that takes nothing costs the mark, and is told by whoever needs the disk. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const agreed = this.#agreed;
    if (agreed === undefined) return this.#last;
    this.#last = this.#last
      .then(async () => {
        const next = `${this.#file}.next`;
        await writeFile(next, JSON.stringify(agreed), { mode: 0o600 });
        await rename(next, this.#file);
      })
      .catch(() => undefined);
    return this.#last;
  }
}
