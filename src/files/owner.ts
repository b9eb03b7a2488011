/**
 * Who made a temporary file, so that what a crash left behind can be told from what is in use. An
 * owner is `<machine>-<pid>-<start>`: the machine covers host, boot and pid namespace, because a
 * pid means nothing outside of them.
 */
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

const ownerPattern = /^([0-9a-f]{12})-(\d+)-(\d+)$/;

/** What another machine or container left is its own for so long. */
export const FOREIGN_GRACE_MS = 30_000;

export const thisOwner = `${machine()}-${process.pid}-${startOf(process.pid) ?? 0}`;

/**
 * Whether the process that made a file is gone. Of an owner that cannot be looked up from here
 * (another container on the same volume) only the age of the file tells.
 */
export function isAbandoned(owner: string, ageMs: number): boolean {
  return isGone(owner) ?? ageMs > FOREIGN_GRACE_MS;
}

/** The same, where age tells nothing; undefined: the owner cannot be looked up from here. */
export function isGone(owner: string): boolean | undefined {
  const [, where, pidText, start] = ownerPattern.exec(owner) ?? [];
  if (where !== machine()) return undefined;
  const pid = Number(pidText);
  if (start !== '0') return startOf(pid) !== Number(start);
  return !answers(pid);
}

/** Another one after every start of the machine; empty where it cannot be told. */
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

/** When a process began, in ticks since the boot; undefined when it is gone, or not on Linux.
 * The name of the program may hold spaces and parentheses, so fields count from its end. */
export function startOf(pid: number): number | undefined {
  const stat = tryRead(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[19] === undefined ? undefined : Number(fields[19]);
}

function answers(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
