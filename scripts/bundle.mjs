/**
 * After `tsc`: puts the modules of the program and of its libraries into one file, and beside it what
 * V8 makes of them, so that a start neither looks for a thousand files nor compiles them. Without it
 * `dist/` works as well, and starts later. `tsc` alone writes a `main.js` that leaves the bundle out,
 * so that an old one is never used.
 */
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundleScript, cacheOf, runBundle } from './load-bundle.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const main = join(dist, 'main.js');
const bundle = join(dist, 'bundle', 'gitplane.cjs');
const LOADER = 'load-bundle.mjs';

const HEAD = `'use strict';
const __placeOf = (path) =>
  require('node:url').pathToFileURL(require('node:path').join(__dirname, '..', path)).href;
const __resolve = (name) => require('node:url').pathToFileURL(require.resolve(name)).href;`;

/** A module that looks for files by its own place finds them where it was before. */
const inPlace = {
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.js$/ }, ({ path }) => {
      if (!path.startsWith(dist)) return undefined;
      const contents = readFileSync(path, 'utf8')
        .replace(/^#!.*/, '')
        .replaceAll('import.meta.url', `__placeOf(${JSON.stringify(relative(dist, path))})`)
        .replaceAll('import.meta.resolve(', '__resolve(');
      if (contents.includes('import.meta')) throw new Error(`${path} needs another import.meta`);
      return { contents };
    });
  },
};

async function makeBundle() {
  await build({
    entryPoints: [main],
    outfile: bundle,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    charset: 'ascii',
    banner: { js: HEAD },
    // It has parts that are no JavaScript.
    external: ['lmdb'],
    plugins: [inPlace],
    legalComments: 'eof',
    logLevel: 'warning',
  });
}

/** What a first start and a stop compile is what every later one needs. */
async function makeCache() {
  const dataDir = mkdtempSync(join(tmpdir(), 'gitplane-build-'));
  const seed = join(root, 'examples', 'platform');
  const listen = ['--listen', '127.0.0.1:0', '--log-level', 'error'];
  process.argv = [
    process.execPath,
    main,
    'serve',
    '--data-dir',
    dataDir,
    '--seed',
    seed,
    ...listen,
  ];
  const written = process.stdout.write.bind(process.stdout);
  // The banner says that the daemon serves; whoever builds has no use for it.
  process.stdout.write = (text) => {
    if (String(text).includes('Try next')) process.emit('SIGTERM');
    return true;
  };
  const script = bundleScript(bundle);
  try {
    runBundle(script, bundle);
    await once(process, 'beforeExit');
  } finally {
    process.stdout.write = written;
    rmSync(dataDir, { recursive: true, force: true });
  }
  if (process.exitCode !== 0) throw new Error('The bundle does not start and stop');
  writeFileSync(cacheOf(bundle), script.createCachedData());
}

if (readFileSync(main, 'utf8').includes(LOADER)) throw new Error('Run tsc first');
await makeBundle();
await makeCache();
copyFileSync(join(root, 'scripts', LOADER), join(dist, 'bundle', LOADER));
writeFileSync(
  main,
  `#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { loadBundle } from './bundle/${LOADER}';

loadBundle(fileURLToPath(new URL('./bundle/${basename(bundle)}', import.meta.url)));
`,
);
