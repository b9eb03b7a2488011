/**
 * Owner of a temporary file: the process that made it. It distinguishes leftovers of a crash from files
 * in use. An owner is `<machine>-<pid>-<start>`. The machine part covers host, boot and pid namespace,
 * because a pid has no meaning outside of them.
 */
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

const ownerPattern = /^([0-9a-f]{12})-(\d+)-(\d+)$/;

/** Age at which files of another machine or container count as abandoned. */
export const FOREIGN_GRACE_MS = 30_000;

export const thisOwner = `${machine()}-${process.pid}-${startOf(process.pid) ?? 0}`;

/**
 * True if the process that made a file is gone. For an owner that cannot be checked from here (another
 * container on the same volume), only the age of the file decides.
 */
export function isAbandoned(owner: string, ageMs: number): boolean {
  return isGone(owner) ?? ageMs > FOREIGN_GRACE_MS;
}

/** Like `isAbandoned`, without the age; undefined: the owner cannot be checked from here. */
export function isGone(owner: string): boolean | undefined {
  const [, where, pidText, start] = ownerPattern.exec(owner) ?? [];
  if (where !== machine()) return undefined;
  const pid = Number(pidText);
  if (start !== '0') return startOf(pid) !== Number(start);
  return !isRunning(pid);
}

/** Id of the current boot of the machine; empty if unknown. */
export function bootId(): string {
  return tryRead('/proc/sys/kernel/random/boot_id').trim();
}

function machine(): string {
  const parts = [hostname(), bootId(), pidNamespace()];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 12);
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/**
 * Start time of a process in ticks since the boot; undefined if the process is gone, or not on Linux.
 * The program name may contain spaces and parentheses, so that fields count from its end.
 */
export function startOf(pid: number): number | undefined {
  const stat = tryRead(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[19] === undefined ? undefined : Number(fields[19]);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
