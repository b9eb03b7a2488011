/** The launcher starts git in the place of the daemon: streams, ends and signals are those of a child. */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
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

test('megabytes of file descriptor 3 arrive unchanged beside the output', async () => {
  // The pipe fills, since this process reads nothing while it is busy.
  const alias = `!head -c 5000000 /dev/zero >&3 && echo traced`;
  const chunks: Buffer[] = [];
  const git = new GitProcess(
    { gitDir: await bareRepository(), config: [['alias.traced', alias]] },
    ['traced'],
    QUERY,
    (connection) => connection.on('data', (chunk: Buffer) => chunks.push(chunk)),
  );
  git.stdin.end();
  await git.started;
  if (linux) expect(parentOf(parentOf(git.pid))).toBe(process.pid);
  const blockedUntil = performance.now() + 300;
  while (performance.now() < blockedUntil);

  const output = await buffer(git.stdout);

  expect(await git.ended).toEqual({ code: 0, signal: null });
  expect(output.toString()).toBe('traced\n');
  expect(Buffer.concat(chunks).equals(Buffer.alloc(5_000_000))).toBe(true);
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

/** A git whose child is a `sleep` of its own process group. */
async function gitWithChild(): Promise<GitProcess> {
  const config = [['alias.nap', '!sleep 1000 & sleep 1000']] as const;
  const nap = new GitProcess({ gitDir: await bareRepository(), config }, ['nap'], LISTING);
  await nap.started;
  await expect.poll(() => membersOf(nap.pid).length).toBeGreaterThan(2);
  return nap;
}

test.runIf(linux)('the end of the launcher ends the children of git and its folder', async () => {
  await startLauncher();
  const nap = await gitWithChild();
  const launcher = parentOf(nap.pid);
  const folder = folderOf(launcher);
  expect(statSync(folder).mode & 0o777).toBe(0o700);

  process.kill(launcher, 'SIGKILL');
  await nap.ended;

  await expect.poll(() => membersOf(nap.pid)).toEqual([]);
  await expect.poll(() => existsSync(folder)).toBe(false);
});

test.runIf(linux)(
  'a launcher that hangs is killed: processes that run and processes that start end with an error',
  async () => {
    await startLauncher({ checkMs: 10 });
    const runs = await waitingGit();
    const launcher = parentOf(runs.pid);
    const gitDir = await bareRepository();
    process.kill(launcher, 'SIGSTOP');
    const starts = new GitProcess({ gitDir }, ['version']);

    for (const one of [runs, starts]) {
      expect(one.error(await one.ended).message).toMatch(
        /the launcher of git (ended|did not|closed)/,
      );
    }

    const next = await tryGit({ gitDir: await bareRepository() }, ['version']);
    expect(next).toMatchObject({ code: 0 });
    await expect.poll(() => existsSync(`/proc/${launcher}`)).toBe(false);
  },
);

test.runIf(linux)('a launcher without free file descriptors fails starts alone', async () => {
  await startLauncher({ checkMs: 10 });
  const runs = await waitingGit();
  const launcher = parentOf(runs.pid);
  const open = readdirSync(`/proc/${launcher}/fd`).length;
  limitFiles(launcher, open);

  const late = new GitProcess({ gitDir: await bareRepository() }, ['version']);
  expect(late.error(await late.ended).message).toMatch(/git cannot be started/);

  limitFiles(launcher, 1000);
  const next = await waitingGit();
  expect(parentOf(next.pid)).toBe(launcher);
  for (const one of [runs, next]) {
    one.kill();
    await one.ended;
  }
});

test.runIf(linux)(
  'a daemon that is killed takes the launcher and its processes with it',
  async () => {
    const module = fileURLToPath(new URL('../../../src/git/process/', import.meta.url));
    const script = `
    setInterval(() => undefined, 1000);
    const { startLauncher } = await import(${JSON.stringify(`${module}launcher.ts`)});
    const { GitProcess } = await import(${JSON.stringify(`${module}git-process.ts`)});
    await startLauncher();
    const config = [['alias.nap', '!sleep 1000 & sleep 1000']];
    const nap = new GitProcess({ gitDir: ${JSON.stringify(await bareRepository())}, config }, ['nap']);
    await nap.started;
    console.log(nap.pid);`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', script];
    const daemon = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(daemon.stdout, 'data')) as [Buffer];
    const group = Number(line.toString('utf8'));
    await expect.poll(() => membersOf(group).length).toBeGreaterThan(2);
    const launcher = parentOf(group);
    const folder = folderOf(launcher);

    daemon.kill('SIGKILL');

    await expect.poll(() => membersOf(group)).toEqual([]);
    await expect.poll(() => existsSync(`/proc/${launcher}`)).toBe(false);
    expect(existsSync(folder)).toBe(false);
  },
);

test.runIf(linux).each([
  { of: 'missing', folder: () => '/no/such/folder' },
  // A longer path of a socket is cut off, and leads out of the private folder.
  { of: 'too deep', folder: () => mkdtempSync(join(tmpdir(), `gitplane-${'x'.repeat(80)}`)) },
])('the launcher uses /tmp for its socket if the temporary folder is $of', async ({ folder }) => {
  const temporaryFolder = folder();
  onTestFinished(() => rmSync(temporaryFolder, { recursive: true, force: true }));
  await startLauncher({ temporaryFolder });
  const waiting = await waitingGit();
  expect(parentOf(parentOf(waiting.pid))).toBe(process.pid);
  expect(folderOf(parentOf(waiting.pid))).toMatch(/^\/tmp\/gitplane-launcher-[^/]+$/);
  waiting.kill();
  await waiting.ended;
});

/** Sets the soft limit of open files of another process. */
function limitFiles(pid: number, files: number): void {
  execFileSync('sh', ['-c', `prlimit --nofile=${files}: --pid ${pid}`]);
}

/** Folder of the socket of a launcher. */
function folderOf(launcher: number): string {
  const inodes = readdirSync(`/proc/${launcher}/fd`).map((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${launcher}/fd/${fd}`))?.[1];
    } catch {
      return undefined;
    }
  });
  const sockets = readFileSync('/proc/net/unix', 'utf8').split('\n');
  const paths = sockets.map((line) => line.trim().split(/\s+/));
  const path = paths.find(
    ([, , , , , , inode = '', name]) => inodes.includes(inode) && name?.endsWith('/socket'),
  )?.[7];
  if (path === undefined) throw new Error(`process ${launcher} has no socket`);
  return dirname(path);
}

/** Processes of a group that have not ended. */
function membersOf(group: number | undefined): string[] {
  const all = execFileSync('ps', ['-e', '-o', 'pgid=,stat=,args='], { encoding: 'utf8' });
  const members = all.split('\n').map((line) => line.trim().split(/\s+/));
  return members
    .filter(([of, state]) => Number(of) === group && state?.startsWith('Z') === false)
    .map(([, , ...args]) => args.join(' '));
}
