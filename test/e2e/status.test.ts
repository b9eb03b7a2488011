/** `gitplane status`, and a start whose options leave the platform empty. */
import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Daemon, type RunResult, run, scratchDir, startDaemon } from '../support/daemon.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

function status(...args: string[]): Promise<RunResult> {
  const kubeconfig = join(daemon.dataDir, 'kubeconfig');
  return run(process.execPath, [MAIN, 'status', '--kubeconfig', kubeconfig, ...args]);
}

describe('gitplane status', () => {
  test('shows branch, objects and health of a platform that is well', async () => {
    const { code, stdout, stderr } = await status();

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^gitplane +\d+\.\d+\.\d+ at https:.*\nhealth +ok\nbranch +applied [0-9a-f]{12} "/,
    );
    expect(stdout).toMatch(/^objects .*\b3 teams\b/m);
    expect(stdout.split('\n').length).toBeLessThan(24);
  });

  test('prints the summary of the API as JSON', async () => {
    const { code, stdout } = await status('-o', 'json');

    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'Summary',
      branch: { state: 'applied' },
      held: null,
    });
  });

  test('shows a held branch with its remedy, and ends with 1', async () => {
    const clone = await daemon.clone();
    await daemon.git(['rm', '-rq', 'teams', 'users', 'namespaces', 'ownedaccesskeys'], clone);
    await daemon.git(['commit', '-qm', 'Remove nearly everything'], clone);
    // Past the hook, which would refuse it.
    const gitDir = join(daemon.dataDir, 'repo.git');
    await run('git', ['--git-dir', gitDir, 'fetch', '-q', clone, 'HEAD:refs/heads/main']);
    await vi.waitFor(async () => {
      expect((await daemon.call('GET', '/sync')).json().state).toBe('held');
    });
    const { code, stdout } = await status();

    expect(code).toBe(1);
    expect(stdout).toMatch(/^branch +held at [0-9a-f]{12}\n +readers see [0-9a-f]{12} "/m);
    expect(stdout).toMatch(
      /^held +PruneBudgetExceeded: .*\n +removals: \d+\n +Put the objects back/m,
    );
  });

  test('a branch that gitplane approve releases is applied', async () => {
    const revision = (await daemon.call('GET', '/sync')).json().head;
    const kubeconfig = join(daemon.dataDir, 'kubeconfig');
    const approve = (...args: string[]): Promise<RunResult> =>
      run(process.execPath, [MAIN, 'approve', '--kubeconfig', kubeconfig, ...args]);

    expect(await approve(revision)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--reason is missing'),
    });
    expect(await approve(revision.slice(0, 12), '--reason', 'moved')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give all 40 digits'),
    });
    expect((await status()).code).toBe(1);
    expect(await approve(revision, '--reason', 'moved')).toEqual({
      code: 0,
      stderr: '',
      stdout: `${revision} is approved: readers see it\n`,
    });
    await expect.poll(() => daemon.output()).toMatch(/"reason":"moved".*"Revision approved"/);
  });

  test('prints one sentence for a daemon that does not run', async () => {
    const other = await startDaemon();
    await other.stop();
    const args = [MAIN, 'status', '--kubeconfig', join(other.dataDir, 'kubeconfig'), '-o', 'json'];
    const { code, stdout, stderr } = await run(process.execPath, args);

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^gitplane: Cannot reach https:.*nothing listens there; check that the daemon runs/,
    );
    expect(JSON.parse(stdout)).toMatchObject({ error: { reason: 'Failed', exitStatus: 1 } });
  });
});

describe('a start that leaves the platform empty', () => {
  let used: string;

  beforeAll(async () => {
    const first = await startDaemon();
    used = first.dataDir;
    await first.stop();
  });

  /** Without the state, which would hold the removal of every object. */
  const copy = (): string => {
    const dir = join(scratchDir(), 'data');
    const isKept = (path: string): boolean =>
      !['run', 'state', 'admin.token'].includes(basename(path));
    cpSync(used, dir, { recursive: true, filter: isKept });
    return dir;
  };

  test.each<[string, string[], RegExp]>([
    [
      '--path',
      ['--path', 'nowhere'],
      /the folder nowhere of main has no manifest: check --path\. Folders with manifests: access/,
    ],
    [
      '--branch',
      ['--branch', 'trunk'],
      /the branch trunk has no manifest: check --branch\. Other branches: main/,
    ],
    [
      '--api-group',
      ['--api-group', 'wrong.example.com'],
      /no manifest has an object of the group wrong\.example\.com: check --api-group/,
    ],
  ])('ends with the remedy for %s, and commits nothing there', async (_name, args, reason) => {
    const dataDir = copy();
    const refs = (): Promise<RunResult> =>
      run('git', ['--git-dir', join(dataDir, 'repo.git'), 'for-each-ref', 'refs/heads/']);
    const before = await refs();
    const started = startDaemon({ dataDir, seed: undefined, args });

    await expect(started).rejects.toThrow(reason);
    await expect(started).rejects.toThrow(/ended with 1:[\s\S]*start with --allow-empty/);
    expect((await refs()).stdout).toBe(before.stdout);
  });

  test('is meant with --allow-empty, and later starts go on without it', async () => {
    const dataDir = copy();
    const place = ['--path', 'new/platform'];
    const started = await startDaemon({
      dataDir,
      seed: undefined,
      args: [...place, '--allow-empty'],
    });
    expect(await started.stop()).toBe(0);
    expect(started.output()).toMatch(/WARNING: the platform is empty: the folder new\/platform/);

    const again = await startDaemon({ dataDir, seed: undefined, args: place });
    expect(await again.stop()).toBe(0);
  });

  test('says nothing for a new repository', async () => {
    const started = await startDaemon({ seed: undefined });
    await started.stop();

    expect(started.output()).not.toMatch(/platform is empty/);
  });
});
