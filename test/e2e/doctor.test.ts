/** `gitplane doctor` on real data directories: sound ones, and one damage after the other. */
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, type RunResult, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { git } from '../support/git.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');

let running: Daemon;
let used: string;

beforeAll(async () => {
  const first = await startDaemon();
  await first.stop();
  used = first.dataDir;
  running = await startDaemon();
});
afterAll(() => running.stop());

function doctor(dataDir: string, ...args: string[]): Promise<RunResult> {
  const command = [MAIN, 'doctor', '--data-dir', dataDir, ...args];
  return run(process.execPath, command, { cwd: scratchDir() });
}

function copyOfUsed(harm: (dataDir: string) => void): string {
  const dataDir = join(scratchDir(), 'data');
  cpSync(used, dataDir, { recursive: true, filter: (path) => !path.endsWith('/run') });
  harm(dataDir);
  return dataDir;
}

test.each<[string, () => string]>([
  ['that no daemon runs on', () => used],
  ['that a daemon runs on', () => running.dataDir],
])('a sound directory %s has no problem', async (_, dataDir) => {
  const { code, stdout } = await doctor(dataDir());
  expect(stdout).not.toMatch(/PROBLEM/);
  const checks = [...stdout.matchAll(/^ok +(\w+)/gm)].map(([, name]) => name);
  expect(checks).toEqual(['repository', 'state', 'keys', 'certificate', 'clock', 'disk', 'jobs']);
  expect(code).toBe(0);
});

function cutPack(dataDir: string): void {
  const folder = join(dataDir, 'repo.git/objects/pack');
  const pack = readdirSync(folder).find((name) => name.endsWith('.pack')) ?? '';
  chmodSync(join(folder, pack), 0o644);
  truncateSync(join(folder, pack), 100);
}

test.concurrent.each<[string, (dataDir: string) => void, RegExp]>([
  ['a pack that is cut', cutPack, /^PROBLEM +repository: the pack .* Restore the files of/m],
  [
    'a state that is damaged',
    (dir) => writeFileSync(join(dir, 'state/data.mdb'), 'garbage'),
    /^PROBLEM +state: .* delete that directory/m,
  ],
  [
    'a lost age.key',
    (dir) => rmSync(join(dir, 'age.key')),
    /^PROBLEM +keys: \d+ sealed files cannot be opened: the keys of age1\w+ .* Put .*age\.key back/m,
  ],
  [
    'a key that others can read',
    (dir) => chmodSync(join(dir, 'admin.token'), 0o644),
    /^PROBLEM +keys: .*admin\.token is open to other users\. Run chmod 600/m,
  ],
  [
    'a certificate that is none',
    (dir) => writeFileSync(join(dir, 'tls/server.crt'), 'garbage'),
    /^PROBLEM +certificate: .*server\.crt is not a certificate/m,
  ],
])('%s is a problem with its remedy, and the others stay', async (_, harm, line) => {
  const { code, stdout } = await doctor(copyOfUsed(harm));
  expect(stdout).toMatch(line);
  expect(stdout).toMatch(/^ok +disk/m);
  expect(code).toBe(1);
});

test('wide folders are named with their cost, and are no problem', async () => {
  const dataDir = copyOfUsed((dir) => {
    const files = Array.from({ length: 1200 }, (_, i) => `M 100644 inline notes/${i}\ndata 0\n`);
    const head = 'commit refs/heads/main\ncommitter x <x@x> 1700000000 +0000\ndata 0\n';
    const input = `${head}from refs/heads/main^0\n${files.join('\n')}\n`;
    git(join(dir, 'repo.git'), ['fast-import', '--quiet'], { input });
  });
  const { code, stdout } = await doctor(dataDir);
  expect(stdout).toMatch(
    /^ok +folders: notes\/ has 1200 entries, \d+ KiB per write; "gitplane repo fan-out"/m,
  );
  expect(code).toBe(0);
});

test('a remote that does not answer is a problem, in JSON too', async () => {
  const remote = await doctor(used, '--repo', 'http://127.0.0.1:9/x.git', '-o', 'json');
  const { healthy, checks } = JSON.parse(remote.stdout);
  expect([remote.code, healthy]).toEqual([1, false]);
  const found = checks.find(({ check }: { check: string }) => check === 'remote');
  expect(found).toMatchObject({ problem: expect.any(String), remedy: expect.any(String) });
});

test('a directory that is not there is not made', async () => {
  const dataDir = join(scratchDir(), 'none');
  const { code, stdout } = await doctor(dataDir);
  expect(stdout).toMatch(/^PROBLEM +repository: .* is not a repository/m);
  expect(code).toBe(1);
  expect(existsSync(dataDir)).toBe(false);
});
