/** Programs in Go of `test/support/`, built when they are asked for. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/gitplane');
const BUILT_WITHIN_MS = 300_000;

/** `name`: of its folder. Undefined without Go, and where the program cannot be built. */
export function buildGoProgram(name: string): string | undefined {
  const program = join(CACHE, name);
  if (existsSync(program)) return program;
  if (spawnSync('go', ['version']).status !== 0) return undefined;
  mkdirSync(CACHE, { recursive: true });
  const { status, stderr } = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: join(ROOT, 'test/support', name),
    encoding: 'utf8',
    timeout: BUILT_WITHIN_MS,
  });
  if (status === 0) return program;
  process.stderr.write(`${name} cannot be built, nothing is compared with it:\n${stderr}\n`);
  return undefined;
}
