/** Work of a leader besides serving requests goes on under the next one. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type Answer, API, type CallOptions, RBAC } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';
import { PASSWORD, passwordHash } from './passwords.ts';

const TOKEN = 'store-token-71c0';
const MAIL = `${API}/namespaces/default/sharedsecrets/mail`;
const SOURCE = '/kubernetes/virtualcluster/blue/api/v1/namespaces/default';
const TARGET = '/kubernetes/cluster/local/api/v1/namespaces/vcluster-blue/endpoints';
const LEASES = '/kubernetes/management/apis/coordination.k8s.io/v1/namespaces/default/leases';
const LONG = { timeout: 30_000, interval: 50 };

const title = ETCD_MISSING === undefined ? 'a takeover' : `a takeover (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;
  let store: KvServer;

  beforeAll(async () => {
    store = await startKvServer();
    store.store.mount('secret/').put('app/mail', { password: 'one' });
    store.store.token(TOKEN);
    const env = { STORE_TOKEN: TOKEN };
    const args = ['--leader-lease', '2'];
    set = await startReplicas({ replicas: 2, members: 1, seed: undefined, env, args });
  });

  afterAll(async () => {
    await set?.stop();
    await store?.close();
  });

  /** Of whichever replica runs; what is there already is well. */
  async function ok(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const replica = set.replicas.find(({ isRunning }) => isRunning);
    const answer = await replica?.daemon.call(method, path, { token: set.token, ...options });
    if (answer === undefined || (answer.code >= 300 && answer.code !== 409)) {
      throw new Error(`${method} ${path}: ${answer?.code} ${answer?.text}\n${set.output()}`);
    }
    return answer;
  }

  async function pushTenant(): Promise<void> {
    const { daemon } = await set.elected();
    const clone = await daemon.clone();
    await mkdir(join(clone, 'tenants/blue'), { recursive: true });
    await writeFile(join(clone, 'tenants/blue/vcluster.yaml'), '{}\n');
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-qm', 'A tenant'], clone);
    const { code, stderr } = await daemon.git(['push'], clone);
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  }

  async function give(name: string): Promise<void> {
    const ports = [{ port: 80 }];
    await ok('POST', `${SOURCE}/services`, { body: { metadata: { name }, spec: { ports } } });
    const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports }];
    await ok('POST', `${SOURCE}/endpoints`, { body: { metadata: { name }, subsets } });
  }

  async function given(name: string): Promise<boolean> {
    return await give(name).then(
      () => true,
      () => false,
    );
  }

  async function isSynced(name: string): Promise<boolean> {
    const { items } = (await ok('GET', TARGET)).json();
    return items.some(({ metadata }: { metadata: { name: string } }) =>
      metadata.name.startsWith(`${name}-x-`),
    );
  }

  async function password(): Promise<string | undefined> {
    return (await ok('GET', MAIL)).json().spec?.data?.password;
  }

  test('ends no login, no lease, no sync of a tenant and none with the secret store', async () => {
    const secretStore = { enabled: true, address: store.address, syncInterval: '10s' };
    const raw = stringify({ secretStore: { ...secretStore, auth: { token: '$STORE_TOKEN' } } });
    await ok('POST', `${API}/config`, { body: { metadata: { name: 'main' }, spec: { raw } } });
    const metadata = { name: 'grace' };
    await ok('POST', `${API}/users`, {
      body: { metadata, spec: { passwordHash: passwordHash(PASSWORD) } },
    });
    const rules = [
      { apiGroups: ['management.gitplane.dev'], resources: ['teams'], verbs: ['list'] },
    ];
    await ok('POST', `${RBAC}/clusterroles`, { body: { metadata, rules } });
    const apiGroup = 'rbac.authorization.k8s.io';
    const roleRef = { apiGroup, kind: 'ClusterRole', name: 'grace' };
    const subjects = [{ apiGroup, kind: 'User', name: 'grace' }];
    await ok('POST', `${RBAC}/clusterrolebindings`, { body: { metadata, roleRef, subjects } });
    const login = await ok('POST', '/auth/password/login', {
      token: null,
      body: { username: 'grace', password: PASSWORD },
    });
    const key = login.json().accessKey as string;
    await pushTenant();
    await expect.poll(() => given('before'), LONG).toBe(true);
    await expect.poll(() => isSynced('before'), LONG).toBe(true);
    const annotations = {
      'gitplane.dev/secret-store-kv-mount-path': 'secret',
      'gitplane.dev/secret-store-kv-secret-path': 'app/mail',
    };
    await ok('POST', MAIL.replace('/mail', ''), {
      body: { metadata: { name: 'mail', annotations }, spec: {} },
    });
    await expect.poll(password, LONG).toBe(btoa('one'));
    const spec = { holderIdentity: 'one' };
    await ok('POST', LEASES, { body: { metadata: { name: 'lead' }, spec } });
    const lease = (await ok('GET', `${LEASES}/lead`)).json();

    const leader = await set.elected();
    const other = set.replicas.find((replica) => replica !== leader);
    const suspension = { body: { reason: 'its cluster is upgraded' }, token: set.token };
    // Any replica takes it, and the next leader knows it.
    const asked = await other?.daemon.call('POST', '/suspensions/tenants/blue', suspension);
    expect(asked?.code, asked?.text).toBe(201);

    await leader.stop('SIGKILL');
    store.store.mounts.get('')?.get('secret/')?.put('app/mail', { password: 'two' });
    // Until a replica leads, clients are told to try again.
    await expect.poll(() => given('after'), LONG).toBe(true);

    expect((await ok('GET', `${API}/teams`, { token: key })).code).toBe(200);
    expect((await ok('GET', `${LEASES}/lead`)).json()).toEqual(lease);
    const renewed = { ...lease, spec: { ...spec, renewTime: '2026-11-22T08:00:00.000001Z' } };
    expect((await ok('PUT', `${LEASES}/lead`, { body: renewed })).code).toBe(200);
    const late = async (): Promise<number> => {
      const running = set.replicas.find(({ isRunning }) => isRunning);
      const asked = { token: set.token, body: lease };
      return (await running?.daemon.call('PUT', `${LEASES}/lead`, asked))?.code ?? 0;
    };
    expect(await late()).toBe(409);
    expect((await ok('GET', '/suspensions')).json().items).toMatchObject([
      { target: 'tenants/blue', reason: 'its cluster is upgraded' },
    ]);
    expect(await isSynced('after')).toBe(false);
    await ok('DELETE', '/suspensions/tenants/blue');
    await expect.poll(() => isSynced('after'), LONG).toBe(true);
    expect(await isSynced('before')).toBe(true);
    await expect.poll(password, LONG).toBe(btoa('two'));
  });
});
