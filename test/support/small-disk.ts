/**
 * File systems of a few mebibytes that fill up, in memory. They outlive the process that mounted them:
 * the next mount unmounts those below folders whose name has the id of a process that is
 * gone (`gitplane-replicas-<pid>-…`).
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isProcess } from './processes.ts';

const STALE = /^(.*\/gitplane-[a-z]+-(\d+)-[^/]+)/;

export interface SmallDisk {
  /** Takes all room that is left. */
  fill(): void;
  /** Gives it back. */
  clear(): void;
  unmount(): void;
}

/** Why there can be none; undefined: there can. */
export const DISKS_MISSING = missing();

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'small disks are a thing of Linux';
  if (process.getuid?.() !== 0) return 'small disks want root, who may mount';
  const folder = `/tmp/gitplane-probe-${process.pid}-disk`;
  try {
    mountDisk(folder, 1).unmount();
  } catch (error) {
    return (error as Error).message;
  }
  rmSync(folder, { recursive: true, force: true });
  return undefined;
}

export function mountDisk(folder: string, mebibytes: number, options = ''): SmallDisk {
  unmountStale();
  mkdirSync(folder, { recursive: true });
  const size = `size=${mebibytes}m,mode=700${options}`;
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'gitplane', folder]);
  if (status !== 0) throw new Error(`No disk can be mounted: ${String(stderr).trim()}`);
  const ballast = join(folder, 'ballast');
  return {
    fill: () => fill(ballast),
    clear: () => rmSync(ballast, { force: true }),
    unmount: () => unmount(folder),
  };
}

function fill(file: string): void {
  const descriptor = openSync(file, 'w');
  try {
    for (const size of [2 ** 20, 4096]) {
      const bytes = Buffer.alloc(size);
      try {
        for (;;) writeSync(descriptor, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

function unmount(folder: string): void {
  spawnSync('umount', ['--lazy', folder]);
}

function unmountStale(): void {
  const mounted = readFileSync('/proc/mounts', 'utf8').split('\n');
  for (const line of mounted) {
    const place = line.split(' ')[1] ?? '';
    const [, folder, owner] = STALE.exec(place) ?? [];
    if (folder === undefined || isProcess(Number(owner))) continue;
    process.stderr.write(`Unmounting ${place}, which process ${owner} left behind\n`);
    unmount(place);
    rmSync(folder, { recursive: true, force: true });
  }
}
