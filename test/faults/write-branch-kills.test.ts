/**
 * A daemon that is killed between the push of a pending write and the flush of its state: after a restart
 * its files are its own, and those that a person pushed meanwhile are not.
 */
import { once } from 'node:events';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import {
  type Answer,
  API,
  type Daemon,
  EXAMPLE_PLATFORM,
  RBAC,
  run,
  scratchDir,
} from '../support/daemon.ts';
import { isAlive, killGroup, startFaultyDaemon } from '../support/faults/fault-daemon.ts';

const WRITES = 'gitplane/writes';
const GROUP = 'management.gitplane.dev';
const SECRETS = `${API}/namespaces/payments/sharedsecrets`;
const MERGE_PATCH = 'application/merge-patch+json';

const elsewhere = join(scratchDir(), 'platform.git');
const work = join(scratchDir(), 'work');
const dataDir = join(scratchDir(), 'data');
const control = join(scratchDir(), 'control');
const hook = join(elsewhere, 'hooks/pre-receive');
let daemon: Daemon;
/** Key of a user who may change some secrets, and cannot get every one. */
let tenant: string;

async function git(...args: string[]): Promise<string> {
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
  const { code, stdout, stderr } = await run('git', ['-C', work, ...identity, ...args], {});
  expect(code, `git ${args.join(' ')}: ${stderr}`).toBe(0);
  return stdout.trim();
}

async function start(...more: string[]): Promise<void> {
  const args = ['--repo', elsewhere, '--fetch-interval', '1h', ...more];
  daemon = await startFaultyDaemon({ dataDir, control, seed: undefined, args });
}

