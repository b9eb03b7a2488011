/** The daemon beside a secret store, as its administrator and its users see it. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';

const ROOT = '/kubernetes/management';
const TOKEN = 'store-token-71c0';
const VALUE = 'value-of-the-store-5e1f';
const SECRETS = `${API}/namespaces/payments/sharedsecrets`;
const run = promisify(execFile);

let store: KvServer;
let daemon: Daemon;

beforeAll(async () => {
  store = await startKvServer();
  store.store.mount('secret/').put('platform/mail', { password: VALUE });
  store.store.token(TOKEN);
  daemon = await startDaemon({ env: { STORE_TOKEN: TOKEN } });
  const { address } = store;
  const auth = { token: '$STORE_TOKEN' };
  const raw = JSON.stringify({ secretStore: { enabled: true, address, auth, syncInterval: '1h' } });
  const configs = await daemon.call('GET', `${API}/config`);
  for (const { metadata } of configs.json().items) {
    await daemon.call('DELETE', `${API}/config/${metadata.name}`);
  }
  await daemon.call('POST', `${API}/config`, {
    body: { metadata: { name: 'main' }, spec: { raw } },
  });
});
afterAll(async () => {
  await daemon.stop();
  await store.close();
});

function tied(name: string, path: string): object {
  const annotations = {
    'gitplane.dev/secret-store-kv-mount-path': 'secret',
    'gitplane.dev/secret-store-kv-secret-path': path,
  };
  return { metadata: { name, annotations }, spec: { displayName: name } };
}

/** Not in this thread: the store has to answer meanwhile. */
async function gitplane(...args: string[]): Promise<{ code: number; text: string }> {
  const env = { ...process.env, KUBECONFIG: join(daemon.dataDir, 'kubeconfig') };
  const ended = run(process.execPath, ['dist/main.js', ...args], { env });
  return await ended.then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      text: error.stdout + error.stderr,
    }),
  );
}

test('a secret that is tied has the values of the store when a cycle is over', async () => {
  expect((await daemon.call('POST', SECRETS, { body: tied('mail', 'platform/mail') })).code).toBe(
    201,
  );

  const { code, text } = await gitplane('secrets', 'sync', '--now', '--wait');
  expect([code, text]).toEqual([0, `secret store available (${store.address})\n1 synced\n`]);
  const found = (await daemon.call('GET', `${SECRETS}/mail`)).json();
  expect(found.spec.data).toEqual({ password: Buffer.from(VALUE).toString('base64') });
  expect(found.status.conditions).toMatchObject([
    { type: 'Synced', status: 'True' },
    { type: 'Ready', status: 'True' },
  ]);
  expect((await gitplane('secrets', 'sync')).text).toContain('1 synced');
  expect((await gitplane('secrets', 'sync', '--wait')).code).toBe(2);
});

test('kubectl describes the events', async () => {
  const { stdout } = await daemon.kubectl(['-n', 'payments', 'describe', 'sharedsecret', 'mail']);

  expect(stdout).toMatch(/Normal +Pulled .*Pulled 1 keys from secret\/platform\/mail/);
  expect((await daemon.kubectl(['-n', 'storefront', 'get', 'events'])).stdout).toBe('');
});

test('a secret that needs a decision makes the command fail and say why', async () => {
  await daemon.call('POST', SECRETS, { body: tied('lost', 'platform/nowhere') });
  store.store.mounts.get('')?.get('secret/')?.put('platform/nowhere', { a: 'x' });
  await daemon.call('PATCH', `${SECRETS}/lost`, {
    type: 'application/merge-patch+json',
    body: { spec: { data: { a: 'eQ==' } } },
  });
  const { code, text } = await gitplane('secrets', 'sync', '--now', '--wait');

  expect(code).toBe(1);
  expect(text).toMatch(/^held: SharedSecret payments\/lost: AdoptionConflict: .*store@1/m);
  await daemon.call('DELETE', `${SECRETS}/lost`);
});

test('the right to write secrets does not tie them to all that the daemon can read', async () => {
  const rule = { verbs: ['*'], apiGroups: ['management.gitplane.dev'], resources: ['*'] };
  const role = { metadata: { name: 'writer' }, rules: [rule] };
  await daemon.call('POST', `${RBAC}/clusterroles`, { body: role });
  await daemon.call('POST', `${RBAC}/clusterrolebindings`, {
    body: {
      metadata: { name: 'writer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'writer' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ada' }],
    },
  });
  const key = await gitplane('keys', 'create', 'ada-writes', '--user', 'ada');
  const token = key.text.trim();

  const refused = await daemon.call('POST', SECRETS, {
    body: tied('stolen', 'platform/mail'),
    token,
  });
  expect([refused.code, refused.json().message]).toEqual([
    403,
    expect.stringContaining('cannot get path "/secret-store/paths/secret/platform/mail"'),
  ]);
  expect((await daemon.call('GET', `${ROOT}/secret-store`, { token })).code).toBe(403);
  expect((await daemon.call('POST', `${ROOT}/secret-store/sync`, { token })).code).toBe(403);
  const plain = { metadata: { name: 'plain' }, spec: { data: {} } };
  expect((await daemon.call('POST', SECRETS, { body: plain, token })).code).toBe(201);
});

test('metrics count the work of the sync', async () => {
  const { text } = await daemon.call('GET', '/metrics');

  expect(text).toMatch(/^gitplane_secret_sync_objects\{store="default",state="synced"\} 1$/m);
  expect(text).toMatch(/^gitplane_secret_sync_store_available\{store="default"\} 1$/m);
  expect(text).toMatch(/^gitplane_secret_sync_keys_total\{store="default",direction="pull"\} 1$/m);
});

