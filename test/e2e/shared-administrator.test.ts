/** Two daemons that follow one repository: there is one first administrator, and nobody loses its key. */
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';

const MESSAGE = 'No administrator key here';
let elsewhere: string;
let folders: string[];
const running = new Set<Daemon>();

async function git(args: readonly string[], cwd = elsewhere): Promise<string> {
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
  const { code, stdout, stderr } = await run('git', [...identity, ...args], { cwd });
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

/** Starts the daemon of a data directory, which may have an administrator's key or not. */
async function start(dataDir: string, token?: string): Promise<Daemon> {
  const args = ['--repo', elsewhere, '--fetch-interval', '200ms'];
  const daemon = await startDaemon({
    seed: undefined,
    args,
    dataDir,
    ...(token === undefined ? {} : { token }),
  });
  running.add(daemon);
  return daemon;
}

async function stop(...daemons: readonly Daemon[]): Promise<void> {
  for (const daemon of daemons) running.delete(daemon);
  await Promise.all(daemons.map((daemon) => daemon.stop()));
}

const code = async (daemon: Daemon, token: string): Promise<number> =>
  (await daemon.call('GET', `${API}/users`, { token })).code;

const hasToken = (dataDir: string): boolean => existsSync(join(dataDir, 'admin.token'));

const leftovers = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => name.startsWith('admin.token.'));

beforeEach(async () => {
  elsewhere = join(scratchDir(), 'platform.git');
  folders = ['a', 'b'].map((name) => join(scratchDir(), name));
  await git(['init', '-q', '--bare', '--template=', '-b', 'main', elsewhere], '/');
  const empty = await git(['hash-object', '-t', 'tree', '-w', '/dev/null']);
  await git(['update-ref', 'refs/heads/main', await git(['commit-tree', '-m', 'Begin', empty])]);
});

afterEach(() => stop(...running));

test.each([
  ['the first one', 0, 1],
  ['the second one', 1, 0],
])('the administrator of %s stays, through restarts of both', async (_which, i, j) => {
  const [first = '', second = ''] = [folders[i], folders[j]];
  const owner = await start(first);
  const { token } = owner;
  const guest = await start(second, token);
  const head = await git(['rev-parse', 'main']);
  await expect.poll(() => guest.output()).toContain(MESSAGE);
  await expect.poll(() => guest.output()).toContain('copy admin.token');
  expect([hasToken(first), hasToken(second)]).toEqual([true, false]);
  expect(await Promise.all([code(owner, token), code(guest, token)])).toEqual([200, 200]);
  await stop(owner, guest);
  const again = [await start(second, token), await start(first)];
  expect(again[1]?.token).toBe(token);
  expect(await Promise.all(again.map((daemon) => code(daemon, token)))).toEqual([200, 200]);
  expect(await git(['rev-parse', 'main'])).toBe(head);
  await stop(...again);
  // As the message says.
  cpSync(join(first, 'admin.token'), join(second, 'admin.token'));
  const copied = await start(second);
  expect(copied.output()).not.toContain(MESSAGE);
  expect(existsSync(join(second, 'kubeconfig'))).toBe(true);
  expect(await code(copied, copied.token)).toBe(200);
});

test('two that start at once agree on one administrator', async () => {
  // Neither can be waited for by its file: one of them never has it.
  const both = await Promise.all(folders.map((folder) => start(folder, 'none')));
  const owners = folders.filter(hasToken);
  expect(owners).toHaveLength(1);
  await stop(...both);
  const owner = await start(owners[0] ?? '');
  expect(await code(owner, owner.token)).toBe(200);
  expect((await git(['ls-tree', '-r', '--name-only', 'main'])).match(/ownedaccesskeys\//g)).toEqual(
    ['ownedaccesskeys/'],
  );
  expect(folders.flatMap(leftovers)).toEqual([]);
});

test('a lost file takes nothing from the other daemon, and the message leads to a new key', async () => {
  const [first = '', second = ''] = folders;
  const owner = await start(first);
  await stop(owner);
  rmSync(join(first, 'admin.token'));
  const without = await start(first, owner.token);
  await expect.poll(() => without.output()).toContain('remove the manifest of OwnedAccessKey');
  expect(await code(without, owner.token)).toBe(200);
  await stop(without);
  const clone = join(scratchDir(), 'clone');
  await git(['clone', '-q', elsewhere, clone], '/');
  await git(['rm', '-q', 'ownedaccesskeys/admin.yaml'], clone);
  await git(['commit', '-q', '-m', 'A lost key'], clone);
  await git(['push', '-q', 'origin', 'main'], clone);
  const made = await start(second);
  expect(await code(made, made.token)).toBe(200);
  expect(await code(made, owner.token)).toBe(401);
});

test('a key that was made before a crash is used, and not made a second time', async () => {
  const [first = ''] = folders;
  const owner = await start(first);
  const head = await git(['rev-parse', 'main']);
  await stop(owner);
  // As a crash leaves it between the commit and the file.
  rmSync(join(first, 'admin.token'));
  writeFileSync(join(first, 'admin.token.unconfirmed'), `${owner.token}\n`, { mode: 0o600 });
  const again = await start(first);
  expect(again.token).toBe(owner.token);
  expect(await code(again, again.token)).toBe(200);
  expect(await git(['rev-parse', 'main'])).toBe(head);
  expect(leftovers(first)).toEqual([]);
});
