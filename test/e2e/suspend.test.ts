/** `gitplane suspend` and `resume`: what stops, what tells of it, who may, and that it ends. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  API,
  type Daemon,
  EXAMPLE_PLATFORM,
  RBAC,
  type RunResult,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');
const STORE_TOKEN = 'store-token-5d2a';
const SECRETS = `${API}/namespaces/payments/sharedsecrets`;
const SOURCE = '/kubernetes/virtualcluster/blue/api/v1/namespaces/default';
const TARGET = '/kubernetes/cluster/local/api/v1/namespaces/vcluster-blue/endpoints';

function gitplane(daemon: Daemon, ...args: string[]): Promise<RunResult> {
  const env = { ...process.env, KUBECONFIG: join(daemon.dataDir, 'kubeconfig') };
  return run(process.execPath, [MAIN, ...args], { env });
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const names = { GIT_AUTHOR_NAME: 'Ann', GIT_AUTHOR_EMAIL: 'ann@example.com' };
  const committer = { GIT_COMMITTER_NAME: 'Ann', GIT_COMMITTER_EMAIL: 'ann@example.com' };
  const env = { ...process.env, ...names, ...committer };
  const { code, stderr } = await run('git', args, { cwd, env });
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
}

describe('suspend remote', () => {
  const remote = join(scratchDir(), 'platform.git');
  const work = join(scratchDir(), 'work');
  let daemon: Daemon;

  const start = (dataDir?: string): Promise<Daemon> =>
    startDaemon({
      seed: undefined,
      args: ['--repo', remote, '--fetch-interval', '200ms'],
      ...(dataDir === undefined ? {} : { dataDir }),
    });
  const displayName = async (): Promise<string> =>
    (await daemon.call('GET', `${API}/teams/payments`)).json().spec.displayName;

  async function push(name: string): Promise<void> {
    const file = join(work, 'teams/payments.yaml');
    const text = readFileSync(file, 'utf8').replace(/displayName: .*/, `displayName: ${name}`);
    writeFileSync(file, text);
    await git(work, 'pull', '-q', '--rebase', '--autostash', 'origin', 'main');
    await git(work, 'commit', '-qam', `Rename to ${name}`);
    await git(work, 'push', '-q', 'origin', 'HEAD:main');
  }

  beforeAll(async () => {
    await git('/', 'init', '-q', '--bare', '--template=', '-b', 'main', remote);
    await git('/', 'clone', '-q', remote, work);
    await run('cp', ['-r', `${EXAMPLE_PLATFORM}/.`, work]);
    await git(work, 'checkout', '-q', '-b', 'main');
    await git(work, 'add', '-A');
    await git(work, 'commit', '-qm', 'The platform');
    await git(work, 'push', '-q', 'origin', 'main');
    daemon = await start();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test('keeps the platform where it is: no fetch, no webhook, no write', async () => {
    const suspended = await gitplane(
      ...([
        daemon,
        'suspend',
        'remote',
        '--reason',
        'release 4 is examined',
        '--for',
        '2h',
      ] as const),
    );
    expect([suspended.code, suspended.stdout]).toEqual([
      0,
      expect.stringMatching(/^remote is suspended until 20\S+Z\n$/),
    ]);
    const before = await displayName();
    await push('Later');

    const secret = readFileSync(join(daemon.dataDir, 'hook.secret'), 'utf8').trim();
    expect((await daemon.call('POST', `/hooks/${secret}`, { token: null })).code).toBe(202);
    const sync = await daemon.call('POST', '/sync');
    expect([sync.code, sync.json().message]).toEqual([
      503,
      expect.stringContaining('suspended by admin until'),
    ]);
    const body = { metadata: { name: 'written' }, spec: {} };
    const write = await daemon.call('POST', `${API}/teams`, { body });
    expect([write.code, write.json().message]).toEqual([
      503,
      expect.stringContaining('gitplane resume remote'),
    ]);
    // kubectl repeats a request with this header ten times, and shows nothing meanwhile.
    expect(write.headers).not.toHaveProperty('retry-after');
    expect(await displayName()).toBe(before);
  });

  test('is shown by status, the metric, the events and the list', async () => {
    const { code, stdout } = await gitplane(daemon, 'status');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^suspended +remote until \S+ by admin: release 4 is examined$/m),
    ]);
    const metrics = (await daemon.call('GET', '/metrics')).text;
    expect(metrics).toContain('gitplane_suspended{part="remote"} 1');
    expect(metrics).toContain('gitplane_suspended{part="tenants"} 0');
    expect((await daemon.call('GET', '/readyz')).code).toBe(200);
    const events = await daemon.kubectl(['get', 'events', '-A']);
    expect(events.stdout).toMatch(/Warning +Suspended +config\S* +remote is suspended by admin/);
    expect((await daemon.call('GET', '/suspensions')).json().items).toMatchObject([
      { target: 'remote', user: 'admin', reason: 'release 4 is examined' },
    ]);
  });

  test('outlives a restart', async () => {
    const { dataDir } = daemon;
    const before = await displayName();
    expect(await daemon.stop()).toBe(0);
    daemon = await start(dataDir);
    expect(await displayName()).toBe(before);
    expect((await gitplane(daemon, 'status')).stdout).toContain('release 4 is examined');
    expect((await daemon.call('POST', '/sync')).code).toBe(503);
  });

  test('ends with resume, and what came meanwhile arrives', async () => {
    const resumed = await gitplane(daemon, 'resume', 'remote');
    expect([resumed.code, resumed.stdout]).toEqual([0, 'remote runs again\n']);
    await expect.poll(displayName).toBe('Later');
    const body = { metadata: { name: 'written' }, spec: {} };
    const write = await daemon.call('POST', `${API}/teams`, { body });
    expect(write.code, write.text).toBe(201);
    const again = await gitplane(daemon, 'resume', 'remote');
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining('remote is not suspended'),
    ]);
  });

  test('ends by itself', async () => {
    const args = ['suspend', 'remote', '--reason', 'a moment', '--for', '2s'];
    expect((await gitplane(daemon, ...args)).code).toBe(0);
    await push('After the moment');
    await expect.poll(displayName).toBe('After the moment');
    expect((await daemon.call('GET', '/suspensions')).json().items).toEqual([]);
  });
});

