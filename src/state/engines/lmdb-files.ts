/** The files of an LMDB database: who may read them, and whether the last owner closed them. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { StateError } from '../state-error.ts';
import { reason } from './lmdb-reason.ts';

export const DATA_FILE = 'data.mdb';
const LOCK_FILE = 'lock.mdb';
/** Size and time of the data file as the last close left it; see `wasClosed`. */
const CLOSED_FILE = 'closed';

/** Whether nothing was ever kept there: whoever opens it will have to make everything. */
export function isNewState(directory: string): boolean {
  return !fs.existsSync(join(directory, DATA_FILE));
}

/** True if a database that was open has an empty file now. LMDB fills both files when it opens one. */
export function isTruncated(directory: string): boolean {
  const sizeOf = (file: string): number | undefined =>
    fs.statSync(join(directory, file), { throwIfNoEntry: false })?.size;
  return sizeOf(DATA_FILE) === 0 && (sizeOf(LOCK_FILE) ?? 0) > 0;
}

/** LMDB would make its files readable for the group; files that exist keep their mode. */
export function prepareFiles(directory: string): void {
  try {
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const file of [DATA_FILE, LOCK_FILE]) {
      const fd = fs.openSync(join(directory, file), 'a', 0o600);
      fs.fchmodSync(fd, 0o600);
      fs.closeSync(fd);
    }
  } catch (error) {
    throw new StateError(
      `the state directory ${directory} cannot be used: ${reason(error)}; it must be a directory that gitplane may write to`,
      { cause: error },
    );
  }
}

/** Reading the whole file before trusting it is only spared where the last owner closed it. */
export function wasClosed(directory: string): boolean {
  const { size } = fs.statSync(join(directory, DATA_FILE));
  if (size === 0) return true;
  try {
    return fs.readFileSync(join(directory, CLOSED_FILE), 'utf8') === fingerprint(directory);
  } catch {
    return false;
  }
}

function fingerprint(directory: string): string {
  const { size, mtimeMs } = fs.statSync(join(directory, DATA_FILE));
  return `${size} ${mtimeMs}\n`;
}

/** To be called when it was closed. */
export function noteClosed(directory: string): void {
  const path = join(directory, CLOSED_FILE);
  try {
    fs.writeFileSync(path, fingerprint(directory), { mode: 0o600 });
  } catch (cause) {
    throw new StateError(`${path} cannot be written: ${reason(cause)}; check the disk`, { cause });
  }
}

/** To be called before anything is written. */
export function forgetClosed(directory: string): void {
  fs.rmSync(join(directory, CLOSED_FILE), { force: true });
}
