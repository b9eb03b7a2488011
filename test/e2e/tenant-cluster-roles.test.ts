/**
 * Cluster roles of teams in a tenant cluster elsewhere. Another daemon stands for that cluster: its
 * API has ClusterRoleBindings, with the rules of Kubernetes about who may write them.
 */
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { foreignCommit, git } from '../support/git.ts';

let daemon: Daemon;
let cluster: Daemon;

const BINDINGS = `${RBAC}/clusterrolebindings`;
const MADE = 'gitplane:clusterrole:team:pilots:edit';
const LABEL = 'gitplane.dev/managed-by';
const RBAC_GROUP = 'rbac.authorization.k8s.io';
const WAIT = { timeout: 30_000, interval: 20 };
/** Earlier than the next comparison of everything, which would find the change too. */
const AT_ONCE = { ...WAIT, timeout: 20_000 };

async function bindingNames(): Promise<string[]> {
  const { items } = (await cluster.call('GET', BINDINGS)).json();
  return items
    .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
    .filter((name: string) => !name.startsWith('gitplane-') && name !== 'cluster-admin')
    .sort();
}

async function binding(name: string): Promise<ReturnType<JSON['parse']>> {
  const { code, text } = await cluster.call('GET', `${BINDINGS}/${encodeURIComponent(name)}`);
  return code === 200 ? JSON.parse(text) : undefined;
}

async function groupsIn(name: string): Promise<string[]> {
  return ((await binding(name))?.subjects ?? []).map((one: { name: string }) => one.name);
}

async function pushTenant(text: string | undefined, name = 'blue'): Promise<void> {
  const clone = await daemon.clone();
  const folder = join(clone, 'tenants', name);
  await mkdir(folder, { recursive: true });
  if (text === undefined) await rm(folder, { recursive: true });
  else await writeFile(join(folder, 'vcluster.yaml'), text);
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenant'], clone);
  const { code, stderr } = await daemon.git(['push'], clone);
  if (code !== 0) throw new Error(stderr);
}

function tenant(more = ''): string {
  return `external: {gitplane: {source: {kubeconfig: {file: blue}${more}}}}\nsync: {toHost: {endpoints: {enabled: false}, services: {enabled: false}}}\n`;
}

async function assign(team: string, roles: readonly string[]): Promise<void> {
  const clusterRoles = roles.map((name) => ({ name }));
  const options = { type: 'application/merge-patch+json', body: { spec: { clusterRoles } } };
  const { code, text } = await daemon.call('PATCH', `${API}/teams/${team}`, options);
  expect(code, text).toBe(200);
}

async function condition(): Promise<{ reason: string; message: string } | undefined> {
  const { status } = (await daemon.call('GET', `${API}/tenants/blue`)).json();
  return status?.conditions?.find((one: { type: string }) => one.type === 'ClusterRoles');
}

async function makeOnCluster(object: object): Promise<void> {
  const made = await cluster.call('POST', BINDINGS, { body: object });
  expect(made.code, made.text).toBe(201);
}

const foreign = (name: string, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'view' },
  subjects: [{ apiGroup: RBAC_GROUP, kind: 'Group', name: 'somebody' }],
});

let before: string[];

beforeAll(async () => {
  [daemon, cluster] = await Promise.all([
    startDaemon({ seed: undefined }),
    startDaemon({ seed: undefined }),
  ]);
  await mkdir(join(daemon.dataDir, 'kubeconfigs'), { recursive: true });
  await copyFile(join(cluster.dataDir, 'kubeconfig'), join(daemon.dataDir, 'kubeconfigs/blue'));
  for (const name of ['edit', 'view']) {
    await cluster.call('POST', `${RBAC}/clusterroles`, { body: { metadata: { name }, rules: [] } });
  }
  await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'pilots' }, spec: {} } });
  await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'others' }, spec: {} } });
  before = await bindingNames();
  await pushTenant(tenant());
});

afterAll(async () => {
  await Promise.all([daemon.stop(), cluster.stop()]);
});

