/**
 * Installs the hooks. `hooks/` has those of a push by path: pre-receive asks the daemon over its socket.
 * `hooks/served/` has those of a push over HTTP, whose git the daemon starts itself: pre-receive judges the
 * push, and proc-receive lands the served branch. They relay to file descriptor 3, see `served-hooks.ts`.
 * `hooks/served-atomic/` has a third one, see `atomic-push.ts`.
 */
import {
  access,
  chmod,
  constants,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, GitError, StorageError } from '../git-error.ts';
import { runGit, tryGit } from '../process/git-process.ts';
import { forwardedVariables } from './hook-protocol.ts';

/** Second line of every hook of gitplane. Only a file with this line is replaced. */
const MARK = '# Made by gitplane, which replaces it at every start.';

/** Config of a process that serves a push over HTTP. A push by path cannot choose these hooks. */
export const SERVED_HOOKS = ['core.hooksPath', 'hooks/served'] as const;
/** The same for an atomic push of the branch with other refs. */
export const ATOMIC_HOOKS = ['core.hooksPath', 'hooks/served-atomic'] as const;

/** Shows lines of the daemon to the pusher, each behind `remote: `. */
const SHOW = `
show() {
  while [ "$1" -gt 0 ]; do
    IFS= read -r line <&3 || exit 1
    printf '%s\\n' "$line" >&2
    set -- "$(($1 - 1))"
  done
}`;

const SERVED_PRE_RECEIVE = `${SHOW}
{
  printf '%s\\0' ${forwardedVariables.map((name) => `"$${name}"`).join(' ')}
  printf '%s\\0' "\${GIT_PUSH_OPTION_COUNT:-0}"
  i=0
  while [ "$i" -lt "\${GIT_PUSH_OPTION_COUNT:-0}" ]; do
    eval "printf '%s\\\\0' \\"\\$GIT_PUSH_OPTION_$i\\""
    i=$((i + 1))
  done
  # The daemon would judge a push without updates, and git would make all of them.
  cat || exit 1
  printf '\\0'
} >&3
if ! read -r code count <&3; then
  echo 'gitplane closed the connection before it answered: check its log, then push again' >&2
  exit 1
fi
show "$count"
exit "$code"`;

/** The relay has a copy of stdin, since a process in the background gets /dev/null. */
const SERVED_PROC_RECEIVE = `${SHOW}
exec 4<&0
cat <&4 >&3 &
printf '000eversion=1\\n0000'
read -r count <&3 || exit 1
show "$count"
read -r count <&3 || exit 1
show "$count" 2>&1
printf '0000'
# Git may keep stdin open until the hook ends.
kill "$!" 2>/dev/null
exit 0`;

/**
 * The hook of the operator is first, since the branch cannot go back. A git that another hook of the operator
 * starts has no connection, and moves refs of its own.
 */
const ATOMIC_REFERENCE_TRANSACTION = `
operator() {
  test ! -x hooks/reference-transaction || hooks/reference-transaction "$@" 3>&-
}
if [ "$1" != prepared ] || ! { true >&3; } 2>/dev/null; then
  operator "$@"
  exit
fi
updates="$(cat)"
printf '%s\\n' "$updates" | operator "$@" || exit 1
printf 'prepared\\n%s\\0' "$updates" >&3
read -r code <&3 || exit 1
exit "$code"`;

/** Hooks of the operator in `hooks/`, which git runs for a push by path itself. */
const OPERATOR_HOOKS = ['reference-transaction', 'update', 'post-receive', 'post-update'];

/** Without the connection: a process that such a hook leaves behind would keep the push open. */
function operatorHook(name: string): string {
  return `test -x hooks/${name} || exit 0
exec hooks/${name} "$@" 3>&-`;
}

/**
 * Writes the hooks; the one of a push by path runs `command` (a program and its arguments, absolute
 * paths). Idempotent. Throws a GitError if the repository has other hooks.
 */
export async function installHooks(
  gitDir: string,
  options: { readonly command: readonly string[] },
): Promise<void> {
  const hooks = join(gitDir, 'hooks');
  await installHook(join(hooks, 'pre-receive'), `exec ${options.command.map(quote).join(' ')}`);
  for (const setting of [SERVED_HOOKS, ATOMIC_HOOKS]) {
    const served = join(gitDir, setting[1]);
    await installHook(join(served, 'pre-receive'), SERVED_PRE_RECEIVE);
    await installHook(join(served, 'proc-receive'), SERVED_PROC_RECEIVE);
    for (const name of OPERATOR_HOOKS) {
      const isPresent = (await readHook(join(hooks, name))) !== undefined;
      if (setting === ATOMIC_HOOKS && name === 'reference-transaction')
        await installHook(join(served, name), ATOMIC_REFERENCE_TRANSACTION);
      else if (isPresent) await installHook(join(served, name), operatorHook(name));
      else await removeFormer(join(served, name));
    }
  }
  await removeFormer(join(hooks, 'proc-receive'));
  // Relative to the repository. Set here so that the config of the pusher cannot bypass the hook.
  const setting = ['config', '--local', 'core.hooksPath'];
  const { stdout } = await tryGit({ gitDir }, setting);
  if (stdout.toString('utf8') !== 'hooks\n') await runGit({ gitDir }, [...setting, 'hooks']);
}

/** Removes a hook of gitplane that has no use any more. */
async function removeFormer(hook: string): Promise<void> {
  if ((await readHook(hook))?.includes(`\n${MARK}\n`)) await rm(hook, { force: true });
}

async function installHook(hook: string, body: string): Promise<void> {
  const script = `#!/bin/sh\n${MARK}\n${body}\n`;
  try {
    await mkdir(dirname(hook), { recursive: true });
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
    await assertExecutable(hook);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    throw new StorageError(hook, { cause: error });
  }
}

/** Git ignores a hook that it may not execute, and accepts the push. */
async function assertExecutable(hook: string): Promise<void> {
  try {
    await access(hook, constants.X_OK);
  } catch (cause) {
    throw new GitError(`${hook} cannot be executed`, {
      remedy: 'Mount its file system without noexec: pushes are validated by this hook',
      cause,
    });
  }
}

/** Undefined: there is none. Git runs no folder. */
async function readHook(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'EISDIR'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** Quotes one word for a POSIX shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
