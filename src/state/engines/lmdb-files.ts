/** The files of an LMDB database: their mode, and the marker of a clean close. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { reason, StateError } from '../state-error.ts';

export const DATA_FILE = 'data.mdb';
const LOCK_FILE = 'lock.mdb';
/** Size and time of the data file at the last close; see `wasClosed`. */
const CLOSED_FILE = 'closed';

/** True if no state was ever stored there. */
export function isNewState(directory: string): boolean {
  return !fs.existsSync(join(directory, DATA_FILE));
}

/**
 * True if a database that was opened has an empty file now. LMDB fills both files when it opens
 * one.
 */
export function isTruncated(directory: string): boolean {
  const sizeOf = (file: string): number | undefined =>
    fs.statSync(join(directory, file), { throwIfNoEntry: false })?.size;
  return sizeOf(DATA_FILE) === 0 && (sizeOf(LOCK_FILE) ?? 0) > 0;
}

/** LMDB would make its files readable for the group; existing files keep their mode. */
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

/** True after a clean close. Otherwise the whole file must be checked before use. */
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

/** Called after a clean close. */
export function markClosed(directory: string): void {
  const path = join(directory, CLOSED_FILE);
  try {
    fs.writeFileSync(path, fingerprint(directory), { mode: 0o600 });
  } catch (cause) {
    throw new StateError(`${path} cannot be written: ${reason(cause)}; check the disk`, { cause });
  }
}

/** Called before the first write. */
export function unmarkClosed(directory: string): void {
  fs.rmSync(join(directory, CLOSED_FILE), { force: true });
}
