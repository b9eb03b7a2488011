/** Command that starts this program again: its name where PATH leads to it, otherwise its path. */
import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAME = 'gitplane';

/** `path`: the variable PATH. */
export function pluginCommand(
  path: string,
  script = process.argv[1] ?? '',
): { readonly command: string; readonly args: readonly string[] } {
  const found = path
    .split(delimiter)
    .map((folder) => join(folder, NAME))
    .find((file) => existsSync(file));
  if (found !== undefined && isSame(found, script)) return { command: NAME, args: [] };
  return { command: process.execPath, args: [...process.execArgv, real(script)] };
}

function isSame(one: string, other: string): boolean {
  return real(one) === real(other);
}

function real(file: string): string {
  return existsSync(file) ? realpathSync(file) : file;
}