async function made(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

const secret = (name: string): object => ({
  metadata: { name },
  spec: { displayName: name, data: { token: 'YQ==' } },
});
const pathOf = (name: string): string => `namespaces/payments/sharedsecrets/${name}.yaml`;

/** Writes, and waits while the lock that a killed daemon left holds the branch. */
async function labelled(name: string, value: string): Promise<Answer> {
  const body = { metadata: { labels: { value } } };
  const of = { body, type: MERGE_PATCH, token: tenant };
  return await vi.waitUntil(
    async () => {
      const answer = await daemon.call('PATCH', `${SECRETS}/${name}`, of);
      return answer.code !== 503 && answer;
    },
    { timeout: LOCK_MS },
  );
}

const LOCK_MS = 60_000;

beforeAll(async () => {
  await run('git', ['init', '-q', '--bare', '--template=', '-b', 'main', elsewhere]);
  await run('git', ['clone', '-q', elsewhere, work]);
  await run('cp', ['-r', `${EXAMPLE_PLATFORM}/.`, work]);
  await git('checkout', '-q', '-b', 'main');
  await git('add', '-A');
  await git('commit', '-q', '-m', 'The platform');
  await git('push', '-q', 'origin', 'main');
  await start();
  const metadata = { name: 'tenant' };
  await made(`${API}/users`, { metadata, spec: {} });
  const key = await made(`${API}/ownedaccesskeys`, { metadata, spec: { user: 'tenant' } });
  tenant = key.json().spec.key;
  const verbs = ['get', 'create', 'update', 'patch', 'delete'];
  const rules = [{ apiGroups: [GROUP], resources: ['sharedsecrets'], verbs }];
  await made(`${RBAC}/namespaces/payments/roles`, { metadata, rules });
  const apiGroup = 'rbac.authorization.k8s.io';
  await made(`${RBAC}/namespaces/payments/rolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: 'tenant' },
    subjects: [{ apiGroup, kind: 'User', name: 'tenant' }],
  });
  await daemon.stop();
  await start('--write-branch', WRITES);
  await made(SECRETS, secret('mine'));
});
afterAll(() => {
  if (isAlive(daemon)) killGroup(daemon);
});
afterEach(() => rmSync(hook, { force: true }));

/** Kills the daemon when the remote has the push, and before anything here says so. */
async function killedAfterPush(write: () => Promise<unknown>): Promise<void> {
  const site = `rename repo.git/refs/heads/${WRITES}`;
  const kill = { site, nth: 1, when: 'before', group: true };
  writeFileSync(control, JSON.stringify({ kill }));
  await killedBy(write);
}

/** Kills the daemon while the remote refuses the push. */
async function killedBeforePush(write: () => Promise<unknown>): Promise<void> {
  mkdirSync(join(elsewhere, 'hooks'), { recursive: true });
  writeFileSync(hook, `#!/bin/sh\nkill -9 ${daemon.process.pid}\nexit 1\n`);
  chmodSync(hook, 0o755);
  await killedBy(write);
}

async function killedBy(write: () => Promise<unknown>): Promise<void> {
  const before = await tip();
  const ended = once(daemon.process, 'exit');
  await write().catch(() => undefined);
  await ended;
  killGroup(daemon);
  rmSync(control, { force: true });
  rmSync(hook, { force: true });
  await git('fetch', '-q', 'origin');
  pushed = (await tip()) !== before;
}

/** True if the remote has the write during which the daemon was killed. */
let pushed = false;

async function tip(): Promise<string> {
  await git('fetch', '-q', 'origin');
  return await git('rev-parse', `origin/${WRITES}`);
}

/** A person pushes this text of a file to the branch for writes, on top of a commit. */
async function push(on: string, path: string, text: string): Promise<void> {
  await git('checkout', '-q', '-B', 'work', on);
  writeFileSync(join(work, path), `${text}\n`);
  await git('add', '-A');
  await git('commit', '-q', '--allow-empty', '-m', 'A change');
  await git('push', '-q', '-f', 'origin', `HEAD:${WRITES}`);
}

const update = () => labelled('mine', `killed ${Math.random()}`.replaceAll(/\W/g, ''));
const again = () => start('--write-branch', WRITES);

test.each<[string, string, () => Promise<unknown>]>([
  ['an update', 'mine', update],
  ['a create', 'new', () => daemon.call('POST', SECRETS, { body: secret('new'), token: tenant })],
])('the file of %s is own after a kill behind its push', async (_, name, write) => {
  await killedAfterPush(write);
  expect(pushed).toBe(true);
  await again();
  const answer = await labelled(name, 'after');
  expect(answer.code, answer.text).toBe(200);
});

test('a file stays own after a kill before the push that would have changed it', async () => {
  await killedBeforePush(update);
  expect(pushed).toBe(false);
  await again();
  const answer = await labelled('mine', 'after-none');
  expect(answer.code, answer.text).toBe(200);
});

test('a delete that arrived before the kill leaves nothing own', async () => {
  await made(SECRETS, secret('gone'));
  const former = await git('show', `${await tip()}:${pathOf('gone')}`);
  await killedAfterPush(() => daemon.call('DELETE', `${SECRETS}/gone`, { token: tenant }));
  expect(pushed).toBe(true);
  await push(await tip(), pathOf('gone'), former);
  await again();
  const answer = await labelled('gone', 'resurrected');
  expect([answer.code, answer.text]).toEqual([403, expect.stringContaining('by others')]);
});

test.each(['its former version', 'another version'])(
  'a person who pushes %s of a file after the kill makes it foreign',
  async (which) => {
    const name = which.replaceAll(' ', '-');
    await made(SECRETS, secret(name));
    const former = await git('show', `${await tip()}:${pathOf(name)}`);
    await killedAfterPush(() => labelled(name, 'killed'));
    expect(pushed).toBe(true);
    const on = await tip();
    const newest = await git('show', `${on}:${pathOf(name)}`);
    await push(on, pathOf(name), which === 'its former version' ? former : `${newest}\n# More`);
    await again();
    const answer = await labelled(name, 'after');
    expect([answer.code, answer.text]).toEqual([403, expect.stringContaining('by others')]);
  },
);

test('a file that a person pushed before stays foreign when a write changes it', async () => {
  await made(SECRETS, secret('theirs'));
  const on = await tip();
  await push(on, pathOf('theirs'), `${await git('show', `${on}:${pathOf('theirs')}`)}\n# More`);
  // The daemon has seen the push.
  expect((await labelled('mine', 'beside')).code).toBe(200);
  const body = { metadata: { labels: { a: 'b' } } };
  const write = () => daemon.call('PATCH', `${SECRETS}/theirs`, { body, type: MERGE_PATCH });
  await killedAfterPush(write);
  expect(pushed).toBe(true);
  await again();
  const answer = await labelled('theirs', 'after');
  expect([answer.code, answer.text]).toEqual([403, expect.stringContaining('by others')]);
});

test('the write that a person removed from the branch after the kill is not own when it is pushed again', async () => {
  await made(SECRETS, secret('removed'));
  const before = await tip();
  await killedAfterPush(() => labelled('removed', 'killed'));
  const text = await git('show', `${await tip()}:${pathOf('removed')}`);
  await push(before, pathOf('removed'), text);
  await again();
  const answer = await labelled('removed', 'after');
  expect([answer.code, answer.text]).toEqual([403, expect.stringContaining('by others')]);
});
