/**
 * Temporary files that become a file by rename or link. The name contains the process that made it, so
 * that a later process can remove leftovers: many contain a secret.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FOREIGN_GRACE_MS, isAbandoned, thisOwner } from './owner.ts';

/** `<file>.<machine>-<pid>-<start>-<random>.tmp`; earlier versions wrote `<file>.<random>.tmp`. */
const pattern = /^.+?\.(?:([0-9a-f]{12}-\d+-\d+)-)?[0-9a-f]{12}\.tmp$/;

/** New name beside `path`, on the same file system. */
export function temporaryPath(path: string): string {
  return `${path}.${thisOwner}-${randomBytes(6).toString('hex')}.tmp`;
}

/** Removes the temporary files of `path` whose process is gone. */
export function removeTemporariesOf(path: string): void {
  const prefix = `${basename(path)}.`;
  remove(dirname(path), (name) => name.startsWith(prefix));
}

/** Removes every temporary file in `folder` whose process is gone. */
export function removeTemporariesIn(folder: string): void {
  remove(folder, () => true);
}

/** Ignores a folder that cannot be read. A file that cannot be removed is retried next time. */
function remove(folder: string, matches: (name: string) => boolean): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return;
  }
  for (const name of names) {
    const found = pattern.exec(name);
    if (found === null || !matches(name)) continue;
    const file = join(folder, name);
    try {
      const age = Date.now() - lstatSync(file).mtimeMs;
      const [, owner] = found;
      const isAbandonedFile =
        owner === undefined ? age > FOREIGN_GRACE_MS : isAbandoned(owner, age);
      if (isAbandonedFile) rmSync(file, { recursive: true });
    } catch {}
  }
}
