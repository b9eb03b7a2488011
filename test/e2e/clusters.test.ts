/** The clusters that are served beside the platform: with kubectl, with keys, and over restarts. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  API,
  type CallOptions,
  type Daemon,
  RBAC,
  type RunResult,
  startDaemon,
} from '../support/daemon.ts';

let daemon: Daemon;

async function pushTenants(texts: Readonly<Record<string, string>>): Promise<RunResult> {
  const clone = await daemon.clone();
  for (const [name, text] of Object.entries(texts)) {
    await mkdir(join(clone, 'tenants', name), { recursive: true });
    await writeFile(join(clone, 'tenants', name, 'vcluster.yaml'), text);
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenants'], clone);
  return await daemon.git(['push'], clone);
}

function root(cluster: string): string {
  return `/kubernetes/${cluster}`;
}

function kubectl(cluster: string, args: readonly string[], input?: string): Promise<RunResult> {
  const server = ['--server', `${daemon.url}${root(cluster)}`];
  return daemon.kubectl([...server, ...args], input === undefined ? {} : { input });
}

const SERVICE = `apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {ports: [{port: 5432, name: sql}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: db, namespace: shop}
subsets:
- addresses: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]
  ports: [{port: 5432, name: sql}]
`;

beforeAll(async () => {
  daemon = await startDaemon();
  const { code, stderr } = await pushTenants({
    blue: 'external: {gitplane: {project: web}}\n',
    red: 'sync: {}\n',
  });
  if (code !== 0) throw new Error(stderr);
});

afterAll(() => daemon.stop());

test.each([
  [
    'services: {enabled: true}\n    endpoints: {enabled: false}',
    /tenants\/odd\/vcluster\.yaml:3:\d+: sync\.toHost\.services\.enabled: Forbidden: .*enable sync\.toHost\.endpoints/,
  ],
  [
    'endpoints: {patches: [{path: "subsets[0]", reverseExpression: value}]}',
    /tenants\/odd\/vcluster\.yaml: .*sync\.toHost\.endpoints\.patches\[0\]\.reverseExpression.*never flows back/,
  ],
])('a push of a tenant with %j is refused', async (setting, why) => {
  const { code, stderr } = await pushTenants({ odd: `sync:\n  toHost:\n    ${setting}\n` });

  expect(code).not.toBe(0);
  expect(stderr).toMatch(why);
});

describe('kubectl on a tenant cluster', () => {
  test('finds the kinds of the core group and nothing of the platform', async () => {
    const { stdout, stderr } = await kubectl('virtualcluster/blue', [
      'api-resources',
      '--no-headers',
      '-o',
      'name',
    ]);

    expect(stderr).toBe('');
    expect(stdout.trim().split('\n').sort()).toEqual(
      ['endpoints', 'events', 'namespaces', 'secrets', 'services'].sort(),
    );
  });

  test('applies on the side of the server, and asks before it takes a field of another', async () => {
    const on = (args: readonly string[], input?: string) =>
      kubectl('virtualcluster/red', args, input);
    expect((await on(['create', 'ns', 'shop'])).code).toBe(0);
    const apply = (manager: string, text: string, ...more: string[]) =>
      on(['apply', '--server-side', `--field-manager=${manager}`, ...more, '-f', '-'], text);
    const alias = (host: string) =>
      `apiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: shop}\nspec: {type: ExternalName, externalName: ${host}}\n`;

    for (const _again of [1, 2]) {
      const { code, stdout } = await apply('one', alias('a.example.com'));
      expect([code, stdout]).toEqual([0, 'service/db serverside-applied\n']);
    }
    const refused = await apply('two', alias('b.example.com'));
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('conflict with "one": .spec.externalName');
    expect((await apply('two', alias('b.example.com'), '--force-conflicts')).code).toBe(0);
    const field = 'jsonpath={.spec.externalName} {.metadata.managedFields[*].manager}';
    const { stdout } = await on(['get', 'service', 'db', '-n', 'shop', '-o', field]);
    expect(stdout).toBe('b.example.com one two');
  });

  test('creates, applies, changes, lists and deletes', async () => {
    const on = (args: readonly string[], input?: string) =>
      kubectl('virtualcluster/blue', args, input);
    expect((await on(['create', 'namespace', 'shop'])).stdout).toBe('namespace/shop created\n');
    expect((await on(['apply', '-f', '-'], SERVICE)).stdout).toBe(
      'service/db created\nendpoints/db created\n',
    );
    const changed = SERVICE.replace('10.0.0.2', '10.0.0.3').replace('5432, name', '5433, name');
    const applied = await on(['apply', '-f', '-'], changed);
    expect(applied.stderr).toBe('');
    expect(applied.stdout).toBe('service/db configured\nendpoints/db configured\n');
    const list = await on(['get', 'endpoints', '-n', 'shop']);
    expect(list.stdout).toMatch(/^NAME +ENDPOINTS +AGE\ndb +10.0.0.1:5432,10.0.0.3:5432 /);
    expect(
      (await on(['get', 'svc', 'db', '-n', 'shop', '-o', 'jsonpath={.spec.ports}'])).stdout,
    ).toBe('[{"name":"sql","port":5433,"protocol":"TCP","targetPort":5433}]');
    expect((await on(['label', 'ep', 'db', '-n', 'shop', 'a=b'])).stdout).toContain('labeled');
    expect((await on(['explain', 'endpoints.subsets'])).stdout).toContain('addresses');
    expect((await on(['delete', 'namespace', 'shop'])).stdout).toContain('deleted');
    expect((await on(['get', 'endpoints', '-A'])).stderr).toContain('No resources found');
  });

  test('gets the reason of a refusal', async () => {
    const nowhere = await kubectl('virtualcluster/blue', ['apply', '-f', '-'], SERVICE);
    expect(nowhere.stderr).toContain('namespaces "shop" not found');
    const kept = await kubectl('virtualcluster/blue', ['delete', 'namespace', 'default']);
    expect(kept.stderr).toContain('Forbidden');
    const address = SERVICE.replace('10.0.0.2', 'a.b').replaceAll('shop', 'default');
    const wrong = await kubectl('virtualcluster/blue', ['apply', '-f', '-'], address);
    expect(wrong.stderr).toContain('subsets[0].addresses[1].ip: Invalid value: "a.b"');
    await kubectl('virtualcluster/blue', ['delete', 'svc', 'db', '-n', 'default']);
  });
});

describe('a cluster', () => {
  const secret = (name: string, value: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    stringData: { password: value },
  });

  test('does not see objects of another cluster', async () => {
    const path = '/api/v1/namespaces/default/secrets';
    for (const cluster of ['virtualcluster/blue', 'cluster/local']) {
      const made = await daemon.call('POST', root(cluster) + path, {
        body: secret(cluster.replace('/', '-'), `the password of ${cluster}`),
      });
      expect(made.code).toBe(201);
      expect(made.json().data.password).toBe(
        Buffer.from(`the password of ${cluster}`).toString('base64'),
      );
    }
    const names = async (cluster: string): Promise<string[]> =>
      (await daemon.call('GET', root(cluster) + path))
        .json()
        .items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(await names('virtualcluster/blue')).toEqual(['virtualcluster-blue']);
    expect(await names('virtualcluster/red')).toEqual([]);
    expect(await names('cluster/local')).toEqual(['cluster-local']);
  });

  test('a cluster without a tenant is not found', async () => {
    for (const cluster of ['virtualcluster/green', 'cluster/other']) {
      expect((await daemon.call('GET', `${root(cluster)}/api/v1/secrets`)).code).toBe(404);
    }
  });

  test('hides its existence from unauthenticated clients', async () => {
    for (const path of ['/api', '/api/v1', '/openapi/v3', '/version', '/api/v1/secrets']) {
      const found = await daemon.call('GET', `${root('virtualcluster/blue')}${path}`, {
        token: null,
      });
      expect(found.code).toBe(401);
    }
  });

  test('hides its existence from users without a right in it, and from their tokens', async () => {
    const create = (path: string, body: object, token?: string) =>
      daemon.call('POST', path, token === undefined ? { body } : { body, token });
    await create(`${API}/users`, { metadata: { name: 'outsider' }, spec: {} });
    const rules = [
      {
        apiGroups: ['management.gitplane.dev'],
        resources: ['directclusterendpointtokens'],
        verbs: ['create'],
      },
      {
        apiGroups: ['management.gitplane.dev'],
        resources: ['tenants/cluster'],
        resourceNames: ['green'],
        verbs: ['*'],
      },
    ];
    const metadata = { name: 'outsiders' };
    const apiGroup = 'rbac.authorization.k8s.io';
    await create(`${RBAC}/clusterroles`, { metadata, rules });
    await create(`${RBAC}/clusterrolebindings`, {
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'outsiders' },
      subjects: [{ apiGroup, kind: 'User', name: 'outsider' }],
    });
    await create(`${API}/users`, { metadata: { name: 'scraper' }, spec: {} });
    const urls = {
      metadata: { name: 'scrapers' },
      rules: [{ nonResourceURLs: ['*'], verbs: ['*'] }],
    };
    await create(`${RBAC}/clusterroles`, urls);
    await create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'scrapers' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'scrapers' },
      subjects: [{ apiGroup, kind: 'User', name: 'scraper' }],
    });
    const keyOf = async (user: string): Promise<string> =>
      (await create(`${API}/ownedaccesskeys`, { spec: { user } })).json().spec.key;
    const [key, scraper] = [await keyOf('outsider'), await keyOf('scraper')];
    const issued = await create(`${API}/directclusterendpointtokens`, { spec: {} }, key);
    const paths = ['', '/api', '/api/v1', '/openapi/v2', '/version', '/api/v1/secrets', '/none'];
    const timeout = '/api/v1/secrets?timeout=none';
    const forms: readonly (readonly [string, CallOptions])[] = [
      ['GET', {}],
      ['POST', {}],
      ['POST', { headers: { 'content-encoding': 'gzip' } }],
      ['POST', { type: 'x y z', body: '{' }],
    ];
    for (const token of [null, key, scraper, issued.json().status.token]) {
      for (const path of [...paths, timeout]) {
        for (const [method, form] of forms) {
          const answers = ['blue', 'nope'].map(async (name) => {
            const url = root(`virtualcluster/${name}`) + path;
            const { code, text } = await daemon.call(method, url, { token, ...form });
            return `${code} ${text.replaceAll(name, 'NAME')}`;
          });
          const [there, absent] = await Promise.all(answers);
          expect(there, `${method} ${path} ${JSON.stringify(form)}`).toBe(absent);
        }
      }
    }
  });

  test('goes to no later tenant of its name that others make', async () => {
    const create = (path: string, body: object) => daemon.call('POST', path, { body });
    const apiGroup = 'rbac.authorization.k8s.io';
    const metadata = { name: 'maker' };
    const tenants = { apiGroups: ['management.gitplane.dev'], resources: ['tenants'] };
    const cluster = { ...tenants, resources: ['tenants/cluster'], verbs: ['list'] };
    const rules = [
      { ...tenants, verbs: ['create', 'delete'] },
      { ...cluster, resourceNames: ['gray'] },
      { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] },
    ];
    await create(`${API}/users`, { metadata, spec: {} });
    await create(`${RBAC}/clusterroles`, { metadata, rules });
    await create(`${RBAC}/clusterrolebindings`, {
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'maker' },
      subjects: [{ apiGroup, kind: 'User', name: 'maker' }],
    });
    const made = await create(`${API}/ownedaccesskeys`, { spec: { user: 'maker' } });
    const token = made.json().spec.key;
    const folder = await daemon.clone();
    const file = join(folder, 'tenants', 'gray', 'vcluster.yaml');
    const commit = async (text: string | undefined): Promise<void> => {
      await rm(file, { force: true });
      if (text !== undefined) await mkdir(dirname(file), { recursive: true });
      if (text !== undefined) await writeFile(file, text);
      await daemon.git(['add', '-A'], folder);
      await daemon.git(['commit', '-qm', 'Gray'], folder);
    };
    const urlWith = (key: string): string =>
      `${daemon.url.replace('://', `://maker:${key}@`)}/git/platform.git`;
    const push = (as?: string): Promise<RunResult> =>
      daemon.git(['push', ...(as === undefined ? [] : [urlWith(as), 'main'])], folder);
    const api = `${root('virtualcluster/gray')}/api/v1/namespaces/default`;
    const elsewhere = 'external: {gitplane: {cluster: mine}}\n';

    // A cluster that nobody used opens nothing.
    await commit('sync: {}\n');
    expect((await push(token)).code).toBe(0);
    await commit(undefined);
    expect((await push(token)).code).toBe(0);
    await commit('sync: {}\n');
    expect((await push(token)).code).toBe(0);
    const service = { metadata: { name: 'db' }, spec: { ports: [{ port: 1 }] } };
    expect((await create(`${api}/services`, service)).code).toBe(201);
    await commit(undefined);
    await commit(elsewhere);
    const replaced = await push(token);
    const why = expect.stringContaining('the cluster of a former tenant of that name has objects');
    expect([replaced.code, replaced.stderr]).toEqual([1, why]);
    await daemon.git(['reset', '--hard', 'HEAD~1'], folder);
    expect((await push(token)).code).toBe(0);
    await commit(elsewhere);
    const refused = await push(token);
    expect([refused.code, refused.stderr]).toEqual([1, why]);
    expect((await push()).code).toBe(0);
    expect((await daemon.call('GET', `${api}/services/db`)).code).toBe(200);
  });

  test('has no past', async () => {
    const path = `${root('virtualcluster/blue')}/api/v1/secrets?atTime=2026-01-01T00:00:00Z`;
    const { code, text } = await daemon.call('GET', path);
    expect([code, text]).toEqual([400, expect.stringContaining('no past')]);
  });

  // covers: scope.virtualClusters
  test('is for those whose roles name it, and for keys whose scope reaches it', async () => {
    const create = (path: string, body: object) => daemon.call('POST', path, { body });
    await create(`${API}/users`, { metadata: { name: 'vera' }, spec: {} });
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'in-blue' },
      rules: [
        {
          apiGroups: ['management.gitplane.dev'],
          resources: ['tenants/cluster'],
          resourceNames: ['blue', 'red'],
          verbs: ['get', 'list', 'watch'],
        },
        { apiGroups: [''], resources: ['*'], verbs: ['*'] },
      ],
    });
    await create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'in-blue' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'in-blue' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'vera' }],
    });
    const keyFor = async (name: string, scope?: object): Promise<string> => {
      const made = await create(`${API}/ownedaccesskeys`, {
        metadata: { name },
        spec: { user: 'vera', ...(scope === undefined ? {} : { scope }) },
      });
      return made.json().spec.key;
    };
    const wide = await keyFor('vera-wide');
    const narrow = await keyFor('vera-narrow', {
      virtualClusters: [{ project: 'web', virtualCluster: 'blue' }],
    });
    const tries = async (token: string): Promise<number[]> => {
      const codes: number[] = [];
      for (const cluster of ['virtualcluster/blue', 'virtualcluster/red', 'cluster/local']) {
        const path = `${root(cluster)}/api/v1/secrets`;
        codes.push((await daemon.call('GET', path, { token })).code);
      }
      const path = `${root('virtualcluster/blue')}/api/v1/namespaces`;
      const body = { metadata: { name: 'n' } };
      codes.push((await daemon.call('POST', path, { token, body })).code);
      return codes;
    };

    expect(await tries(wide)).toEqual([200, 200, 403, 403]);
    expect(await tries(narrow)).toEqual([200, 403, 403, 403]);
  });

  // covers: Team.spec.clusterRoles
  test('is for those whose team or user has a cluster role, and for no other user', async () => {
    const create = (path: string, body: object) => daemon.call('POST', path, { body });
    const put = (path: string, body: object) => daemon.call('PUT', path, { body });
    await create(`${API}/users`, { metadata: { name: 'cora' }, spec: {} });
    const made = await create(`${API}/ownedaccesskeys`, {
      metadata: { name: 'cora' },
      spec: { user: 'cora' },
    });
    const token = made.json().spec.key;
    await create(`${RBAC}/clusterroles`, {
      metadata: { name: 'default-reader' },
      rules: [{ apiGroups: [''], resources: ['services'], verbs: ['get', 'list', 'watch'] }],
    });
    const tries = async (): Promise<string> => {
      const codes: number[] = [];
      const ask = async (method: string, path: string, body?: object): Promise<void> => {
        const options = body === undefined ? { token } : { token, body };
        codes.push((await daemon.call(method, path, options)).code);
      };
      for (const cluster of ['virtualcluster/blue', 'virtualcluster/red', 'cluster/local']) {
        await ask('GET', `${root(cluster)}/api/v1/secrets`);
        await ask('GET', `${root(cluster)}/api/v1/namespaces/default/services`);
        const service = { metadata: { name: 'x' }, spec: { ports: [{ port: 1 }] } };
        await ask(
          'POST',
          `${root(cluster)}/api/v1/namespaces/default/services?dryRun=All`,
          service,
        );
      }
      // The platform itself is no cluster.
      await ask('GET', `${API}/teams`);
      await ask('GET', '/kubernetes/management/api/v1/namespaces');
      return codes.join(' ');
    };
    const none = '403 403 403 403 403 403 403 403 403 403 403';
    const all = '200 200 201 200 200 201 200 200 201 403 403';
    const reads = '403 200 403 403 200 403 403 200 403 403 403';
    const team = (spec: object): object => ({ metadata: { name: 'pilots' }, spec });
    expect(await tries()).toBe(none);
    const member = { users: ['cora'], clusterRoles: [{ name: 'cluster-admin' }] };
    expect((await create(`${API}/teams`, team(member))).code).toBe(201);
    expect(await tries()).toBe(all);
    await put(
      `${API}/teams/pilots`,
      team({ ...member, clusterRoles: [{ name: 'default-reader' }] }),
    );
    expect(await tries()).toBe(reads);
    await daemon.call('DELETE', `${RBAC}/clusterroles/default-reader`);
    expect(await tries()).toBe(none);
    await put(`${API}/teams/pilots`, team(member));
    expect(await tries()).toBe(all);
    await put(`${API}/teams/pilots`, team({ ...member, users: [] }));
    expect(await tries()).toBe(none);
    await put(`${API}/teams/pilots`, team(member));
    await daemon.call('DELETE', `${API}/teams/pilots`);
    expect(await tries()).toBe(none);

    const user = {
      metadata: { name: 'cora' },
      spec: { clusterRoles: [{ name: 'cluster-admin' }] },
    };
    await daemon.call('PATCH', `${API}/users/cora`, {
      type: 'application/merge-patch+json',
      body: { spec: user.spec },
    });
    expect(await tries()).toBe(all);
    const scoped = await create(`${API}/ownedaccesskeys`, {
      metadata: { name: 'cora-blue' },
      spec: {
        user: 'cora',
        scope: { virtualClusters: [{ project: 'web', virtualCluster: 'blue' }] },
      },
    });
    const codes: number[] = [];
    for (const cluster of ['virtualcluster/blue', 'virtualcluster/red', 'cluster/local']) {
      const path = `${root(cluster)}/api/v1/secrets`;
      codes.push((await daemon.call('GET', path, { token: scoped.json().spec.key })).code);
    }
    expect(codes).toEqual([200, 403, 403]);
    await daemon.call('DELETE', `${API}/users/cora`);
    expect(await tries()).toBe(none.replaceAll('403', '401'));
  });

  // covers: service.endpointTokens DirectClusterEndpointToken.spec.scope
  test('takes endpoint tokens with exactly their scope, and the platform takes none', async () => {
    const create = (path: string, body: object, token?: string) =>
      daemon.call('POST', path, token === undefined ? { body } : { body, token });
    const blue = { virtualClusters: [{ project: 'web', virtualCluster: 'blue' }] };
    const local = { clusters: [{ cluster: 'local' }] };
    const issue = async (spec: object, key?: string): Promise<string> => {
      const made = await create(`${API}/directclusterendpointtokens`, { spec }, key);
      expect(made.code, made.text).toBe(201);
      return made.json().status.token;
    };
    const tries = async (token: string): Promise<string> => {
      const codes: number[] = [];
      for (const cluster of ['virtualcluster/blue', 'virtualcluster/red', 'cluster/local']) {
        for (const path of ['/api', '/api/v1/secrets']) {
          codes.push((await daemon.call('GET', root(cluster) + path, { token })).code);
        }
      }
      return codes.join(' ');
    };
    const code = async (token: string, path = `${root('virtualcluster/blue')}/api/v1/secrets`) =>
      (await daemon.call('GET', path, { token })).code;
    expect(await tries(await issue({}))).toBe('200 200 200 200 200 200');
    expect(await tries(await issue({ scope: blue }))).toBe('200 200 403 403 403 403');
    expect(await tries(await issue({ scope: local }))).toBe('403 403 403 403 200 200');
    const role = { roles: [{ role: 'virtual-cluster', virtualClusters: ['blue'] }] };
    expect(await tries(await issue({ scope: role }))).toBe('200 200 403 403 403 403');

    const body = { metadata: { name: 'issuer' }, spec: { user: 'admin' } };
    const key = (await create(`${API}/ownedaccesskeys`, body)).json().spec.key;
    const [first, second] = [await issue({}, key), await issue({ scope: blue }, key)];
    expect(await code(first, `${API}/teams`)).toBe(401);
    const write = await daemon.call(
      'POST',
      `${root('virtualcluster/blue')}/api/v1/namespaces/default/services?dryRun=All`,
      { token: second, body: { metadata: { name: 'x' }, spec: { ports: [{ port: 1 }] } } },
    );
    expect(write.code).toBe(201);
    expect(await tries(first)).toBe('200 200 200 200 200 200');
    await create('/token/revoke', { token: first });
    expect(await code(first)).toBe(401);
    expect(await tries(second)).toBe('200 200 403 403 403 403');
    await daemon.call('DELETE', `${API}/ownedaccesskeys/issuer`);
    expect(await code(second)).toBe(401);
    expect(await code(`${second.slice(0, -6)}AAAAAA`)).toBe(401);
  });

  test('warns of a cluster role that is not there', async () => {
    const { headers, code } = await daemon.call('POST', `${API}/teams`, {
      body: { metadata: { name: 'wishers' }, spec: { clusterRoles: [{ name: 'nowhere' }] } },
    });
    expect(code).toBe(201);
    expect(headers['warning']).toContain('there is no clusterrole \\"nowhere\\"');
  });

  test('keeps what it has over a restart, with no secret in plaintext', async () => {
    const { dataDir } = daemon;
    await daemon.stop('SIGKILL');
    for (const file of await readdir(join(dataDir, 'clusters'))) {
      const bytes = await readFile(join(dataDir, 'clusters', file), 'latin1');
      expect(bytes).not.toContain(Buffer.from('the password').toString('base64').slice(0, 12));
    }
    daemon = await startDaemon({ dataDir });
    const path = '/api/v1/namespaces/default/secrets/virtualcluster-blue';
    const found = await daemon.call('GET', root('virtualcluster/blue') + path);
    expect(Buffer.from(found.json().data.password, 'base64').toString()).toBe(
      'the password of virtualcluster/blue',
    );
  });
});
