/** Sizes of files below a folder. */
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Sum of the lengths of all files. */
export async function bytesBelow(folder: string): Promise<number> {
  return (await filesBelow(folder)).reduce((sum, { size }) => sum + size, 0);
}

const BLOCK_BYTES = 512;

/** Disk that all files take: preallocated blocks count, holes do not. */
export async function diskBelow(folder: string): Promise<number> {
  return (await filesBelow(folder)).reduce((sum, { blocks }) => sum + blocks * BLOCK_BYTES, 0);
}

async function filesBelow(folder: string): Promise<Stats[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const stats = entries
    .filter((entry) => entry.isFile())
    // A file may be removed meanwhile.
    .map((entry) => stat(join(entry.parentPath, entry.name)).catch(() => undefined));
  return (await Promise.all(stats)).filter((one) => one !== undefined);
}