describe('suspend syncs', () => {
  let store: KvServer;
  let daemon: Daemon;

  beforeAll(async () => {
    store = await startKvServer();
    store.store.mount('secret/').put('platform/mail', { password: 'one' });
    store.store.token(STORE_TOKEN);
    daemon = await startDaemon({ env: { STORE_TOKEN } });
    const auth = { token: '$STORE_TOKEN' };
    const secretStore = { enabled: true, address: store.address, auth, syncInterval: '1h' };
    const body = { spec: { raw: JSON.stringify({ secretStore }) } };
    const type = 'application/merge-patch+json';
    await ok('PATCH', `${API}/config/platform`, body, type);
    const annotations = {
      'gitplane.dev/secret-store-kv-mount-path': 'secret',
      'gitplane.dev/secret-store-kv-secret-path': 'platform/mail',
    };
    const metadata = { name: 'mail', annotations };
    await ok('POST', SECRETS, { metadata, spec: { displayName: 'mail' } });
    await ok('POST', '/secret-store/sync?wait=true');
    expect(await password()).toBe('one');
    const clone = await daemon.clone();
    for (const name of ['blue', 'green']) {
      await mkdir(join(clone, 'tenants', name), { recursive: true });
      writeFileSync(join(clone, 'tenants', name, 'vcluster.yaml'), '{}\n');
    }
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-qm', 'A tenant'], clone);
    const pushed = await daemon.git(['push', '-q'], clone);
    expect(pushed.code, pushed.stderr).toBe(0);
  });
  afterAll(async () => {
    await daemon?.stop();
    await store?.close();
  });

  async function ok(method: string, path: string, body?: object, type?: string): Promise<void> {
    const answer = await daemon.call(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(type === undefined ? {} : { type }),
    });
    expect(answer.code, answer.text).toBeLessThan(300);
  }

  async function password(): Promise<string> {
    const { spec } = (await daemon.call('GET', `${SECRETS}/mail`)).json();
    return Buffer.from(spec.data?.password ?? '', 'base64').toString();
  }

  async function give(name: string): Promise<void> {
    const ports = [{ port: 80 }];
    await ok('POST', `${SOURCE}/services`, { metadata: { name }, spec: { ports } });
    const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports }];
    await ok('POST', `${SOURCE}/endpoints`, { metadata: { name }, subsets });
  }

  const synced = async (): Promise<string[]> =>
    (await daemon.call('GET', TARGET))
      .json()
      .items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  const stateOf = async (): Promise<object> =>
    (await daemon.call('GET', `${API}/tenants/blue`)).json().status?.sync;

  test('the secret store: nothing is read or written until resume', async () => {
    const args = ['suspend', 'secret-store', '--reason', 'the store is moved'];
    expect((await gitplane(daemon, ...args)).code).toBe(0);
    store.store.mounts.get('')?.get('secret/')?.put('platform/mail', { password: 'two' });
    const requests = store.seen.length;
    const sync = await gitplane(daemon, 'secrets', 'sync', '--now', '--wait');
    expect([sync.code, sync.stdout]).toEqual([1, expect.stringContaining('the store is moved')]);
    expect(await password()).toBe('one');
    expect(store.seen.length).toBe(requests);
    const { status } = (await daemon.call('GET', `${SECRETS}/mail`)).json();
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Stale', status: 'True', reason: 'Suspended' }),
    );
    expect((await gitplane(daemon, 'resume', 'secret-store')).code).toBe(0);
    await expect.poll(password).toBe('two');
  });

  test('one tenant: its objects stay as they are until resume', async () => {
    await give('first');
    await expect.poll(synced).toHaveLength(1);
    const args = ['suspend', 'tenants', 'blue', '--reason', 'its cluster is upgraded'];
    expect((await gitplane(daemon, ...args)).code).toBe(0);
    await expect.poll(stateOf).toMatchObject({ state: 'Suspended' });
    await give('second');
    const events = await daemon.kubectl(['get', 'events', '-A']);
    expect(events.stdout).toMatch(/Suspended +tenant/);
    expect(await synced()).toHaveLength(1);
    expect((await gitplane(daemon, 'resume', 'tenants', 'blue')).code).toBe(0);
    await expect.poll(synced).toHaveLength(2);
    await expect.poll(stateOf).toMatchObject({ state: 'Synced' });
  });

  test('a removed tenant: its objects go after resume', async () => {
    const args = ['suspend', 'tenants', '--reason', 'all of them'];
    expect((await gitplane(daemon, ...args)).code).toBe(0);
    const clone = await daemon.clone();
    await daemon.git(['rm', '-rq', 'tenants/blue'], clone);
    await daemon.git(['commit', '-qm', 'No tenant'], clone);
    expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
    expect(await synced()).toHaveLength(2);
    expect((await gitplane(daemon, 'resume', 'tenants')).code).toBe(0);
    await expect.poll(synced).toHaveLength(0);
  });

  test('takes the right on the path of what is suspended', async () => {
    const rules = [{ nonResourceURLs: ['/suspensions/tenants/*'], verbs: ['post', 'delete'] }];
    await ok('POST', `${RBAC}/clusterroles`, { metadata: { name: 'suspender' }, rules });
    await ok('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name: 'suspender' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'suspender' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
    });
    const made = await daemon.call('POST', `${API}/ownedaccesskeys`, {
      body: { spec: { user: 'ada', ttl: 600 } },
    });
    const token = made.json().spec.key;
    const body = { reason: 'Ada asks' };
    const codeOf = async (method: string, path: string): Promise<number> =>
      (await daemon.call(method, path, { token, ...(method === 'POST' ? { body } : {}) })).code;
    // The tenant is gone: the right is there, and there is nothing to suspend.
    expect(await codeOf('POST', '/suspensions/tenants/blue')).toBe(400);
    expect(await codeOf('DELETE', '/suspensions/tenants/blue')).toBe(404);
    expect(await codeOf('POST', '/suspensions/tenants')).toBe(403);
    expect(await codeOf('POST', '/suspensions/secret-store')).toBe(403);
    expect(await codeOf('GET', '/suspensions')).toBe(403);
    const summary = (await daemon.call('GET', '/summary', { token })).json();
    expect(summary.suspensions).toBeUndefined();
    expect(summary.withheld).toContainEqual(
      expect.objectContaining({ section: 'suspensions', path: '/suspensions' }),
    );
  });

  test.each<[string, string, object, number]>([
    ['a reason with control characters', 'tenants', { reason: 'x\u001b[2J' }, 400],
    ['a remote of a hosted repository', 'remote', { reason: 'x' }, 400],
    ['an unknown part', 'everything', { reason: 'x' }, 404],
    ['a name for the remote', 'remote/x', { reason: 'x' }, 404],
    ['an unknown store', 'secret-store/none', { reason: 'x' }, 400],
    ['no reason', 'tenants', {}, 400],
    ['a long reason', 'tenants', { reason: 'x'.repeat(2000) }, 400],
    ['no duration', 'tenants', { reason: 'x', for: 'long' }, 400],
    ['a year', 'tenants', { reason: 'x', for: '8760h' }, 400],
    ['time that is over', 'tenants', { reason: 'x', for: '-1h' }, 400],
  ])('refuses %s', async (_title, target, body, code) => {
    const answer = await daemon.call('POST', `/suspensions/${target}`, { body });
    expect(answer.code, answer.text).toBe(code);
    expect((await daemon.call('GET', '/suspensions')).json().items).toEqual([]);
  });

  test.each<[string, string[], RegExp]>([
    ['without a part', ['suspend'], /use remote, secret-store or tenants/],
    ['without a reason', ['suspend', 'tenants'], /--reason is missing/],
    [
      'of something else',
      ['suspend', 'all', '--reason', 'x'],
      /use remote, secret-store or tenants/,
    ],
  ])('a command %s is an error of usage', async (_title, args, message) => {
    const { code, stderr } = await gitplane(daemon, ...args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});
