/** Programs that tests talk to: on the PATH, or where `.ci/run` puts them. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

export const PROGRAM_CACHE = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'gitplane/bin',
);

/** The file of a program; undefined: it is not installed. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), PROGRAM_CACHE];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}
