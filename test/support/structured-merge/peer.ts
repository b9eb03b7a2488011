/** Where the program beside this file was built; undefined where there is no Go. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;
const cache = join(folder, '../../../node_modules/.cache/gitplane');

export const structuredMerge = build();

function build(): string | undefined {
  const program = join(cache, 'structured-merge');
  if (existsSync(program)) return program;
  if (spawnSync('go', ['version']).status !== 0) return undefined;
  mkdirSync(cache, { recursive: true });
  const { status, stderr } = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 120_000,
  });
  if (status === 0) return program;
  process.stderr.write(`structured-merge-diff cannot be built, it judges nothing:\n${stderr}\n`);
  return undefined;
}
