/**
 * Locks that a killed git process left, for example `config.lock` or `refs/heads/main.lock`. Git itself
 * never removes them. A lock is abandoned if it is older than git ever holds one and no git process
 * works on the repository. Locks of gitplane name their owner, see `ref-lock.ts`.
 */
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile, readlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOf } from '../../files/index.ts';
import { errorCode } from '../git-error.ts';

/** Git holds the lock of a ref or of the config for milliseconds. */
const GRACE_MS = 5_000;
/** Used where processes cannot be listed. */
const BLIND_GRACE_MS = 10 * 60_000;

const POLL_MS = 250;

/** Git commands that move no ref and change no setting. The daemon keeps some of them running. */
const harmless: ReadonlySet<string> = new Set([
  'cat-file',
  'diff-tree',
  'fsck',
  'log',
  'ls-tree',
  'pack-objects',
  'repack',
  'rev-list',
  'upload-pack',
]);

/** Removes an abandoned lock. Returns true if it did; never rejects. */
export async function removeStaleLock(
  gitDir: string,
  lockFile: string,
  graceMs = GRACE_MS,
): Promise<boolean> {
  const before = await lstat(lockFile).catch(() => undefined);
  if (before === undefined) return false;
  const age = Date.now() - before.mtimeMs;
  if (age < graceMs) return false;
  const atWork = await isWorkedOn(gitDir, before.mtimeMs);
  if (atWork === true || (atWork === undefined && age < BLIND_GRACE_MS)) return false;
  const now = await lstat(lockFile).catch(() => undefined);
  if (now === undefined || now.ino !== before.ino || now.mtimeMs !== before.mtimeMs) return false;
  return await unlink(lockFile).then(
    () => true,
    () => false,
  );
}

/** Removes abandoned locks that block a move of `ref`: a push locks HEAD too. */
export async function removeStaleLocks(gitDir: string, ref: string): Promise<void> {
  for (const name of [ref, 'HEAD', 'packed-refs']) {
    await removeStaleLock(gitDir, join(gitDir, `${name}.lock`));
  }
}

/** Waits until the lock is released, or old enough to be abandoned. */
export async function outwaitLock(gitDir: string, lockFile: string): Promise<void> {
  const giveUp = performance.now() + GRACE_MS + POLL_MS;
  while (existsSync(lockFile) && performance.now() < giveUp) {
    if (!(await removeStaleLock(gitDir, lockFile))) await sleep(POLL_MS);
  }
}

/**
 * True if any git process has worked on the repository since a time; undefined where processes cannot
 * be listed.
 */
export async function isWorkedOn(gitDir: string, since: number): Promise<boolean | undefined> {
  const entries = await readdir('/proc').catch(() => undefined);
  const processes = entries?.filter((name) => /^\d+$/.test(name)) ?? [];
  if (processes.length === 0) return undefined;
  for (const pid of processes) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (!name.startsWith('git') || (await beganAt(pid)) > since + CLOCK_MS) continue;
    if (await concerns(pid, gitDir)) return true;
  }
  return false;
}

/** Process start times are exact to 10 ms, the boot time to 1 s. */
const CLOCK_MS = 2_000;
const TICKS_PER_SECOND = 100;

/** Start time of a process in milliseconds since the epoch; 0 if unknown. */
async function beganAt(pid: string): Promise<number> {
  const boot = /^btime (\d+)$/m.exec(await readFile('/proc/stat', 'utf8').catch(() => ''))?.[1];
  const ticks = startOf(Number(pid));
  if (boot === undefined || ticks === undefined) return 0;
  return (Number(boot) + ticks / TICKS_PER_SECOND) * 1000;
}

/**
 * Judges by the command, working directory, arguments and environment of the process. A process that
 * cannot be inspected may concern the repository.
 */
async function concerns(pid: string, gitDir: string): Promise<boolean> {
  try {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(1);
    // In `git -c name=value repack`, a word with `=` is not the command.
    if (harmless.has(words.find((word) => /^[a-z-]+$/.test(word) && word[0] !== '-') ?? '')) {
      return false;
    }
    const folder = await readlink(`/proc/${pid}/cwd`);
    if (folder === gitDir || folder.startsWith(`${gitDir}/`)) return true;
    if (words.some((word) => word.includes(gitDir))) return true;
    return (await readFile(`/proc/${pid}/environ`, 'utf8')).includes(gitDir);
  } catch (error) {
    // The process ended meanwhile.
    const code = errorCode(error);
    return code !== 'ENOENT' && code !== 'ESRCH';
  }
}
