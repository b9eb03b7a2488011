/** Manifests of a folder on disk. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PathFilter } from '../manifests/index.ts';

/** Paths below `root` that count, in order. What is hidden, or of a package manager, is left out. */
export async function* manifestPaths(
  root: string,
  filter: PathFilter,
  folder = '',
): AsyncIterable<string> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    const hidden = entry.name.startsWith('.') || entry.name === 'node_modules';
    if (entry.isDirectory() && !hidden) yield* manifestPaths(root, filter, path);
    else if (entry.isFile() && filter.includes(path)) yield path;
  }
}
