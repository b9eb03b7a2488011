/**
 * Installs the hooks: pre-receive validates every push, over HTTP and by path; proc-receive lands the
 * served branch of a push over HTTP.
 */
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, GitError, StorageError } from '../git-error.ts';
import { runGit, tryGit } from '../process/git-process.ts';
import type { HookName } from './hook-protocol.ts';

/** Second line of every hook of gitplane. Only a file with this line is replaced. */
const MARK = '# Made by gitplane, which replaces it at every start.';

/**
 * Writes the hooks, which run `command` (a program and its arguments, absolute paths) with the name of
 * the hook. Idempotent. Throws a GitError if the repository has other hooks.
 */
export async function installHooks(
  gitDir: string,
  options: { readonly command: readonly string[] },
): Promise<void> {
  for (const name of HOOKS) await installHook(join(gitDir, 'hooks'), name, options.command);
  // Relative to the repository. Set here so that the config of the pusher cannot bypass the hook.
  const setting = ['config', '--local', 'core.hooksPath'];
  const { stdout } = await tryGit({ gitDir }, setting);
  if (stdout.toString('utf8') !== 'hooks\n') await runGit({ gitDir }, [...setting, 'hooks']);
}

const HOOKS: readonly HookName[] = ['pre-receive', 'proc-receive'];

async function installHook(
  hooks: string,
  name: HookName,
  command: readonly string[],
): Promise<void> {
  const hook = join(hooks, name);
  const script = `#!/bin/sh\n${MARK}\nexec ${[...command, name].map(quote).join(' ')}\n`;
  try {
    await mkdir(hooks, { recursive: true });
    const present = await readHook(hook);
    if (present !== undefined && !present.includes(`\n${MARK}\n`)) {
      throw new GitError(`${hook} is not a hook of gitplane`, {
        remedy: 'Move it away: pushes are validated by this hook',
      });
    }
    if (present !== script) {
      await writeFile(`${hook}.new`, script);
      await chmod(`${hook}.new`, 0o755);
      await rename(`${hook}.new`, hook);
    }
    if (((await stat(hook)).mode & 0o777) !== 0o755) await chmod(hook, 0o755);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    throw new StorageError(hook, { cause: error });
  }
}

async function readHook(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Quotes one word for a POSIX shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