test('a whole path becomes sealed objects, and exceptions are reported', async () => {
  const mount = store.store.mounts.get('')?.get('secret/');
  mount?.put('team/db/main', { password: VALUE });
  mount?.put('team/taken', { password: VALUE });
  const taken = { metadata: { name: 'taken' }, spec: { data: {} } };
  const inTeam = `${API}/namespaces/team-a/sharedsecrets`;
  await daemon.call('POST', inTeam, { body: taken });
  const pulls = [{ name: 'team', mount: 'secret', path: 'team', namespace: 'team-a' }];
  const auth = { token: '$STORE_TOKEN' };
  const secretStore = { enabled: true, address: store.address, auth, syncInterval: '1h', pulls };
  await daemon.call('PATCH', `${API}/config/main`, {
    type: 'application/merge-patch+json',
    body: { spec: { raw: JSON.stringify({ secretStore }) } },
  });
  const { code, text } = await gitplane('secrets', 'sync', '--now', '--wait');

  expect(code).toBe(1);
  expect(text).toContain('pull team of secret/team into team-a: 1 tied, 1 refused\n');
  expect(text).toContain('refused: NameTaken: "team/taken": SharedSecret "team-a/taken" is there');
  const found = (await daemon.call('GET', `${inTeam}/db-main`)).json();
  expect(found.spec.data).toEqual({ password: Buffer.from(VALUE).toString('base64') });
  await vi.waitFor(async () => {
    const { status } = (await daemon.call('GET', `${API}/config/main`)).json();
    expect(status.conditions).toMatchObject([
      { type: 'SecretsPulled', status: 'False', reason: 'SecretsLeftOut' },
      { type: 'Ready', status: 'False', reason: 'SecretsLeftOut' },
    ]);
  });
  const file = 'main:namespaces/team-a/sharedsecrets/db-main.yaml';
  const inGit = execFileSync('git', [
    '-C',
    join(daemon.dataDir, 'repo.git'),
    'show',
    file,
  ]).toString();
  expect(inGit).toContain('secret-store-kv-secret-path: team/db/main');
  expect(inGit).toContain('ENC[');
  expect(inGit).not.toContain(Buffer.from(VALUE).toString('base64'));
});

test('a store of a name is one line more, and a name that there is not warns its writer', async () => {
  const eu = await startKvServer();
  onTestFinished(() => eu.close());
  eu.store.mount('secret/').put('platform/mail', { password: VALUE });
  const of = ({ address }: KvServer): object => ({
    ...{ enabled: true, address, auth: { token: 'root' }, syncInterval: '1h' },
  });
  const raw = JSON.stringify({ secretStore: of(store), secretStores: [{ name: 'eu', ...of(eu) }] });
  await daemon.call('PATCH', `${API}/config/main`, {
    type: 'application/merge-patch+json',
    body: { spec: { raw } },
  });
  const inStore = (name: string): object => {
    const object = tied(`mail-${name}`, 'platform/mail') as {
      metadata: { annotations: Record<string, string> };
    };
    object.metadata.annotations['gitplane.dev/secret-store'] = name;
    return object;
  };
  expect((await daemon.call('POST', SECRETS, { body: inStore('eu') })).headers['warning']).toBe(
    undefined,
  );
  const strange = await daemon.call('POST', SECRETS, { body: inStore('us') });
  expect([strange.code, strange.headers['warning']]).toEqual([
    201,
    expect.stringContaining('there is no secret store \\"us\\" in the configuration'),
  ]);
  const { code, text } = await gitplane('secrets', 'sync', '--now', '--wait', '--store', 'eu');

  expect(code).toBe(1);
  expect(text).toContain(`secret store default available (${store.address})\n`);
  expect(text).toContain(`secret store eu available (${eu.address})\n`);
  expect(text).toMatch(/^failed: SharedSecret payments\/mail-us: StoreMissing: /m);
  const found = (await daemon.call('GET', `${SECRETS}/mail-eu`)).json();
  expect(found.spec.data).toEqual({ password: Buffer.from(VALUE).toString('base64') });
  const unknown = await gitplane('secrets', 'sync', '--now', '--store', 'us');
  expect([unknown.code, unknown.text]).toEqual([
    1,
    expect.stringContaining('no secret store "us"'),
  ]);
});

test('the next daemon goes on, and nothing of the store is on the disk or in the log', async () => {
  const { dataDir } = daemon;
  const first = daemon.output();
  expect(await daemon.stop()).toBe(0);
  store.store.mounts
    .get('')
    ?.get('secret/')
    ?.put('platform/mail', { password: `${VALUE}-2` });
  daemon = await startDaemon({ dataDir, env: { STORE_TOKEN: TOKEN } });
  const wanted = Buffer.from(`${VALUE}-2`).toString('base64');
  await vi.waitFor(async () => {
    const found = (await daemon.call('GET', `${SECRETS}/mail`)).json();
    expect(found.spec.data).toEqual({ password: wanted });
  }, 20_000);
  expect(await daemon.stop()).toBe(0);

  for (const secret of [TOKEN, VALUE, Buffer.from(VALUE).toString('base64').slice(0, 20)]) {
    expect(first).not.toContain(secret);
    expect(daemon.output()).not.toContain(secret);
    expect(filesWith(dataDir, secret)).toEqual([]);
  }
});

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));
}
