/**
 * Endpoints of two tenants, through push, watch, translation, patches and apply. One tenant has both
 * ends in the daemon; the other reaches them by kubeconfigs, through proxies that refuse and cut. On
 * the way the daemon is killed, patches change, targets drift. In the end the control-plane cluster
 * is what a computation from scratch gives. Many more of them, and more ways to be refused, are in
 * test/tenant-sync/thousand.test.ts.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';
import { contentOf, fromScratch, inOrder } from '../support/from-scratch.ts';

const COUNT = 120;
const CALLS_AT_ONCE = 24;
const TARGET = '/kubernetes/cluster/local';

// Machines that do much else at the same time need far longer than the ten seconds it takes alone.
vi.setConfig({ testTimeout: 240_000 });

let daemon: Daemon;
let sourceProxy: CutProxy;
let targetProxy: CutProxy;

const FIRST: readonly Patch[] = [
  { path: 'metadata.annotations["example.com/team"]', expression: '"one-" + value' },
  { path: 'metadata.labels', labels: {} },
];
const SECOND: readonly Patch[] = [
  {
    path: 'metadata.annotations["example.com/team"]',
    expression: 'value === "t7" ? null : "two-" + context.vcluster.name + "-" + value',
  },
  {
    path: 'subsets[*].addresses[*].ip',
    expression: 'value.replace(/^10\\.0\\./, "10.9.")',
  },
  {
    path: 'subsets[*].addresses[*].targetRef',
    reference: { apiVersion: 'v1', kind: 'Pod', namePath: 'name', namespacePath: 'namespace' },
  },
];

beforeAll(async () => {
  daemon = await startDaemon();
  sourceProxy = await startCutProxy(daemon.port);
  targetProxy = await startCutProxy(daemon.port);
});
afterAll(async () => {
  await sourceProxy.close();
  await targetProxy.close();
  await daemon.stop();
});

async function ok(answer: Promise<Answer>): Promise<Answer> {
  const found = await answer;
  if (found.code >= 300) throw new Error(`${found.code} ${found.text}`);
  return found;
}

/** A few at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
}

function kubeconfig(port: number, path: string): string {
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt')).toString('base64');
  const server = `https://127.0.0.1:${port}${path}`;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user: { token: daemon.token } }],
  });
}

const RED_ENDS = {
  source: { kubeconfig: { file: 'red' } },
  target: { kubeconfig: { sharedSecret: { namespace: 'default', name: 'red', key: 'config' } } },
};

function vclusterYaml(patches: readonly Patch[], ends: object = {}): string {
  return stringify({
    sync: { toHost: { endpoints: { patches } } },
    external: { gitplane: ends },
    controlPlane: { statefulSet: { highAvailability: { replicas: 3 } } },
  });
}

async function push(files: Readonly<Record<string, string>>): Promise<void> {
  const clone = await daemon.clone();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(clone, 'tenants', name), { recursive: true });
    await writeFile(join(clone, 'tenants', name, 'vcluster.yaml'), text);
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenants'], clone);
  const { code, stderr } = await daemon.git(['push'], clone);
  if (code !== 0) throw new Error(stderr);
}

function pathTo(tenant: string, plural: string, name = ''): string {
  const base = `/kubernetes/virtualcluster/${tenant}/api/v1/namespaces/default/${plural}`;
  return name === '' ? base : `${base}/${name}`;
}

function endpoints(i: number): object {
  return {
    metadata: {
      name: `e${i}`,
      labels: { app: `a${i % 5}`, ...(i % 3 === 0 ? { release: 'r' } : {}) },
      annotations: {
        ...(i % 2 === 0 ? { 'example.com/team': `t${i % 10}` } : {}),
        'control-plane.alpha.kubernetes.io/leader': `{"at":${i}}`,
      },
    },
    subsets: [
      {
        addresses: [
          {
            ip: `10.0.${i % 250}.1`,
            targetRef: { kind: 'Pod', namespace: 'default', name: `pod-${i}`, uid: `uid-${i}` },
          },
          { ip: `10.0.${i % 250}.2` },
        ],
        ports: [{ name: 'p', port: 80 }],
      },
    ],
  };
}

/** Every tenth has a selector or no Service at all. */
async function fill(tenant: string, numbers: readonly number[]): Promise<void> {
  await each(numbers, async (i) => {
    const selector = i % 20 === 0 ? { selector: { app: 'x' } } : {};
    const body = { metadata: { name: `e${i}` }, spec: { ports: [{ port: 80 }], ...selector } };
    if (i % 20 !== 10) await ok(daemon.call('POST', pathTo(tenant, 'services'), { body }));
    await ok(daemon.call('POST', pathTo(tenant, 'endpoints'), { body: endpoints(i) }));
  });
}

