/**
 * Ownership of an SQLite file. The library locks with a folder beside the file, which stays when
 * its process is killed, and has no locks that the operating system releases. So the owner renews a
 * lock file of its own, and a lock that was not renewed for a while is stale.
 */
import {
  closeSync,
  openSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { codeOf } from '../error-code.ts';

const RENEW_EVERY_MS = 5000;
const STALE_AFTER_MS = 30_000;

export class SqliteOwner {
  readonly #path: string;
  readonly #file: string;
  readonly #me: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#file = `${path}.owner`;
    this.#me = `${hostname()} ${process.pid} ${startOf(process.pid) ?? ''}`;
  }

  /** Throws if another program writes to the file. */
  acquire(): void {
    if (this.#timer !== undefined) return;
    if (!this.#write()) {
      const other = this.#other();
      if (other !== undefined) {
        throw new Error(`${this.#path} is in use by ${other}; use a file for each daemon`);
      }
      unlinkSync(this.#file);
      if (!this.#write()) throw new Error(`${this.#path} was taken by another program just now`);
    }
    // Removes the lock of a process that was killed.
    remove(() => rmdirSync(`${this.#path}.lock`));
    this.#timer = setInterval(() => this.#renew(), RENEW_EVERY_MS).unref();
  }

  release(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    remove(() => unlinkSync(this.#file));
  }

  #write(): boolean {
    try {
      const file = openSync(this.#file, 'wx', 0o600);
      writeSync(file, this.#me);
      closeSync(file);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  }

  /** Description of the other owner; undefined: there is none any more. */
  #other(): string | undefined {
    const [host = '', pid = '', start = ''] = readFileSync(this.#file, 'utf8').split(' ');
    if (host === hostname() && start !== '') {
      return startOf(Number(pid)) === start ? `process ${pid}` : undefined;
    }
    const age = Date.now() - statSync(this.#file).mtimeMs;
    return age < STALE_AFTER_MS ? `process ${pid} of ${host}` : undefined;
  }

  #renew(): void {
    const now = new Date();
    remove(() => utimesSync(this.#file, now, now));
  }
}

/**
 * Start time of a process, as the system numbers it; undefined: there is no such process, or the
 * system does not report it.
 */
function startOf(pid: number): string | undefined {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    return fields.split(' ')[19];
  } catch {
    return undefined;
  }
}

/** Ignores a file that does not exist. */
function remove(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