test('makes a binding for each role, and removes it at the change', async () => {
  await assign('pilots', ['edit', 'view']);
  const all = [...before, MADE, MADE.replace('edit', 'view')].sort();
  await vi.waitFor(async () => expect(await bindingNames()).toEqual(all), WAIT);
  expect(await binding(MADE)).toMatchObject({
    metadata: {
      labels: { [LABEL]: 'blue' },
      annotations: { 'gitplane.dev/object-host-name': MADE },
    },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'edit' },
    subjects: [{ apiGroup: RBAC_GROUP, kind: 'Group', name: 'gitplane:gitplane:team:pilots' }],
  });
  expect(await condition()).toBeUndefined();

  await assign('pilots', ['edit']);
  await vi.waitFor(
    async () => expect(await bindingNames()).toEqual([...before, MADE].sort()),
    AT_ONCE,
  );
});

test('takes the binding of a user who is shut out, and gives it back', async () => {
  const made = 'gitplane:clusterrole:user:dana:view';
  const spec = { clusterRoles: [{ name: 'view' }] };
  await daemon.call('POST', `${API}/users`, { body: { metadata: { name: 'dana' }, spec } });
  const right = ['gitplane:gitplane:user:dana'];
  await vi.waitFor(async () => expect(await groupsIn(made)).toEqual(right), WAIT);
  for (const [disabled, groups] of [
    [true, []],
    [false, right],
  ] as const) {
    const options = { type: 'application/merge-patch+json', body: { spec: { disabled } } };
    await daemon.call('PATCH', `${API}/users/dana`, options);
    await vi.waitFor(async () => expect(await groupsIn(made)).toEqual(groups), WAIT);
  }
  await daemon.call('DELETE', `${API}/users/dana`);
  await vi.waitFor(async () => expect(await binding(made)).toBeUndefined(), WAIT);
});

test('restores changed bindings, and recreates removed ones and those with another role', async () => {
  const path = `${BINDINGS}/${encodeURIComponent(MADE)}`;
  const { metadata, ...rest } = await binding(MADE);
  const subjects = [{ apiGroup: RBAC_GROUP, kind: 'Group', name: 'intruders' }];
  await cluster.call('PUT', path, { body: { ...rest, metadata, subjects } });
  const right = ['gitplane:gitplane:team:pilots'];
  await vi.waitFor(async () => expect(await groupsIn(MADE)).toEqual(right), WAIT);

  await cluster.call('DELETE', path);
  await vi.waitFor(async () => expect(await groupsIn(MADE)).toEqual(right), WAIT);

  const { labels, annotations } = metadata;
  const other = { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'view' };
  await cluster.call('DELETE', path);
  await cluster.call('POST', BINDINGS, {
    body: { ...rest, roleRef: other, metadata: { name: MADE, labels, annotations } },
  });
  await vi.waitFor(async () => expect((await binding(MADE))?.roleRef.name).toBe('edit'), WAIT);
});

test('never touches a binding without its marks, nor a copy of one with them', async () => {
  const wanted = 'gitplane:clusterrole:team:others:edit';
  const { metadata } = await binding(MADE);
  const { labels, annotations } = metadata;
  await makeOnCluster(foreign(wanted));
  await makeOnCluster(foreign('a-copy', { labels, annotations }));
  await makeOnCluster(
    foreign('gitplane:clusterrole:team:others:old', { labels: { [LABEL]: 'red' } }),
  );
  await assign('others', ['edit']);
  await vi.waitFor(async () => expect((await condition())?.reason).toBe('AlreadyExists'), WAIT);
  expect((await condition())?.message).toContain(wanted);
  expect(await groupsIn(wanted)).toEqual(['somebody']);

  await cluster.call('DELETE', `${BINDINGS}/${encodeURIComponent(wanted)}`);
  const right = ['gitplane:gitplane:team:others'];
  await vi.waitFor(async () => expect(await groupsIn(wanted)).toEqual(right), WAIT);
  await vi.waitFor(async () => expect(await condition()).toBeUndefined(), WAIT);
  await assign('others', []);
  await vi.waitFor(async () => expect(await binding(wanted)).toBeUndefined(), WAIT);
  expect(await groupsIn('a-copy')).toEqual(['somebody']);
});

test('names the groups as the cluster knows them', async () => {
  await pushTenant(tenant(', groupsPrefix: ""'));
  await vi.waitFor(
    async () => expect(await groupsIn(MADE)).toEqual(['gitplane:team:pilots']),
    WAIT,
  );
  await pushTenant(tenant());
  const right = ['gitplane:gitplane:team:pilots'];
  await vi.waitFor(async () => expect(await groupsIn(MADE)).toEqual(right), WAIT);
});

