/**
 * After `tsc`: puts the modules of the program and of its libraries into one file, and beside it what
 * V8 makes of them, so that a start neither looks for a thousand files nor compiles them; the same for
 * the threads that read manifests. Without it `dist/` works as well, and starts later. `tsc` alone
 * writes files that leave the bundles out, so that an old one is never used.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { buildBench } from './build-bench.mjs';
import { bundleConsole } from './bundle-console.mjs';
import { linkFolder } from './link-doors.mjs';
import { bundleScript, cacheOf, runBundle } from './load-bundle.mjs';
import { schemaFunctions } from './schema-functions.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const LOADER = 'load-bundle.mjs';

/** What is started, and the bundle that it becomes a loader of. */
const program = { entry: join(dist, 'main.js'), bundle: join(dist, 'bundle', 'gitplane.cjs') };
const worker = {
  entry: join(dist, 'catalog', 'reader-pool', 'worker.js'),
  bundle: join(dist, 'bundle', 'worker.cjs'),
};

const HEAD = `'use strict';
const __placeOf = (path) =>
  require('node:url').pathToFileURL(require('node:path').join(__dirname, '..', path)).href;
const __resolve = (name) => require('node:url').pathToFileURL(require.resolve(name)).href;`;

/** Libraries that do: the engine of the sandbox, which the bench runs in its own thread, and node-cron. */
const LOOKS_AROUND =
  /(quickjs-wasmfile-release-sync\/dist\/emscripten-module\.mjs|node-cron\/dist\/node-cron\.js)$/;

/** A module that looks for files by its own place finds them where it was before. */
const inPlace = {
  name: 'in-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.m?js$/ }, ({ path }) => {
      if (!path.startsWith(dist) && !LOOKS_AROUND.test(path)) return undefined;
      const contents = readFileSync(path, 'utf8')
        .replace(/^#!.*/, '')
        .replaceAll('import.meta.url', `__placeOf(${JSON.stringify(relative(dist, path))})`)
        .replaceAll('import.meta.resolve(', '__resolve(');
      if (contents.includes('import.meta')) throw new Error(`${path} needs another import.meta`);
      return { contents };
    });
  },
};

/** Schemas are functions already. */
const compiled = {
  name: 'compiled',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]kinds[/\\]schema[/\\]schema-compiler\.js$/ }, async () => ({
      contents: await schemaFunctions(dist),
    }));
  },
};

/** What only some configurations load: in files of their own, so that no start reads them for nothing. */
const APART = [
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  'isomorphic-git',
  'oidc-provider',
  'openid-client',
  'pg',
  'pino-pretty',
  'sanitize-html',
  'tar',
  'undici',
];
const fileOf = (library) => `library-${library.replace(/^@/, '').replaceAll('/', '-')}.cjs`;

const apart = {
  name: 'apart',
  setup({ onResolve }) {
    onResolve({ filter: /^[@a-z][a-z/-]+$/ }, ({ path, kind }) =>
      kind !== 'entry-point' && APART.includes(path)
        ? { path: `./${fileOf(path)}`, external: true }
        : undefined,
    );
  },
};

async function makeBundle({ entry, bundle }) {
  if (readFileSync(entry, 'utf8').includes(LOADER)) throw new Error('Run tsc first');
  await bundleTo(bundle, entry, [compiled, inPlace, apart]);
}

async function bundleTo(outfile, entry, plugins) {
  await build({
    entryPoints: [entry],
    absWorkingDir: root,
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    charset: 'ascii',
    banner: { js: HEAD },
    // It has parts that are no JavaScript.
    external: ['lmdb'],
    plugins,
    // What is loaded late is in the bundle or in Node itself; a script of `vm` finds no modules.
    supported: { 'dynamic-import': false },
    legalComments: 'eof',
    logLevel: 'warning',
  });
}

/** What a first start and a stop compile is what every later one needs. */
async function cacheProgram({ entry, bundle }, dataDir) {
  const seed = join(root, 'examples', 'platform');
  const listen = ['--listen', '127.0.0.1:0', '--log-level', 'error'];
  process.argv = [process.execPath, entry, 'serve', '--data-dir', dataDir, '--seed', seed];
  process.argv.push(...listen);
  const written = process.stdout.write.bind(process.stdout);
  // The banner belongs to a start by a user, not to a build.
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
  }
  if (process.exitCode !== 0) throw new Error('The bundle does not start and stop');
  writeFileSync(cacheOf(bundle), script.createCachedData());
}

/** What reading the manifests of a small platform compiles is what every reader needs. */
async function cacheWorker({ bundle }, dataDir) {
  const gitDir = join(dataDir, 'repo.git');
  const listing = execFileSync('git', ['--git-dir', gitDir, 'ls-tree', '-r', 'main'], {
    encoding: 'utf8',
  });
  const files = listing
    .split('\n')
    .map((line) => /^(\d+) blob (\w+)\t(.*\.yaml)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, mode, id, path]) => ({ mode, id, path }));
  const thread = new Worker(new URL('./cache-worker.mjs', import.meta.url), {
    workerData: { bundle, context: { gitDir }, apiGroup: 'management.gitplane.dev', under: '' },
  });
  thread.postMessage({ id: 0, request: { files } });
  const [{ answer }] = await once(thread, 'message');
  if (answer === undefined) throw new Error('The bundle does not read manifests');
  thread.postMessage('cache');
  await once(thread, 'exit');
}

function writeLoader({ entry, bundle }) {
  const to = (file) => JSON.stringify(`./${relative(dirname(entry), file)}`);
  writeFileSync(
    entry,
    `#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { loadBundle } from ${to(join(dist, 'bundle', LOADER))};

loadBundle(fileURLToPath(new URL(${to(bundle)}, import.meta.url)));
`,
  );
}

linkFolder(dist);
await buildBench(root);
await bundleConsole(root);
const dataDir = mkdtempSync(join(tmpdir(), 'gitplane-build-'));
try {
  await Promise.all([
    ...[program, worker].map(makeBundle),
    ...APART.map((library) => bundleTo(join(dist, 'bundle', fileOf(library)), library, [])),
  ]);
  await cacheProgram(program, dataDir);
  await cacheWorker(worker, dataDir);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
copyFileSync(join(root, 'scripts', LOADER), join(dist, 'bundle', LOADER));
for (const part of [program, worker]) writeLoader(part);
