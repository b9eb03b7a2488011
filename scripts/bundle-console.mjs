/**
 * The console for browsers: `src/console/app` as modules below `dist/console/assets`, with the hash of
 * their content in their names, compressed beside. `npm run build` runs it; `node scripts/bundle-console.mjs`
 * builds the console alone.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** Limit of the files that the first page loads, compressed with gzip. */
const MOST_FIRST_BYTES = 150 * 1024;

export async function bundleConsole(root) {
  const folder = join(root, 'dist', 'console', 'assets');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    entryPoints: [join(root, 'src', 'console', 'app', 'main.tsx')],
    absWorkingDir: root,
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    metafile: true,
    logLevel: 'warning',
  });
  const files = Object.keys(metafile.outputs).map((path) => basename(path));
  for (const name of files) compress(join(folder, name));
  const [path, entry] = Object.entries(metafile.outputs).find(
    ([, { entryPoint }]) => entryPoint?.endsWith('main.tsx') === true,
  );
  const first = [path, entry.cssBundle, ...imported(metafile, path)];
  const bytes = first.reduce((sum, file) => sum + readFileSync(`${join(root, file)}.gz`).length, 0);
  if (bytes > MOST_FIRST_BYTES)
    throw new Error(`The first page of the console takes ${bytes} bytes`);
  const names = { script: basename(path), style: basename(entry.cssBundle) };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ entry: names, files }));
  return { bytes, files, metafile };
}

/** Chunks that a file imports at once, and theirs. */
function imported({ outputs }, path, found = new Set()) {
  for (const { path: next, kind } of outputs[path].imports) {
    if (kind !== 'import-statement' || found.has(next)) continue;
    found.add(next);
    imported({ outputs }, next, found);
  }
  return [...found];
}

function compress(file) {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { bytes, files } = await bundleConsole(dirname(dirname(fileURLToPath(import.meta.url))));
  process.stdout.write(`${files.length} files, the first page takes ${bytes} bytes with gzip\n`);
}
