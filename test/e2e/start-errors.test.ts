/** A daemon that cannot start says why in one line that a person can act on, and changes nothing. */
import { chmod, cp, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, type RunResult, run, scratchDir, startDaemon } from '../support/daemon.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');

let running: Daemon;
/** The data directory of a daemon that ran and stopped. */
let used: string;
let taken: Server;
let port: number;

beforeAll(async () => {
  const first = await startDaemon();
  used = first.dataDir;
  await first.stop();
  running = await startDaemon();
  taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const address = taken.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(async () => {
  taken.close();
  await running.stop();
});

function gitplane(...args: string[]): Promise<RunResult> {
  return run(process.execPath, [MAIN, ...args], { cwd: scratchDir() });
}

function serve(dataDir: string, ...args: string[]): Promise<RunResult> {
  return gitplane('serve', '--data-dir', dataDir, '--listen', '127.0.0.1:0', ...args);
}

/** The lines for people: everything but the log. */
function words({ stderr }: RunResult): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
}

/** A copy of the used data directory, broken by `harm`. */
async function harmed(harm: (dir: string) => Promise<unknown>): Promise<string> {
  const dir = join(scratchDir(), 'data');
  await cp(used, dir, { recursive: true, filter: (path) => basename(path) !== 'run' });
  await harm(dir);
  return dir;
}

function garbage(file: string): (dir: string) => Promise<void> {
  return (dir) => writeFile(join(dir, file), 'garbage\n');
}

describe('the daemon prints one line and exits with 1', () => {
  test.concurrent.each<[string, () => Promise<RunResult>, RegExp]>([
    [
      'a second daemon on the same data directory',
      () => serve(running.dataDir),
      /data.*(another|already|in use|running)/i,
    ],
    [
      'a port in use',
      async () =>
        gitplane('serve', '--data-dir', join(scratchDir(), 'd'), '--listen', `127.0.0.1:${port}`),
      /Cannot listen on 127\.0\.0\.1:\d+: the port is in use; .*--listen/,
    ],
    [
      'an address that is not ours',
      async () =>
        gitplane('serve', '--data-dir', join(scratchDir(), 'd'), '--listen', '192.0.2.1:0'),
      /Cannot listen on 192\.0\.2\.1:0: .*--listen/,
    ],
    [
      'a file in place of the data directory',
      () => serve(MAIN),
      /main\.js.*(a file is in its place|not a directory).*|--data-dir/,
    ],
    [
      'a data directory below a file',
      () => serve(join(MAIN, 'data')),
      /a part of the path is not a directory.*--data-dir/,
    ],
    [
      'a seed that does not exist',
      async () => serve(join(scratchDir(), 'd'), '--seed', '/nowhere'),
      /Cannot seed from \/nowhere: it does not exist; check the path/,
    ],
    [
      'a branch name that git does not allow',
      () => serve(join(scratchDir(), 'd'), '--branch', 'a..b'),
      /"a\.\.b" is not a branch name/,
    ],
    [
      'a certificate that does not exist',
      async () => serve(join(scratchDir(), 'd'), '--tls-cert', '/no.crt', '--tls-key', '/no.key'),
      /Cannot read --tls-cert \/no\.crt: it does not exist; check the path/,
    ],
    [
      'a repository that is a file',
      async () =>
        serve(
          await harmed(async (dir) => {
            await rm(join(dir, 'repo.git'), { recursive: true });
            await garbage('repo.git')(dir);
          }),
        ),
      /repo\.git/,
    ],
    [
      'a state directory that is a file',
      async () =>
        serve(
          await harmed(async (dir) => {
            await rm(join(dir, 'state'), { recursive: true });
            await garbage('state')(dir);
          }),
        ),
      /state/,
    ],
    [
      'a state that is garbage',
      async () =>
        serve(
          await harmed((dir) => writeFile(join(dir, 'state/data.mdb'), 'garbage'.repeat(9999))),
        ),
      /state.*(delete|remove|move)/i,
    ],
    [
      'a state that was truncated to nothing',
      async () => serve(await harmed((dir) => truncate(join(dir, 'state/data.mdb')))),
      /state.*data\.mdb is empty; put a backup/,
    ],
    ['a corrupt state key', async () => serve(await harmed(garbage('state.key'))), /state\.key/],
    [
      'a corrupt admin token',
      async () => serve(await harmed(garbage('admin.token'))),
      /admin\.token/,
    ],
    [
      'an empty admin token',
      async () => serve(await harmed((dir) => truncate(join(dir, 'admin.token')))),
      /admin\.token/,
    ],
    [
      'a corrupt CA certificate',
      async () => serve(await harmed(garbage('tls/ca.crt'))),
      /tls\/ca\.crt/,
    ],
    [
      'a corrupt CA key',
      async () => serve(await harmed(garbage('tls/ca.key'))),
      /tls\/ca\.(key|crt)/,
    ],
    [
      'a corrupt signing key',
      async () => serve(await harmed(garbage('token-signing.key'))),
      /token-signing\.key/,
    ],
    [
      'a branch that is damaged',
      async () =>
        serve(
          await harmed(async (dir) => {
            await rm(join(dir, 'repo.git/packed-refs'), { force: true });
            await mkdir(join(dir, 'repo.git/refs/heads'), { recursive: true });
            await writeFile(join(dir, 'repo.git/refs/heads/main'), `${'1'.repeat(40)}\n`);
            await rm(join(dir, 'state'), { recursive: true });
          }),
        ),
      /repo\.git|main|1111111/,
    ],
  ])('names the remedy for %s', async (_title, start, message) => {
    const result = await start();
    expect({ code: result.code, words: words(result) }).toEqual({
      code: 1,
      words: [expect.stringMatching(message)],
    });
    expect(words(result)[0]).toMatch(/^gitplane: /);
    expect(result.stdout).toBe('');
  });

  test('lists every mistake of a seed beneath the line', async () => {
    const seed = scratchDir();
    await writeFile(join(seed, 'a.yaml'), 'kind: [\n');
    await writeFile(
      join(seed, 'b.yaml'),
      'apiVersion: management.gitplane.dev/v1\nkind: Tean\nmetadata:\n  name: x\n',
    );
    const dir = join(scratchDir(), 'd');
    const result = await serve(dir, '--seed', seed);
    expect(result.code).toBe(1);
    expect(words(result)).toEqual([
      `gitplane: Cannot seed from ${seed}:`,
      expect.stringMatching(/^ {2}a\.yaml:\d+:\d+: /),
      expect.stringMatching(/^ {2}b\.yaml:2:7: .*did you mean "Team"/),
    ]);
    const again = await startDaemon({ dataDir: dir });
    expect((await again.call('GET', '/readyz')).code).toBe(200);
    await again.stop();
  });

  test.skipIf(process.getuid?.() === 0)('names a data directory that is not writable', async () => {
    const dir = scratchDir();
    await chmod(dir, 0o500);
    const result = await serve(join(dir, 'data'));
    expect([result.code, words(result)]).toEqual([
      1,
      [expect.stringMatching(/permission denied; .*--data-dir/)],
    ]);
  });
});

describe('the daemon prints one line and exits with 2', () => {
  test.concurrent.each<[string, string[], RegExp]>([
    ['an unknown command', ['serv'], /Unknown command "serv": did you mean serve\?/],
    ['an unknown flag', ['serve', '--dta-dir', 'x'], /"--dta-dir": did you mean --data-dir\?/],
    ['an operand too many', ['serve', 'foo'], /Too many operands; usage: gitplane serve/],
    [
      'an address without a port',
      ['serve', '--listen', 'localhost'],
      /Cannot use --listen "localhost": write HOST:PORT/,
    ],
    [
      'a schedule that is not one',
      ['serve', '--maintenance-schedule', '0 25 * * 0'],
      /Cannot use --maintenance-schedule "0 25 \* \* 0": "25" is not an hour: write the five fields of cron .*, or off$/,
    ],
    ['half a certificate', ['serve', '--tls-cert', 'x'], /--tls-cert and --tls-key go together/],
    ['a folder outside the repository', ['serve', '--path', '../x'], /leaves the repository/],
  ])('names the usage error: %s', async (_title, args, message) => {
    const result = await gitplane(...args);
    expect({ code: result.code, words: words(result) }).toEqual({
      code: 2,
      words: [expect.stringMatching(message)],
    });
  });
});

test('the daemon whose directory others wanted is unharmed', async () => {
  const { items } = (
    await running.call('GET', '/kubernetes/management/apis/management.gitplane.dev/v1/teams')
  ).json();
  expect(items).toHaveLength(3);
});
