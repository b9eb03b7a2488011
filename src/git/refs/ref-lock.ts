/**
 * The lock of a ref. It is taken by a hard link of a file of this process to the lock name, which is as
 * atomic as creating the lock file. After a crash, the shared inode shows the next start that the lock
 * is an abandoned one of gitplane.
 */
import { randomBytes } from 'node:crypto';
import { lstat, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAbandoned, thisOwner } from '../../files/index.ts';
import { errorCode, RefLockedError } from '../git-error.ts';
import { type DurableFiles, makeDirectories, writeDurably } from '../publication/durable-files.ts';
import { removeStaleLock } from './stale-lock.ts';

/** Folder in the git directory for files that will become refs. */
export const REF_LOCK_FOLDER = 'gitplane';
const ownFilePattern = /^claim-(.+)-[0-9a-f]{12}$/;

/**
 * Lock files of this process that are in use. A file of this process that is not listed was left
 * because its removal failed (a disk that became read-only), and counts as abandoned.
 */
const inUse = new Set<string>();

/** Path of a new lock file, which counts as in use until `dropRefLock` or `releaseRefLock`. */
export function newRefLock(gitDir: string, owner: string): string {
  const path = join(gitDir, REF_LOCK_FOLDER, `claim-${owner}-${randomBytes(6).toString('hex')}`);
  inUse.add(path);
  return path;
}

/** Writes the new value of the ref, before the lock is taken. */
export function writeRefLock(files: DurableFiles, ownFile: string, id: string): Promise<void> {
  return writeDurably(files, ownFile, { bytes: Buffer.from(`${id}\n`), mode: 0o666 });
}

/** The file is removed, or may be removed. */
export function releaseRefLock(ownFile: string): void {
  inUse.delete(ownFile);
}

/** Removes a lock file. Never rejects: the next start removes what remains. */
export async function dropRefLock(files: DurableFiles, ownFile: string): Promise<void> {
  inUse.delete(ownFile);
  await files.remove(ownFile).catch(() => undefined);
}

/** Takes the lock; waits for other holders until the time limit. Throws RefLockedError. */
export async function takeLock(
  files: DurableFiles,
  ownFile: string,
  lock: { readonly file: string; readonly gitDir: string; readonly timeoutMs: number },
): Promise<void> {
  const giveUp = performance.now() + lock.timeoutMs;
  for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
    if (await tryLink(files, ownFile, lock.file)) return;
    if (performance.now() > giveUp) break;
    await sleep(wait);
  }
  await removeAbandonedRefLocks(lock.gitDir, lock.file);
  await removeStaleLock(lock.gitDir, lock.file);
  if (!(await tryLink(files, ownFile, lock.file))) {
    throw new RefLockedError(lock.file, lock.timeoutMs);
  }
}

async function tryLink(files: DurableFiles, ownFile: string, lockFile: string): Promise<boolean> {
  try {
    await files.link(ownFile, lockFile);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') return false;
    if (code !== 'ENOENT') throw error;
    // The first commit of a branch like `feature/x`, or git removed the empty directory.
    await makeDirectories(files, dirname(lockFile));
    return false;
  }
}

/** Removes the lock files of dead processes, and the ref lock if it belongs to one of them. */
export async function removeAbandonedRefLocks(gitDir: string, lockFile: string): Promise<void> {
  const folder = join(gitDir, REF_LOCK_FOLDER);
  for (const name of await readdir(folder)) {
    const owner = ownFilePattern.exec(name)?.[1];
    const ownFile = join(folder, name);
    if (owner !== undefined && (await isUnused(ownFile, owner)))
      await removeAbandoned(ownFile, gitDir, lockFile);
  }
}

async function isUnused(ownFile: string, owner: string): Promise<boolean> {
  return owner === thisOwner ? !inUse.has(ownFile) : await isLeftOver(ownFile, owner);
}

/** True if the process that made a file is gone. */
export async function isLeftOver(path: string, owner: string): Promise<boolean> {
  const file = await lstat(path).catch(() => undefined);
  return file !== undefined && isAbandoned(owner, Date.now() - file.mtimeMs);
}

/**
 * Of several processes that clean up, the one that renames the file continues. Otherwise another one
 * could remove the lock of the next holder.
 */
async function removeAbandoned(ownFile: string, gitDir: string, lockFile: string): Promise<void> {
  const taken = newRefLock(gitDir, thisOwner);
  try {
    await rename(ownFile, taken);
    const [file, lock] = [await lstat(taken), await lstat(lockFile).catch(() => undefined)];
    if (lock !== undefined && lock.ino === file.ino && lock.dev === file.dev) {
      await unlink(lockFile);
    }
    await unlink(taken);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  } finally {
    inUse.delete(taken);
  }
}
