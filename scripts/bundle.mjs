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
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { buildBench } from './build-bench.mjs';
import { bundleConsole } from './bundle-console.mjs';
import { writePackages } from './bundled-packages.mjs';
import { linkFolder } from './link-doors.mjs';
import { bundleScript, cacheOf, runBundle } from './load-bundle.mjs';
import { schemaFunctions } from './schema-functions.mjs';
import { withEmptySpreads } from './spread-literals.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const LOADER = 'load-bundle.mjs';

/** A file of `dist/` that is started, and the bundle that it becomes a loader of. */
const part = (entry, bundle) => ({
  entry: join(dist, ...entry.split('/')),
  bundle: join(dist, 'bundle', bundle),
});
const program = part('main.js', 'gitplane.cjs');
const worker = part('catalog/reader-pool/worker.js', 'worker.cjs');
const others = [
  part('audit/store/store-thread.js', 'audit-store.cjs'),
  part('endpoint-patches/sandbox/thread.js', 'sandbox.cjs'),
  part('git/publication/publishing-worker.js', 'publishing.cjs'),
  part('registry/pushes/merge/merge-thread.js', 'merge.cjs'),
  part('sign-in/saml/thread.js', 'saml.cjs'),
];
/** ES modules: one is for other programs, one waits at its top level. */
const modules = [
  part('endpoint-patches/library.js', 'endpoint-patches.mjs'),
  part('git/serve/hook-client.js', 'hook-client.mjs'),
];

const HEAD = `'use strict';
const __placeOf = (path) =>
  require('node:url').pathToFileURL(require('node:path').join(__dirname, '..', path)).href;
const __resolve = (name) => require('node:url').pathToFileURL(require.resolve(name)).href;`;
const MODULE_HEAD = `import { createRequire as __createRequire } from 'node:module';
import { fileURLToPath as __fileOf } from 'node:url';
import { dirname as __folderOf } from 'node:path';
const require = __createRequire(import.meta.url);
const __dirname = __folderOf(__fileOf(import.meta.url));
${HEAD}`;

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
        .replaceAll('createRequire(import.meta.url)(', 'require(')
        .replaceAll('import.meta.url', `__placeOf(${JSON.stringify(relative(dist, path))})`)
        .replace(/import\.meta\.resolve\(('[^']*')\)/g, resolved);
      if (contents.includes('import.meta')) throw new Error(`${path} needs another import.meta`);
      return { contents };
    });
  },
};

/** Replacement of `import.meta.resolve('name')`. */
function resolved(_, quoted) {
  const name = quoted.slice(1, -1);
  return WASM.includes(name)
    ? `__placeOf(${JSON.stringify(`bundle/${basename(wasmFile(name))}`)})`
    : `__resolve(${quoted})`;
}

function wasmFile(name) {
  return fileURLToPath(import.meta.resolve(name));
}

/** Schemas are functions already. */
const compiled = {
  name: 'compiled',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]kinds[/\\]schema[/\\]schema-compiler\.js$/ }, async () => ({
      contents: await schemaFunctions(dist),
    }));
  },
};

/** Installed beside the bundles: they have parts that fit one platform. */
const INSTALLED = Object.keys(
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).dependencies,
);

/** Copied beside the bundles, where the code that loads them looks. */
const WASM = [
  '@jitl/quickjs-wasmfile-release-sync/wasm',
  'node-sqlite3-wasm/dist/node-sqlite3-wasm.wasm',
];

/** What only some configurations load: in files of their own, so that no start reads them for nothing. */
const APART = [
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  'isomorphic-git',
  'node-sqlite3-wasm',
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
    onResolve({ filter: /^[@a-z][a-z0-9/-]+$/ }, ({ path, kind }) =>
      kind !== 'entry-point' && APART.includes(path)
        ? { path: `./${fileOf(path)}`, external: true }
        : undefined,
    );
  },
};

async function makeBundle({ entry, bundle }) {
  if (readFileSync(entry, 'utf8').includes(LOADER)) throw new Error('Run tsc first');
  return await bundleTo(bundle, entry, [compiled, inPlace, apart]);
}

async function bundleTo(outfile, entry, plugins, format = 'cjs') {
  const { metafile } = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    outfile,
    bundle: true,
    format,
    platform: 'node',
    target: 'node20',
    charset: 'ascii',
    banner: { js: format === 'esm' ? MODULE_HEAD : HEAD },
    external: INSTALLED,
    plugins,
    metafile: true,
    // What is loaded late is in the bundle or in Node itself; a script of `vm` finds no modules.
    supported: { 'dynamic-import': false },
    legalComments: 'eof',
    logLevel: 'warning',
  });
  writeFileSync(outfile, withEmptySpreads(readFileSync(outfile, 'utf8')));
  return metafile;
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

function writeModule({ entry, bundle }) {
  writeFileSync(entry, `export * from './${relative(dirname(entry), bundle)}';\n`);
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
const { metafile: consoleFiles } = await bundleConsole(root);
const dataDir = mkdtempSync(join(tmpdir(), 'gitplane-build-'));
try {
  const metafiles = await Promise.all([
    ...[program, worker, ...others].map(makeBundle),
    ...modules.map(({ bundle, entry }) => bundleTo(bundle, entry, [inPlace], 'esm')),
    ...APART.map((name) => bundleTo(join(dist, 'bundle', fileOf(name)), name, [])),
  ]);
  for (const name of WASM) {
    copyFileSync(wasmFile(name), join(dist, 'bundle', basename(wasmFile(name))));
  }
  writePackages(root, [...metafiles, consoleFiles]);
  copyFileSync(join(root, 'scripts', LOADER), join(dist, 'bundle', LOADER));
  for (const one of others) writeLoader(one);
  for (const one of modules) writeModule(one);
  await cacheProgram(program, dataDir);
  await cacheWorker(worker, dataDir);
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
for (const one of [program, worker]) writeLoader(one);