async function listOf(path: string): Promise<KubeObject[]> {
  return (await ok(daemon.call('GET', path))).json().items;
}

/** The expected objects, computed anew from the objects of the tenant and its patches. */
async function wantedOf(tenant: string, patches: readonly Patch[], ends = {}): Promise<string[]> {
  const config = JSON.parse(
    JSON.stringify({
      sync: { toHost: { endpoints: { patches } } },
      external: { gitplane: ends },
      controlPlane: { statefulSet: { highAvailability: { replicas: 3 } } },
    }),
  ) as JsonObject;
  const names = { name: tenant, namespace: `vcluster-${tenant}`, config };
  const [endpoints, services] = await Promise.all([
    listOf(pathTo(tenant, 'endpoints')),
    listOf(pathTo(tenant, 'services')),
  ]);
  const cluster = { ...names, mode: 'single', referenceNames: 'short' } as const;
  return inOrder(fromScratch({ tenant: cluster, patches }, { endpoints, services }));
}

async function actual(tenant: string): Promise<object[]> {
  const path = `${TARGET}/api/v1/namespaces/vcluster-${tenant}/endpoints`;
  const query = `labelSelector=${encodeURIComponent(`gitplane.dev/managed-by=${tenant}`)}`;
  return (await listOf(`${path}?${query}`)).map(contentOf);
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + 100_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end)
      throw new Error(`${what}: not within 100 s\n${daemon.output().slice(-3000)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function settlesOn(tenant: string, patches: readonly Patch[], ends = {}): Promise<number> {
  const wanted = await wantedOf(tenant, patches, ends);
  let last: string[] = [];
  const isThere = async (): Promise<true | undefined> => {
    // Comparing is dear, and pointless before the sync itself takes it to be done.
    const { state, stale } = (await statusOf(tenant)) ?? {};
    if (state !== 'Synced' || stale > 0) return undefined;
    last = inOrder(await actual(tenant));
    return JSON.stringify(last) === JSON.stringify(wanted) ? true : undefined;
  };
  await until(`${tenant} is what it should be`, isThere).catch((error: unknown) => {
    const first = (of: string[], other: string[]): string[] =>
      of.filter((text) => !other.includes(text)).slice(0, 2);
    expect({ extra: first(last, wanted), missing: first(wanted, last) }).toEqual({});
    throw error;
  });
  return wanted.length;
}

async function statusOf(tenant: string) {
  return (await ok(daemon.call('GET', `${API}/tenants/${tenant}`))).json().status?.sync;
}

const numbers = Array.from({ length: COUNT }, (_, i) => i);

describe('two tenants with many Endpoints', () => {
  test('are filled while the ends of one refuse and cut', async () => {
    const kubeconfigs = join(daemon.dataDir, 'kubeconfigs');
    mkdirSync(kubeconfigs, { mode: 0o700 });
    const ofSource = kubeconfig(sourceProxy.port, '/kubernetes/virtualcluster/red');
    await writeFile(join(kubeconfigs, 'red'), ofSource, { mode: 0o600 });
    const ofTarget = Buffer.from(kubeconfig(targetProxy.port, TARGET)).toString('base64');
    await ok(
      daemon.call('POST', `${API}/namespaces/default/sharedsecrets`, {
        body: { metadata: { name: 'red' }, spec: { data: { config: ofTarget } } },
      }),
    );
    targetProxy.refusing = true;
    await push({ blue: vclusterYaml(FIRST), red: vclusterYaml(FIRST, RED_ENDS) });
    const filled = Promise.all([fill('blue', numbers), fill('red', numbers.slice(0, COUNT / 2))]);
    await until('the outage is shown', async () => {
      const status = await statusOf('red');
      return status?.state === 'Stale' && /cannot be read/.test(status.message) ? true : undefined;
    });
    targetProxy.refusing = false;
    await filled;
    for (const part of [numbers.slice(COUNT / 2, COUNT * 0.75), numbers.slice(COUNT * 0.75)]) {
      const filling = fill('red', part);
      targetProxy.cut();
      sourceProxy.cut();
      await filling;
    }
    expect(await settlesOn('blue', FIRST)).toBe(COUNT * 0.9);
    expect(await settlesOn('red', FIRST, RED_ENDS)).toBe(COUNT * 0.9);
    expect(targetProxy.broken).toBeGreaterThan(2);
  });

  test('follow other patches, a kill and changes on both ends', async () => {
    targetProxy.refusing = true;
    targetProxy.cut();
    await push({ blue: vclusterYaml(SECOND), red: vclusterYaml(SECOND, RED_ENDS) });
    await each(numbers.slice(0, 60), async (i) => {
      const path = pathTo('red', 'endpoints', `e${i}`);
      await ok(daemon.call('DELETE', path));
      const body = { subsets: [{ addresses: [{ ip: `10.0.7.${i + 1}` }] }] };
      const type = 'application/merge-patch+json';
      await ok(daemon.call('PATCH', pathTo('blue', 'endpoints', `e${i}`), { body, type }));
    });
    const { dataDir } = daemon;
    await daemon.stop('SIGKILL');
    daemon = await startDaemon({ dataDir });
    targetProxy.upstream = daemon.port;
    sourceProxy.upstream = daemon.port;
    targetProxy.refusing = false;
    // Nothing that happens at a target while the daemon is away or busy stays.
    const target = `${TARGET}/api/v1/namespaces/vcluster-blue/endpoints`;
    await each(numbers.slice(101, 119), async (i) => {
      const path = `${target}/e${i}-x-default-x-blue`;
      if (i % 2 === 0) await daemon.call('DELETE', path);
      const body = { subsets: [], metadata: { labels: { drift: 'yes' } } };
      await daemon.call('PATCH', path, { body, type: 'application/merge-patch+json' });
    });
    expect(await settlesOn('blue', SECOND)).toBe(COUNT * 0.9);
    expect(await settlesOn('red', SECOND, RED_ENDS)).toBe(COUNT * 0.9 - 54);
    await until('all is synced', async () => {
      const states = await Promise.all(['blue', 'red'].map(statusOf));
      return states.every(({ state, stale }) => state === 'Synced' && stale === 0)
        ? true
        : undefined;
    });
  });

  test('a failing expression keeps its last good target, and reports it on both ends', async () => {
    const broken: readonly Patch[] = [
      {
        path: 'metadata.annotations["example.com/team"]',
        expression: 'value === "t2" ? value.no.way : "three-" + value',
      },
    ];
    const before = new Map(
      (await listOf(`${TARGET}/api/v1/namespaces/vcluster-blue/endpoints`)).map((object) => [
        object.metadata.name,
        JSON.stringify(contentOf(object)),
      ]),
    );
    await push({ blue: vclusterYaml(broken) });
    const status = await until('the failure is shown', async () => {
      const found = await statusOf('blue');
      return found?.failed === COUNT / 10 ? found : undefined;
    });
    expect(status).toMatchObject({ state: 'Failed', reason: 'PatchFailed' });
    const items = (await ok(daemon.call('GET', `${API}/tenants/blue/sync`))).json().items;
    const failed = items.filter(({ state }: { state: string }) => state === 'Failed');
    expect(failed[0].message).toContain('patches[0]');
    const isFailed = ({ metadata }: KubeObject): boolean =>
      failed.some(({ target }: { target: { name: string } }) => target.name === metadata.name);
    const isPatched = ({ metadata }: KubeObject): boolean =>
      metadata.annotations?.['example.com/team']?.startsWith('three-') ?? true;
    // All that fail may have been seen before the last of the others.
    const objects = await until('the others have the new patch', async () => {
      const all = await listOf(`${TARGET}/api/v1/namespaces/vcluster-blue/endpoints`);
      return all.every((one) => isFailed(one) || isPatched(one)) ? all : undefined;
    });
    for (const object of objects.filter(isFailed)) {
      expect(JSON.stringify(contentOf(object))).toBe(before.get(object.metadata.name));
    }
    const event = { reason: 'SyncError', type: 'Warning' };
    const events = (base: string) => listOf(`${base}/api/v1/events`);
    expect(await events('/kubernetes/virtualcluster/blue')).toContainEqual(
      expect.objectContaining(event),
    );
    expect(await events(TARGET)).toContainEqual(expect.objectContaining(event));
    await push({ blue: vclusterYaml(SECOND) });
    await settlesOn('blue', SECOND);
  });

  test('a foreign object is left alone until it goes', async () => {
    const target = `${TARGET}/api/v1/namespaces/vcluster-blue/endpoints`;
    const name = 'late-x-default-x-blue';
    await ok(daemon.call('POST', target, { body: { metadata: { name, labels: { own: 'yes' } } } }));
    await ok(
      daemon.call('POST', pathTo('blue', 'services'), {
        body: { metadata: { name: 'late' }, spec: { ports: [{ port: 80 }] } },
      }),
    );
    const body = { metadata: { name: 'late' }, subsets: [{ addresses: [{ ip: '10.0.0.9' }] }] };
    await ok(daemon.call('POST', pathTo('blue', 'endpoints'), { body }));
    const status = await until('the conflict is shown', async () => {
      const found = await statusOf('blue');
      return found?.reason === 'ForeignObject' ? found : undefined;
    });
    expect(status).toMatchObject({ state: 'Failed', failed: 1 });
    const found = (await ok(daemon.call('GET', `${target}/${name}`))).json();
    expect(found.metadata.labels).toEqual({ own: 'yes' });
    await ok(daemon.call('DELETE', `${target}/${name}`));
    await settlesOn('blue', SECOND);
    expect((await ok(daemon.call('GET', `${target}/${name}`))).json().subsets[0].addresses).toEqual(
      [{ ip: '10.9.0.9' }],
    );
  });

  test('can be tried without being written', async () => {
    const preview = (body: object) =>
      daemon.call('POST', `${API}/tenants/blue/patches:preview`, { body });
    const objects = [endpoints(2)];
    const [item] = (await ok(preview({ objects }))).json().items;
    expect(item.before.metadata.annotations['example.com/team']).toBe('t2');
    expect(item.after.metadata.annotations['example.com/team']).toBe('two-blue-t2');
    expect(item.report.patches[1]).toMatchObject({ status: 'applied', matches: [{}, {}] });
    const config = (expression: string): object => ({
      sync: { toHost: { endpoints: { patches: [{ path: 'metadata.labels.app', expression }] } } },
    });
    const failing = (await ok(preview({ objects, config: config('value.a.b') }))).json().items[0];
    expect([failing.after, failing.report.failure.reason]).toEqual([undefined, 'exception']);
    const wrong = await preview({ objects, config: config('(') });
    expect([wrong.code, wrong.text]).toEqual([422, expect.stringContaining('column')]);
    expect((await preview({ objects: [{ subsets: 5 }] })).code).toBe(400);
    const service = { kind: 'Service', metadata: { name: 'db' }, spec: { clusterIP: '10.96.0.7' } };
    const [made] = (await ok(preview({ objects: [service] }))).json().items;
    expect(made.after.metadata.name).toBe('db-x-default-x-blue');
    expect(made.after.spec).not.toHaveProperty('clusterIP');
    expect((await preview({ objects: [{ ...service, kind: 'Pod' }] })).code).toBe(400);
    const dead = { path: 'spec.type', reverseExpression: 'value' };
    const late = { sync: { toHost: { services: { patches: [dead] } } } };
    expect((await preview({ objects, config: late })).code).toBe(422);
  });

  test('show up in the metrics', async () => {
    const { text } = await ok(daemon.call('GET', '/metrics'));

    expect(text).toMatch(/gitplane_tenant_endpoints\{tenant="red",state="synced"\} \d{2}/);
    expect(text).toMatch(
      /gitplane_tenant_writes_total\{tenant="blue",kind="Endpoints",verb="create"\}/,
    );
  });
});
