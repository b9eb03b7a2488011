/** Creation of the repository that the daemon owns. */
import { existsSync, readFileSync } from 'node:fs';
import {
  type FileHandle,
  mkdir,
  open,
  readFile,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode, StorageError } from './git-error.ts';
import { assertBranchName, parseConfig } from './open-repository.ts';
import { SIZE_LIMITS } from './process/git-environment.ts';
import { runGit } from './process/git-process.ts';
import { outwaitLock } from './refs/stale-lock.ts';

/** Stored in the config of the repository, because a push by path runs the git of the pusher. */
const settings: readonly (readonly [string, string])[] = [
  // History is the database: commits are only ever added.
  ['receive.denyNonFastForwards', 'true'],
  ['receive.denyDeletes', 'true'],
  ['receive.fsckObjects', 'true'],
  ['transfer.fsckObjects', 'true'],
  ['receive.advertisePushOptions', 'true'],
  // One pack per push: two files to sync instead of one per object.
  ['receive.unpackLimit', '1'],
  ['transfer.unpackLimit', '1'],
  // The daemon repacks in the background; git must not do it during a push.
  ['gc.auto', '0'],
  ['receive.autogc', 'false'],
  ['core.fsync', 'objects,derived-metadata,reference'],
  ['uploadpack.allowFilter', 'true'],
  ['uploadpack.allowReachableSHA1InWant', 'true'],
  // Refs for internal use are hidden from clones.
  ['transfer.hideRefs', 'refs/gitplane'],
  // The setting of the pusher must not bypass the hook of the daemon.
  ['core.hooksPath', 'hooks'],
  ...SIZE_LIMITS,
];

/** Creates a bare repository whose HEAD is `branch`, or updates the settings of an existing one. */
export async function initRepository(options: { gitDir: string; branch: string }): Promise<void> {
  const gitDir = resolve(options.gitDir);
  try {
    await mkdir(gitDir, { recursive: true });
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    throw new StorageError(gitDir, { cause: error });
  }
  const context = { gitDir };
  const head = `refs/heads/${options.branch}`;
  await assertBranchName(context, options.branch);
  for (const name of ['config', 'HEAD']) await outwaitLock(gitDir, join(gitDir, `${name}.lock`));
  // Nothing that exists is written again: a start must succeed on a full disk.
  if (!isInitialized(gitDir)) {
    await runGit(context, ['init', '-q', '--bare', '--template=', '--object-format=sha1', gitDir]);
  }
  if (headOf(gitDir) !== head) await runGit(context, ['symbolic-ref', 'HEAD', head]);
  const present = parseConfig(await runGit(context, ['config', '--local', '-z', '--list']));
  const missing = settings.filter(([key]) => !present.has(key.toLowerCase()));
  if (missing.length > 0) await appendSettings(gitDir, missing);
  for (const [key, value] of settings) {
    const found = present.get(key.toLowerCase());
    if (found !== undefined && found !== value) {
      await runGit(context, ['config', '--local', key, value]);
    }
  }
}

/**
 * Adds the settings in one write, under the lock that `git config` takes. One process per setting
 * would make the first start slow.
 */
async function appendSettings(
  gitDir: string,
  added: readonly (readonly [string, string])[],
): Promise<void> {
  const text = added.map(([key, value]) => {
    const [section, name] = key.split('.');
    return `[${section}]\n\t${name} = ${value}\n`;
  });
  try {
    const path = await realpath(join(gitDir, 'config'));
    const lock = await openLock(gitDir, `${path}.lock`, (await stat(path)).mode & 0o777);
    try {
      const before = (await readFile(path, 'utf8')).replace(/\n*$/, '\n');
      await lock.writeFile(`${before}${text.join('')}`).finally(() => lock.close());
      await rename(`${path}.lock`, path);
    } catch (error) {
      await rm(`${path}.lock`, { force: true });
      throw error;
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    throw new StorageError(gitDir, { cause: error });
  }
}

async function openLock(gitDir: string, path: string, mode: number): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(path, 'wx', mode);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    await outwaitLock(gitDir, path);
  }
}

/** True if an earlier `git init` finished: it writes the settings last. */
function isInitialized(gitDir: string): boolean {
  const names = ['HEAD', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags'];
  if (!names.every((name) => existsSync(join(gitDir, name)))) return false;
  return /^\s*bare\s*=\s*true\s*$/m.test(readIfThere(join(gitDir, 'config')));
}

function headOf(gitDir: string): string | undefined {
  return /^ref: (.*)\n$/.exec(readIfThere(join(gitDir, 'HEAD')))?.[1];
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
