/**
 * Texts of the files that the store configuration names. They are read on first use and again after
 * a change, not on every access.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type WatchTimes, watchFiles } from '../files/index.ts';
import { SettingsError } from './settings-error.ts';

const MAX_FILE_BYTES = 1024 * 1024;

interface ReadFile {
  readonly text?: string;
  /** Reason why there is no text. */
  readonly problem?: string;
}

export class FollowedFiles {
  readonly #changed: () => void;
  readonly #times: WatchTimes | undefined;
  readonly #read = new Map<string, ReadFile>();
  #paths = '';
  #stop: (() => void) | undefined;

  /** `changed` is called after a change of the contents, and when a file appears or disappears. */
  constructor(changed: () => void, times?: WatchTimes) {
    this.#changed = changed;
    this.#times = times;
  }

  /** Follows these files and no others. */
  follow(paths: readonly string[]): void {
    const wanted = JSON.stringify(paths);
    if (wanted === this.#paths) return;
    this.close();
    this.#paths = wanted;
    if (paths.length > 0) this.#stop = watchFiles(paths, () => this.#check(), this.#times);
  }

  /** Throws `SettingsError` for an unreadable file; `field` names it in the message. */
  text(field: string, path: string): string {
    const { text, problem } = this.#read.get(path) ?? this.#reload(path);
    if (text !== undefined) return text;
    const message = `${field}: ${path} cannot be used: ${problem}; it is read again when it changes`;
    throw new SettingsError('FileUnreadable', message);
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#paths = '';
    this.#read.clear();
  }

  #check(): void {
    let isOther = false;
    for (const [path, { text, problem }] of [...this.#read]) {
      const now = this.#reload(path);
      isOther ||= now.text !== text || now.problem !== problem;
    }
    if (isOther) this.#changed();
  }

  #reload(path: string): ReadFile {
    const found = readFile(path);
    this.#read.set(path, found);
    return found;
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'it cannot be read';
}

/** Regular files only: a pipe would block the process, and a device has no end. */
function readFile(path: string): ReadFile {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = fstatSync(file);
    if (!status.isFile()) return { problem: 'it is not a regular file' };
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    const size = readSync(file, bytes);
    if (size > MAX_FILE_BYTES) return { problem: `it is larger than ${MAX_FILE_BYTES} bytes` };
    return { text: bytes.toString('utf8', 0, size) };
  } catch (error) {
    return { problem: reasonOf(error) };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
