/**
 * Compiles the bench from `test/bench/` to `build/bench/`. Its rows use the program as `dist/` has it:
 * what a loader of TypeScript adds at run time would be measured too.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

export async function buildBench(root) {
  const source = join(root, 'test', 'bench');
  const target = join(root, 'build', 'bench');
  // The image is built without tests.
  if (!existsSync(source)) return;
  rmSync(target, { recursive: true, force: true });
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  await build({
    entryPoints: files.map((name) => join(source, name)),
    outbase: source,
    outdir: target,
    format: 'esm',
    target: 'node20',
  });
  for (const name of files) {
    const file = join(target, name.replace(/\.ts$/, '.js'));
    const text = readFileSync(file, 'utf8').replace(
      /(["'])(\.\.?\/[^"']*)\.ts\1/g,
      (_, quote, path) => `${quote}${path.replace(/((?:\.\.\/)+)src\//, '$1dist/')}.js${quote}`,
    );
    writeFileSync(file, text);
  }
}
