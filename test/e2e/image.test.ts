/** The steps of the Dockerfile, run in a folder: no engine of containers is needed. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type RunResult, run, scratchDir } from '../support/daemon.ts';

const ROOT = join(import.meta.dirname, '../..');
const source = scratchDir();
const app = scratchDir();
let built: RunResult;

/** Instructions of the build stage, each on one line. */
function buildStage(): string[] {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const [, stage = ''] = text.split(/^FROM .*$/m);
  return stage.split('\n').filter((line) => /^(COPY|RUN) /.test(line));
}

/** Libraries come from the checkout, so nothing is installed, pruned or moved. */
function inFolder(command: string): string {
  return command
    .replace(/npm prune [^&]*/, 'true ')
    .replace(/mkdir \/app/, 'true')
    .replace(/mv node_modules \S+/, 'true')
    .replaceAll('/app', app);
}

beforeAll(async () => {
  for (const line of buildStage().filter((one) => one.startsWith('COPY '))) {
    const paths = line.split(/\s+/).slice(1);
    const target = paths.pop() ?? '';
    for (const path of paths) {
      const to = join(source, target.endsWith('/') ? join(target, path) : target);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(join(ROOT, path), to, { recursive: true });
    }
  }
  symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'));
  symlinkSync(join(ROOT, 'node_modules'), join(app, 'node_modules'));
  const [command = ''] = buildStage().filter((line) => line.startsWith('RUN npm run build'));
  built = await run('bash', ['-ec', inFolder(command.replace(/^RUN /, ''))], { cwd: source });
});

test('the files that the Dockerfile copies are enough to build', () => {
  expect(built.code, built.stdout + built.stderr).toBe(0);
  expect(readdirSync(app).sort()).toEqual(
    ['LICENSE', 'dist', 'examples', 'node_modules', 'package.json', 'schemas'].sort(),
  );
});

test('the images that they build run', async () => {
  const { stdout, stderr } = await run(process.execPath, [join(app, 'dist/main.js'), 'version']);
  expect(stdout, stderr).toMatch(/^gitplane \d/);
});

test('the probe fails where no daemon listens', async () => {
  const probe = [join(app, 'dist/cli/probe.js'), 'https://127.0.0.1:1/livez'];
  expect((await run(process.execPath, probe)).code).toBe(1);
});
