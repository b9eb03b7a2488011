/**
 * Cluster roles of teams in a real cluster of Kubernetes: its RBAC judges the kubeconfig that writes
 * the bindings, and the members who come with endpoint tokens. Built by `npm run kubernetes`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { KubeClient, ResourceCollection } from '../../src/kubernetes-client/kube-client.ts';
import { API, type Daemon, RBAC, scratchDir, startDaemon } from '../support/daemon.ts';
import { foreignCommit, git } from '../support/git.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';
import { clientWith, kubeconfigOf } from '../support/kube-apiserver/token-access.ts';
import { freePort } from '../support/machine.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): no role was bound', () => {});
}

vi.setConfig({ hookTimeout: 180_000, testTimeout: 120_000 });

const WAIT = { timeout: 60_000, interval: 100 };
const ROOT_TOKEN = 'root-token';
const SYNC_TOKEN = 'sync-token';
const GROUP = 'rbac.authorization.k8s.io';
const BINDINGS: ResourceCollection = { group: GROUP, plural: 'clusterrolebindings' };
const ROLES: ResourceCollection = { group: GROUP, plural: 'clusterroles' };
const MADE = 'gitplane:clusterrole:team:pilots:edit';
const SUBJECTS = [{ apiGroup: GROUP, kind: 'Group', name: 'gitplane:gitplane:team:pilots' }];
/** Rights of the kubeconfig, as docs/tenants.md lists them. */
const NEEDED = [
  {
    apiGroups: [GROUP],
    resources: ['clusterrolebindings'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
  },
  { apiGroups: [GROUP], resources: ['clusterroles'], verbs: ['bind'] },
];

let daemon: Daemon;
let cluster: ApiServer;
let root: KubeClient;
let member: string;

async function put(
  path: string,
  body: object,
  method = 'POST',
): Promise<ReturnType<JSON['parse']>> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await daemon.call(method, path, { body, type });
  expect(answer.code, answer.text).toBeLessThan(300);
  return answer.json();
}

async function assign(...names: readonly string[]): Promise<void> {
  const clusterRoles = names.map((name) => ({ name }));
  await put(`${API}/teams/pilots`, { spec: { clusterRoles } }, 'PATCH');
}

async function bindings(): Promise<string[]> {
  const { items } = await root.list({ ...BINDINGS, labelSelector: 'gitplane.dev/managed-by' });
  return items.map(({ metadata }) => metadata.name ?? '').sort();
}

async function binding(): Promise<KubeObject | undefined> {
  return await root.get({ ...BINDINGS, name: MADE }).catch(() => undefined);
}

async function condition(): Promise<{ reason: string; message: string } | undefined> {
  const { status } = (await daemon.call('GET', `${API}/tenants/blue`)).json();
  return status?.conditions?.find(({ type }: { type: string }) => type === 'ClusterRoles');
}

/** Makes a ClusterRole, or gives it other rules. */
async function role(name: string, rules: readonly object[]): Promise<void> {
  const there = await root.get({ ...ROLES, name }).catch(() => undefined);
  const object = { metadata: { name }, rules } as unknown as KubeObject;
  if (there === undefined) await root.create(ROLES, object);
  else await root.update({ ...ROLES, name }, { ...there, rules: rules as never });
}

/** Whether the member may list ConfigMaps of the cluster. */
async function mayList(): Promise<string> {
  const client = clientWith(cluster, member);
  try {
    await client.list({ plural: 'configmaps', namespace: 'default' });
    return 'yes';
  } catch (error) {
    return (error as { reason: string }).reason;
  } finally {
    client.close();
  }
}

async function pushTenant(name: string, text: string): Promise<void> {
  const clone = await daemon.clone();
  mkdirSync(join(clone, 'tenants', name), { recursive: true });
  writeFileSync(join(clone, 'tenants', name, 'vcluster.yaml'), text);
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenant'], clone);
  const { code, stderr } = await daemon.git(['push'], clone);
  expect(code, stderr).toBe(0);
}

