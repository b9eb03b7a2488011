/**
 * A disk that takes its time: every fsync of a running process, and of those that it starts, waits
 * first. strace does that to them (its fault injection); nothing of the process is changed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

/** Why there can be none; undefined: there can. */
export const SLOW_DISKS_MISSING = missing();

function missing(): string | undefined {
  const args = [...inject(1), 'true'];
  const { error, status, stderr } = spawnSync('strace', args, { timeout: 30_000 });
  if (error !== undefined) return 'strace is missing: install strace';
  if (status !== 0) return `strace may trace nothing here: ${String(stderr).trim()}`;
  return undefined;
}

/** Resolves when it is slow, with what makes it fast again. */
export async function slowDisk(pid: number, milliseconds: number): Promise<() => Promise<void>> {
  const strace = spawn('strace', [...inject(milliseconds), '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve) => {
    strace.on('exit', () => resolve());
    strace.on('error', () => resolve());
    strace.stderr?.on('data', (said: Buffer) => said.includes('attached') && resolve());
  });
  return () => ended(strace);
}

function inject(milliseconds: number): string[] {
  const calls = 'fsync,fdatasync,sync_file_range';
  const what = `inject=${calls}:delay_enter=${milliseconds * 1000}`;
  return ['-f', '-e', `trace=${calls}`, '-e', what, '-e', 'signal=none', '-o', '/dev/null'];
}

/** It lets go of what it traces. */
function ended(strace: ChildProcess): Promise<void> {
  if (strace.exitCode !== null || strace.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    strace.on('exit', () => resolve());
    strace.kill('SIGTERM');
  });
}