test('follows the tenant to another cluster, and takes its bindings from the one before', async () => {
  const rest = [...before, 'a-copy', 'gitplane:clusterrole:team:others:old'].sort();
  const folder = join(daemon.dataDir, 'kubeconfigs');
  await copyFile(join(daemon.dataDir, 'kubeconfig'), join(folder, 'another'));
  await copyFile(join(cluster.dataDir, 'kubeconfig'), join(folder, 'again'));
  const path = `${BINDINGS}/${encodeURIComponent(MADE)}`;
  await pushTenant(tenant().replace('file: blue', 'file: another'));
  await vi.waitFor(async () => expect(await bindingNames()).toEqual(rest), WAIT);
  await vi.waitFor(async () => expect((await daemon.call('GET', path)).code).toBe(200), WAIT);

  await pushTenant(tenant());
  await vi.waitFor(async () => expect((await daemon.call('GET', path)).code).toBe(404), WAIT);
  await vi.waitFor(async () => expect(await binding(MADE)).toBeDefined(), WAIT);

  // The same cluster by another kubeconfig.
  await pushTenant(tenant().replace('file: blue', 'file: again'));
  await vi.waitFor(async () => expect(await binding(MADE)).toBeDefined(), WAIT);
  await pushTenant(tenant());
});

test('goes on after a kill, and removes its bindings alone when it is turned off or the tenant goes', async () => {
  await daemon.stop('SIGKILL');
  await cluster.call('DELETE', `${BINDINGS}/${encodeURIComponent(MADE)}`);
  daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined });
  await vi.waitFor(async () => expect(await binding(MADE)).toBeDefined(), WAIT);

  const rest = [...before, 'a-copy', 'gitplane:clusterrole:team:others:old'].sort();
  await pushTenant(tenant(', clusterRoles: false'));
  await vi.waitFor(async () => expect(await bindingNames()).toEqual(rest), WAIT);
  await pushTenant(tenant());
  await vi.waitFor(async () => expect(await binding(MADE)).toBeDefined(), WAIT);
  await pushTenant(undefined);
  await vi.waitFor(async () => expect(await bindingNames()).toEqual(rest), WAIT);
});

describe('a tenant that goes while the process is stopped', () => {
  const green = 'tenants/green/vcluster.yaml';
  const rest = (): string[] => [...before, 'a-copy', 'gitplane:clusterrole:team:others:old'].sort();

  /** Starts the daemon again on a repository without the files. */
  async function without(...files: readonly string[]): Promise<void> {
    await daemon.stop('SIGKILL');
    const gitDir = join(daemon.dataDir, 'repo.git');
    const gone = Object.fromEntries(files.map((file) => [file, null]));
    const commit = foreignCommit(gitDir, { files: gone });
    git(gitDir, ['update-ref', 'refs/heads/main', commit]);
    git(gitDir, ['update-ref', '-d', 'refs/heads/pushed']);
    daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined });
  }

  test('loses its bindings at the next start, and nothing else goes', async () => {
    await pushTenant(tenant());
    await pushTenant('sync: {}\n', 'green');
    await vi.waitFor(async () => expect(await binding(MADE)).toBeDefined(), WAIT);
    await without('tenants/blue/vcluster.yaml');
    expect((await daemon.call('GET', `${API}/tenants/blue`)).code).toBe(404);
    await vi.waitFor(async () => expect(await bindingNames()).toEqual(rest()), WAIT);
    expect(daemon.output()).not.toContain('Tenants are gone');
  });

  test('keeps them when it was the last one, and the log names the command that removes them', async () => {
    await pushTenant(tenant());
    await vi.waitFor(async () => expect(await binding(MADE)).toBeDefined(), WAIT);
    await without('tenants/blue/vcluster.yaml', green);
    await vi.waitFor(() => expect(daemon.output()).toContain('Tenants are gone'), WAIT);
    await expect.poll(() => daemon.output()).toContain('kubectl delete clusterrolebindings -l');
    // A change of roles makes the loops look; what is held stays until it is removed.
    await assign('pilots', ['view']);
    expect(await groupsIn(MADE)).toEqual(['gitplane:gitplane:team:pilots']);
    await assign('pilots', ['edit']);

    await pushTenant(tenant());
    await pushTenant(undefined);
    await vi.waitFor(async () => expect(await bindingNames()).toEqual(rest()), WAIT);
  });
});
