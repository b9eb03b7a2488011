/**
 * Temporary files that become a file by rename or link. The name holds the process that made one, so
 * that the next process removes what a killed one left: many hold a secret.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { FOREIGN_GRACE_MS, isAbandoned, thisOwner } from './owner.ts';

/** `<file>.<machine>-<pid>-<start>-<random>.tmp`; earlier versions wrote `<file>.<random>.tmp`. */
const pattern = /^.+?\.(?:([0-9a-f]{12}-\d+-\d+)-)?[0-9a-f]{12}\.tmp$/;

/** A new name beside `path`, on the same file system. */
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

/** A folder that cannot be read has nothing to remove; a file that stays is tried again next time. */
function remove(folder: string, isMeant: (name: string) => boolean): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return;
  }
  for (const name of names) {
    const found = pattern.exec(name);
    if (found === null || !isMeant(name)) continue;
    const file = join(folder, name);
    try {
      const age = Date.now() - lstatSync(file).mtimeMs;
      const [, owner] = found;
      const isLeft = owner === undefined ? age > FOREIGN_GRACE_MS : isAbandoned(owner, age);
      if (isLeft) rmSync(file);
    } catch {}
  }
}
