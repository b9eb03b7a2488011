/**
 * Locks that git left when it was killed in the middle: `config.lock`, `refs/heads/main.lock`. Git
 * itself waits for somebody to remove them. One is taken for left over when it is older than git
 * ever holds one and no git process is at work on the repository. Locks of ours say whose they are,
 * see `ref-lock.ts`.
 */
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile, readlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOf } from '../../files/index.ts';

/** Git holds the lock of a ref or of a setting for milliseconds, a transaction of many for less. */
const GRACE_MS = 5_000;
/** Where processes cannot be looked at. */
const BLIND_GRACE_MS = 10 * 60_000;

const LOOK_MS = 250;

/** What moves no ref and changes no setting. Ours run as long as the daemon does. */
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

/** Removes a lock that a process left. Returns whether it did; never rejects. */
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

/** Removes what keeps `ref` from being moved and nobody holds: a push locks HEAD too. */
export async function removeStaleLocks(gitDir: string, ref: string): Promise<void> {
  for (const name of [ref, 'HEAD', 'packed-refs']) {
    await removeStaleLock(gitDir, join(gitDir, `${name}.lock`));
  }
}

/** Waits until nobody holds a lock, for as long as it takes to be sure that it is left over. */
export async function outwaitLock(gitDir: string, lockFile: string): Promise<void> {
  const giveUp = performance.now() + GRACE_MS + LOOK_MS;
  while (existsSync(lockFile) && performance.now() < giveUp) {
    if (!(await removeStaleLock(gitDir, lockFile))) await sleep(LOOK_MS);
  }
}

/**
 * Whether a git process, of whomever, has been at work on a repository since a time; undefined when
 * nobody can say.
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

/** Start times are exact to a hundredth of a second, the time of the boot to a second. */
const CLOCK_MS = 2_000;
const TICKS_PER_SECOND = 100;

/** When a process began, in milliseconds since the epoch; 0 when that is not known. */
async function beganAt(pid: string): Promise<number> {
  const boot = /^btime (\d+)$/m.exec(await readFile('/proc/stat', 'utf8').catch(() => ''))?.[1];
  const ticks = startOf(Number(pid));
  if (boot === undefined || ticks === undefined) return 0;
  return (Number(boot) + ticks / TICKS_PER_SECOND) * 1000;
}

/** By what it does, where it is and what it was told. A process that cannot be looked into may
 * concern us. */
async function concerns(pid: string, gitDir: string): Promise<boolean> {
  try {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(1);
    // `git -c name=value repack`: what holds a `=` is no command.
    if (harmless.has(words.find((word) => /^[a-z-]+$/.test(word) && word[0] !== '-') ?? '')) {
      return false;
    }
    const folder = await readlink(`/proc/${pid}/cwd`);
    if (folder === gitDir || folder.startsWith(`${gitDir}/`)) return true;
    if (words.some((word) => word.includes(gitDir))) return true;
    return (await readFile(`/proc/${pid}/environ`, 'utf8')).includes(gitDir);
  } catch (error) {
    // It ended meanwhile.
    const code = (error as NodeJS.ErrnoException).code;
    return code !== 'ENOENT' && code !== 'ESRCH';
  }
}
