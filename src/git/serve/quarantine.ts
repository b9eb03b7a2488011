/**
 * Reads a push during its validation. Its objects are in a quarantine directory that only processes
 * with the environment of the hook can see (git-receive-pack(1), "Quarantine environment").
 */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { GitError } from '../git-error.ts';
import { PackIndex } from '../packs/pack-index.ts';
import { type ObjectReader, Reader, type ReaderOptions } from '../reading/reader.ts';
import type { Repository } from '../repository.ts';
import type { QuarantineEnvironment } from './hook-protocol.ts';

/**
 * The repository as the push would make it. Close it after the verdict. Throws if the environment
 * points outside of the objects of the repository.
 */
export async function withQuarantine(
  repository: Pick<Repository, 'gitDir'>,
  environment: QuarantineEnvironment,
  options?: ReaderOptions,
): Promise<ObjectReader> {
  const { gitDir } = repository;
  const objects = await realpath(join(gitDir, 'objects'));
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    const paths = name === 'GIT_ALTERNATE_OBJECT_DIRECTORIES' ? value.split(':') : [value];
    for (const path of paths) await assertWithin(path, { objects, gitDir });
    env[name] = value;
  }
  const folder = env['GIT_OBJECT_DIRECTORY'] ?? objects;
  let packs: Promise<readonly PackIndex[]> | undefined;
  // A pack may repeat commits that refs reach: they are checked once more.
  const isUnreached = async (id: string): Promise<boolean> => {
    packs ??= folder === objects ? Promise.resolve([]) : packsIn(resolve(gitDir, folder));
    return (await packs).some((pack) => pack.has(id));
  };
  // One process is enough: only one push uses this reader.
  return new Reader({ gitDir, env }, { objectProcesses: 1, isUnreached, ...options });
}

/** Larger indexes are left to git. */
const MAX_INDEX_BYTES = 4 * 1024 * 1024;

/** Packs of a push. Git unpacks none: see `receive.unpackLimit` in `init-repository.ts`. */
async function packsIn(objects: string): Promise<readonly PackIndex[]> {
  const folder = join(objects, 'pack');
  const names = await readdir(folder).catch(() => []);
  const indexes = names.filter((name) => name.endsWith('.idx'));
  const read = indexes.map(async (name) => {
    const path = join(folder, name);
    const isLarge = (await stat(path)).size > MAX_INDEX_BYTES;
    return isLarge ? undefined : PackIndex.parse(await readFile(path));
  });
  return (await Promise.all(read)).filter((pack) => pack !== undefined);
}

async function assertWithin(
  path: string,
  within: { objects: string; gitDir: string },
): Promise<void> {
  // Git names them relative to the repository if it was entered by a relative path.
  const real = await realpath(isAbsolute(path) ? path : join(within.gitDir, path)).catch(() => '');
  const from = relative(within.objects, real);
  if (real === '' || from.startsWith('..') || isAbsolute(from)) {
    throw new GitError(`${path} is not a quarantine directory of ${within.gitDir}`);
  }
}