async function startCluster(issuer: string): Promise<ApiServer> {
  const tokens = join(scratchDir(), 'tokens.csv');
  writeFileSync(tokens, `${ROOT_TOKEN},root,root,system:masters\n${SYNC_TOKEN},sync,sync\n`);
  return await startApiServer(
    [
      `--token-auth-file=${tokens}`,
      `--oidc-issuer-url=${issuer}`,
      '--oidc-client-id=gitplane:cluster:blue',
      `--oidc-ca-file=${join(daemon.dataDir, 'tls/ca.crt')}`,
      '--oidc-username-claim=sub',
      '--oidc-username-prefix=gitplane:',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=gitplane:',
      '--oidc-signing-algs=ES256',
    ],
    { authorization: 'RBAC' },
  );
}

describe.skipIf(!hasApiServer)('kube-apiserver', () => {
  beforeAll(async () => {
    const port = await freePort();
    const issuer = `https://127.0.0.1:${port}`;
    const args = ['--listen', `127.0.0.1:${port}`, '--public-url', issuer];
    daemon = await startDaemon({ args, seed: undefined });
    cluster = await startCluster(issuer);
    root = clientWith(cluster, ROOT_TOKEN);
    // The roles that every cluster has are made after it serves.
    await vi.waitFor(async () => await root.get({ ...ROLES, name: 'edit' }), WAIT);
    // No controller manager is there to gather its rules.
    await role('edit', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]);
    await role('sync', NEEDED);
    await root.create(BINDINGS, {
      metadata: { name: 'sync' },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'sync' },
      subjects: [{ apiGroup: GROUP, kind: 'User', name: 'sync' }],
    } as unknown as KubeObject);
    mkdirSync(join(daemon.dataDir, 'kubeconfigs'), { recursive: true });
    writeFileSync(join(daemon.dataDir, 'kubeconfigs/blue'), kubeconfigOf(cluster, SYNC_TOKEN));
    await put(`${API}/users`, { metadata: { name: 'ann' }, spec: {} });
    await put(`${API}/teams`, { metadata: { name: 'pilots' }, spec: { users: ['ann'] } });
    const resources = ['directclusterendpointtokens'];
    await put(`${RBAC}/clusterroles`, {
      metadata: { name: 'tokens' },
      rules: [{ apiGroups: ['management.gitplane.dev'], resources, verbs: ['create'] }],
    });
    await put(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'tokens' },
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'tokens' },
      subjects: [{ apiGroup: GROUP, kind: 'User', name: 'ann' }],
    });
    const key = await put(`${API}/ownedaccesskeys`, { spec: { user: 'ann' } });
    await pushTenant('green', 'sync: {}\n');
    await pushTenant(
      'blue',
      'external: {gitplane: {source: {kubeconfig: {file: blue}}}}\nsync: {toHost: {endpoints: {enabled: false}, services: {enabled: false}}}\n',
    );
    const scope = { clusters: [{ cluster: 'blue' }] };
    const options = { body: { spec: { scope } }, token: key.spec.key };
    const made = await daemon.call('POST', `${API}/directclusterendpointtokens`, options);
    expect(made.code, made.text).toBe(201);
    member = made.json().status.token;
    await vi.waitFor(async () => expect(await cluster.whoIs(member)).toBeDefined(), WAIT);
  });

  afterAll(async () => {
    await daemon?.stop();
    await cluster?.stop();
  });

  test('gives a member the rights of a role of the team, and takes them with the role', async () => {
    expect(await mayList()).toBe('Forbidden');
    await assign('edit');
    await vi.waitFor(async () => expect(await mayList()).toBe('yes'), WAIT);
    expect(await binding()).toMatchObject({
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'edit' },
      subjects: SUBJECTS,
    });
    expect(await condition()).toBeUndefined();
    await assign();
    await vi.waitFor(async () => expect(await mayList()).toBe('Forbidden'), WAIT);
    expect(await bindings()).toEqual([]);
  });

  test('restores objects that others change, also a role, which no update can change', async () => {
    await assign('edit');
    const made = await vi.waitFor(async () => {
      const found = await binding();
      expect(found).toBeDefined();
      return found as KubeObject;
    }, WAIT);
    const intruders = [{ apiGroup: GROUP, kind: 'Group', name: 'intruders' }];
    await root.update({ ...BINDINGS, name: MADE }, { ...made, subjects: intruders });
    const subjects = async (): Promise<unknown> => (await binding())?.['subjects'];
    await vi.waitFor(async () => expect(await subjects()).toEqual(SUBJECTS), WAIT);

    const { labels, annotations } = made.metadata;
    const roleRef = { apiGroup: GROUP, kind: 'ClusterRole', name: 'view' };
    await expect(
      root.update({ ...BINDINGS, name: MADE }, { ...((await binding()) as KubeObject), roleRef }),
    ).rejects.toThrow(/cannot change roleRef/);
    await role('sync', []);
    await root.delete({ ...BINDINGS, name: MADE }, (await binding()) as KubeObject);
    await root.create(BINDINGS, {
      ...{ metadata: { name: MADE, labels, annotations }, roleRef, subjects: intruders },
    } as unknown as KubeObject);
    await role('sync', NEEDED);
    const roleName = async (): Promise<unknown> =>
      ((await binding())?.['roleRef'] as JsonObject | undefined)?.['name'];
    await vi.waitFor(async () => expect(await roleName()).toBe('edit'), WAIT);
    await vi.waitFor(async () => expect(await subjects()).toEqual(SUBJECTS), WAIT);
    await vi.waitFor(async () => expect(await condition()).toBeUndefined(), WAIT);
  });

  test('names the missing rights of the kubeconfig, and resumes when it has them', async () => {
    await role('sync', NEEDED.slice(0, 1));
    await assign('edit', 'cluster-admin');
    await vi.waitFor(async () => expect((await condition())?.reason).toBe('Forbidden'), WAIT);
    expect((await condition())?.message).toContain(
      'gitplane:clusterrole:team:pilots:cluster-admin',
    );
    expect(await bindings()).toEqual([MADE]);
    await role('sync', NEEDED);
    const all = ['gitplane:clusterrole:team:pilots:cluster-admin', MADE];
    await vi.waitFor(async () => expect(await bindings()).toEqual(all), WAIT);
    await vi.waitFor(async () => expect(await condition()).toBeUndefined(), WAIT);
    await assign('edit');
    await vi.waitFor(async () => expect(await bindings()).toEqual([MADE]), WAIT);
  });

  test('gets the changes of its absence', async () => {
    await cluster.stop();
    await assign('view');
    cluster = await cluster.startAgain();
    const view = [MADE.replace('edit', 'view')];
    await vi.waitFor(async () => expect(await bindings()).toEqual(view), WAIT);
    await assign('edit');
    await vi.waitFor(async () => expect(await bindings()).toEqual([MADE]), WAIT);
  });

  test('loses the bindings of a tenant that went while the daemon was stopped', async () => {
    const other = { name: 'by-hand', labels: { 'gitplane.dev/managed-by': 'blue' } };
    const roleRef = { apiGroup: GROUP, kind: 'ClusterRole', name: 'view' };
    const foreign = { metadata: other, roleRef, subjects: SUBJECTS } as unknown as KubeObject;
    await root.create(BINDINGS, foreign);
    await daemon.stop('SIGKILL');
    const gitDir = join(daemon.dataDir, 'repo.git');
    const commit = foreignCommit(gitDir, { files: { 'tenants/blue/vcluster.yaml': null } });
    git(gitDir, ['update-ref', 'refs/heads/main', commit]);
    daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined });
    await vi.waitFor(async () => expect(await bindings()).toEqual(['by-hand']), WAIT);
  });
});
