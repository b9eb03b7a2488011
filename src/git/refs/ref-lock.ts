/**
 * The lock of a ref, taken by linking a file of ours to its name: as atomic as creating it, and
 * when we crash, the shared inode tells the next start that the lock is ours and may go.
 */
import { randomBytes } from 'node:crypto';
import { lstat, readdir, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAbandoned, thisOwner } from '../../files/index.ts';
import { errorCode, RefLockedError } from '../git-error.ts';
import {
  type DurableFiles,
  makeDirectories,
  writeDurably,
  writeSoon,
} from '../publication/durable-files.ts';
import { removeStaleLock } from './stale-lock.ts';

/** Below the git directory: files that will become refs. */
export const REF_LOCK_FOLDER = 'gitplane';
const claimPattern = /^claim-(.+)-[0-9a-f]{12}$/;

/** The claims of this process that are being published. Another one of ours was left because its
 * removal failed too (a disk that turned read-only), and counts as abandoned. */
const inUse = new Set<string>();

export function newRefLock(gitDir: string, owner: string): string {
  return join(gitDir, REF_LOCK_FOLDER, `claim-${owner}-${randomBytes(6).toString('hex')}`);
}

/** Writes what the ref is to hold, before anything is locked. */
export function writeRefLock(files: DurableFiles, claim: string, id: string): Promise<void> {
  inUse.add(claim);
  return writeDurably(files, claim, { bytes: refContent(id), mode: 0o666 });
}

/** The same with any content, where it need not outlive a loss of power. */
export function writeRefLockSoon(files: DurableFiles, claim: string, bytes: Buffer): Promise<void> {
  inUse.add(claim);
  return writeSoon(files, claim, { bytes, mode: 0o666 });
}

/** Nobody of this process takes it for left over from here on. */
export function reserveRefLock(claim: string): void {
  inUse.add(claim);
}

/** It is gone, or may go. */
export function releaseRefLock(claim: string): void {
  inUse.delete(claim);
}

/** What a ref holds that is at `id`. */
export function refContent(id: string): Buffer {
  return Buffer.from(`${id}\n`);
}

/** Removes a claim, used or not. Never rejects: the next start removes what stays. */
export async function dropRefLock(files: DurableFiles, claim: string): Promise<void> {
  inUse.delete(claim);
  await files.remove(claim).catch(() => undefined);
}

/** Takes the lock, waiting for others for a while. Throws RefLockedError. */
export async function takeLock(
  files: DurableFiles,
  claim: string,
  lock: { readonly file: string; readonly gitDir: string; readonly patienceMs: number },
): Promise<void> {
  const giveUp = performance.now() + lock.patienceMs;
  for (let wait = 2; ; wait = Math.min(wait * 2, 50)) {
    if (await tryLink(files, claim, lock.file)) return;
    if (performance.now() > giveUp) break;
    await sleep(wait);
  }
  await removeAbandonedRefLocks(lock.gitDir, lock.file);
  await removeStaleLock(lock.gitDir, lock.file);
  if (!(await tryLink(files, claim, lock.file))) {
    throw new RefLockedError(lock.file, lock.patienceMs);
  }
}

async function tryLink(files: DurableFiles, claim: string, lockFile: string): Promise<boolean> {
  try {
    await files.link(claim, lockFile);
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

/** Removes the claims of processes that are gone, and the lock where it is one of theirs. */
export async function removeAbandonedRefLocks(gitDir: string, lockFile: string): Promise<void> {
  const folder = join(gitDir, REF_LOCK_FOLDER);
  for (const name of await readdir(folder)) {
    const owner = claimPattern.exec(name)?.[1];
    const claim = join(folder, name);
    if (owner !== undefined && (await isLeftOver(claim, owner)))
      await undo(claim, gitDir, lockFile);
  }
}

async function isLeftOver(claim: string, owner: string): Promise<boolean> {
  if (owner === thisOwner) return !inUse.has(claim);
  const file = await lstat(claim).catch(() => undefined);
  return file !== undefined && isAbandoned(owner, Date.now() - file.mtimeMs);
}

/** Of several processes that clean up, the one that renames the claim does it: another could
 * otherwise remove the next holder's lock. */
async function undo(claim: string, gitDir: string, lockFile: string): Promise<void> {
  const mine = newRefLock(gitDir, thisOwner);
  inUse.add(mine);
  try {
    await rename(claim, mine);
    const [file, lock] = [await lstat(mine), await lstat(lockFile).catch(() => undefined)];
    if (lock !== undefined && lock.ino === file.ino && lock.dev === file.dev) {
      await unlink(lockFile);
    }
    await unlink(mine);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  } finally {
    inUse.delete(mine);
  }
}
