/** The launcher starts git in the place of the daemon: streams, ends and signals are those of a child. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { beforeAll, expect, test } from 'vitest';
import { GitProcess, runGit, tryGit } from '../../../src/git/process/git-process.ts';
import { startLauncher } from '../../../src/git/process/launcher.ts';
import { LISTING, QUERY } from '../../../src/git/process/process-limits.ts';
import { bareRepository, git } from '../../support/git.ts';

const linux = process.platform === 'linux';

beforeAll(() => startLauncher());

function parentOf(pid: number | undefined): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  return Number(fields.split(' ')[1]);
}

/** A git that waits for its input. */
async function waitingGit(): Promise<GitProcess> {
  const waiting = new GitProcess(
    { gitDir: await bareRepository() },
    ['cat-file', '--batch'],
    LISTING,
  );
  await waiting.started;
  return waiting;
}

test('input and output of megabytes arrive unchanged', async () => {
  const gitDir = await bareRepository();
  const bytes = randomBytes(5_000_000);
  const write = new GitProcess({ gitDir }, ['hash-object', '-w', '--stdin']);
  // In pieces, most of them before git runs.
  for (let at = 0; at < bytes.length; at += 100_000) {
    write.stdin.write(bytes.subarray(at, at + 100_000));
  }
  write.stdin.end();
  const id = (await buffer(write.stdout)).toString('latin1').trim();
  expect(await write.ended).toEqual({ code: 0, signal: null });

  expect(id).toBe(git(gitDir, ['hash-object', '--stdin'], { input: bytes }).toString().trim());
  expect((await runGit({ gitDir }, ['cat-file', 'blob', id])).equals(bytes)).toBe(true);
});

test('a hundred processes at once get each their own input', async () => {
  const gitDir = await bareRepository();
  const results = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const one = new GitProcess({ gitDir }, ['stripspace']);
      one.stdin.end(`text ${i}`);
      const text = await buffer(one.stdout);
      return [text.toString('utf8'), (await one.ended).code];
    }),
  );
  expect(results).toEqual(results.map((_, i) => [`text ${i}\n`, 0]));
});

test('a failure has the exit code and the message of git', async () => {
  const gitDir = await bareRepository();
  const failed = await tryGit({ gitDir }, ['rev-parse', '--verify', 'no-such-ref']);
  expect(failed).toMatchObject({ code: 128, stderr: expect.stringContaining('Needed a single') });
});

test('a folder that is missing is an error of the start', async () => {
  const gitDir = '/no/such/folder';
  await expect(runGit({ gitDir }, ['version'])).rejects.toThrow(/git cannot be started/);
});

test('output that nobody reads does not keep a process from ending', async () => {
  const gitDir = await bareRepository();
  const help = new GitProcess({ gitDir }, ['version']);
  expect(await help.ended).toEqual({ code: 0, signal: null });
});

test.runIf(linux)('the launcher is the parent of git', async () => {
  const waiting = await waitingGit();
  expect(parentOf(waiting.pid)).not.toBe(process.pid);
  expect(parentOf(parentOf(waiting.pid))).toBe(process.pid);
  waiting.kill();
  expect(await waiting.ended).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a process that is killed before it runs ends with the signal', async () => {
  const gitDir = await bareRepository();
  const waiting = new GitProcess({ gitDir }, ['cat-file', '--batch'], LISTING);
  expect(waiting.pid).toBeUndefined();
  waiting.kill();
  expect(await waiting.ended).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a process is ended at its deadline', async () => {
  const gitDir = await bareRepository();
  const late = new GitProcess({ gitDir }, ['cat-file', '--batch'], { ...QUERY, deadlineMs: 100 });
  const end = await late.ended;
  expect(late.error(end).message).toContain('did not finish within its deadline');
});

test.runIf(linux)(
  'the end of the launcher ends its processes, and the next ones start',
  async () => {
    const waiting = await waitingGit();
    const launcher = parentOf(waiting.pid);
    process.kill(launcher, 'SIGTERM');
    expect((await runGit({ gitDir: await bareRepository() }, ['version'])).length).toBeGreaterThan(
      0,
    );

    process.kill(launcher, 'SIGKILL');
    const end = await waiting.ended;

    expect(waiting.error(end).message).toContain('the launcher of git ended');
    const next = await waitingGit();
    expect(parentOf(next.pid)).toBe(process.pid);
    next.kill();
    await next.ended;
    const leftOver = execFileSync('ps', ['-o', 'stat=', '-p', String(waiting.pid ?? 0)], {
      encoding: 'utf8',
    }).trim();
    expect(leftOver).toMatch(/^(Z.*)?$/);
  },
);
