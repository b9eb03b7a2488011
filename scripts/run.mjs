/**
 * `npm start`, `npm test` and `npm run bench` on a fresh checkout: installs when the lock file
 * changed, builds when a source changed, then runs. Uses nothing but Node, so that it works before
 * anything is installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const INSTALLED = join(root, 'node_modules', '.gitplane-installed');
const BUILT = join(root, 'dist', '.built');

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) fail(`Cannot run ${command}: ${error.message}`);
  if (status !== 0) process.exit(status ?? 1);
}

function fail(message) {
  process.stderr.write(`gitplane: ${message}\n`);
  process.exit(1);
}

function lockDigest() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

function install() {
  const wanted = lockDigest();
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === wanted) return;
  refuseLink();
  process.stdout.write('Installing dependencies…\n');
  run('npm', ['ci', '--ignore-scripts', '--loglevel=error']);
  writeFileSync(INSTALLED, wanted);
}

/** `npm ci` empties the folder behind a link, which belongs to another checkout. */
function refuseLink() {
  const folder = join(root, 'node_modules');
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  fail(
    `Cannot install into ${folder}: it is a symbolic link, and what it points to would be emptied. ` +
      'Remove the link (rm node_modules) and run this again, or call what you need by hand, ' +
      'as in npm run build && npx vitest run',
  );
}

function newestSource(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (newest, entry) => Math.max(newest, statSync(join(entry.parentPath, entry.name)).mtimeMs),
      0,
    );
}

function build() {
  const newest = Math.max(
    newestSource(join(root, 'src')),
    newestSource(join(root, 'scripts')),
    newestSource(join(root, 'schemas')),
    newestSource(join(root, 'test', 'bench')),
    statSync(join(root, 'tsconfig.build.json')).mtimeMs,
    statSync(join(root, 'package-lock.json')).mtimeMs,
  );
  if (existsSync(BUILT) && statSync(BUILT).mtimeMs >= newest) return;
  process.stdout.write('Building…\n');
  run(process.execPath, [
    join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
    '-p',
    'tsconfig.build.json',
  ]);
  run(process.execPath, [join(root, 'scripts', 'bundle.mjs')]);
  writeFileSync(BUILT, '');
}

/**
 * Memory of glibc, as in the image. Each arena keeps freed memory of Node's threads. Without a fixed threshold,
 * glibc raises its own with the first large buffer, and keeps freed buffers of that size from then on.
 */
const env = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
  ...process.env,
};

/** Hands the terminal over; signals reach the child, whose exit status becomes ours. */
function become(args) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
}

const [task = 'start', ...rest] = process.argv.slice(2);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Node ${process.versions.node} is too old; use 20.19 or newer`);
}
install();
build();
const main = join(root, 'dist', 'main.js');
switch (task) {
  case 'start':
    become([main, 'serve', '--seed', 'examples/platform', ...rest]);
    break;
  case 'test':
    become([join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...rest]);
    break;
  case 'bench':
    become([join(root, 'build', 'bench', 'main.js'), ...rest]);
    break;
  default:
    fail(`Unknown task "${task}"`);
}
