/**
 * A thousand Endpoints of two tenants, through watch, translation, patches and apply. Their clusters
 * are on a platform of their own, which is restarted; the control-plane cluster refuses a fifth of
 * all requests, in every way it can; expressions change; the loops are stopped and started. In the
 * end the control-plane cluster is what a computation from scratch gives.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts';
import { contentOf, fromScratch, inOrder } from '../support/from-scratch.ts';
import { startTenantClusters, type TenantClusters } from '../support/tenant-clusters.ts';

const COUNT = 500;
const CALLS_AT_ONCE = 32;
const NAMES = ['red', 'blue'] as const;
/** On a machine that does much else; alone it takes some seconds. */
const WITHIN = { timeout: 100_000, interval: 100 };
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const FIRST: readonly Patch[] = [
  { path: 'metadata.annotations["example.com/team"]', expression: '"one-" + value' },
  { path: 'metadata.labels', labels: {} },
];
/** On some of the objects it fails. */
const BROKEN: readonly Patch[] = [
  {
    path: 'metadata.annotations["example.com/team"]',
    expression: 'value === "t4" ? value.no.way : "broken-" + value',
  },
];
const LAST: readonly Patch[] = [
  {
    path: 'metadata.annotations["example.com/team"]',
    expression: 'value === "t6" ? null : "last-" + context.vcluster.name + "-" + value',
  },
  { path: 'subsets[*].addresses[*].ip', expression: 'value.replace(/^10\\.0\\./, "10.9.")' },
  {
    path: 'subsets[*].addresses[*].targetRef',
    reference: { apiVersion: 'v1', kind: 'Pod', namePath: 'name', namespacePath: 'namespace' },
  },
];

const FAULTS = [
  { code: 403, reason: 'Forbidden' },
  { code: 409, reason: 'Conflict' },
  { code: 429, reason: 'TooManyRequests', retryAfter: 1 },
  { code: 500, reason: 'InternalError' },
  'cut',
] as const;

/** Where the loops run, and the control-plane cluster is. */
let platform: TenantClusters;
/** Where the clusters of the tenants are. */
let elsewhere: TenantClusters;
let road: CutProxy;
const refused = new Map<string | number, number>();

function configOf(patches: readonly Patch[], tenant: string): JsonObject {
  const source = { kubeconfig: { file: tenant } };
  const config = {
    sync: { toHost: { endpoints: { patches } } },
    external: { gitplane: { source } },
  };
  return JSON.parse(JSON.stringify(config)) as JsonObject;
}

function useEverywhere(patches: readonly Patch[]): void {
  for (const name of NAMES) platform.tenant(name, configOf(patches, name));
}

function kubeconfigOf(tenant: string): string {
  const server = `http://127.0.0.1:${road.port}/kubernetes/virtualcluster/${tenant}`;
  return stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 'anybody' } }],
  });
}

/** Every fifth request to the control-plane cluster, each time in another way. */
function refuseSome(): void {
  let count = 0;
  platform.judge = ({ path }) => {
    if (!path.startsWith('/kubernetes/cluster/') || ++count % 5 > 0) return undefined;
    const fault = FAULTS[(count / 5) % FAULTS.length] ?? 'cut';
    const code = fault === 'cut' ? fault : fault.code;
    refused.set(code, (refused.get(code) ?? 0) + 1);
    if (fault === 'cut') throw new Error('The connection is cut');
    return fault;
  };
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
}

function pathTo(tenant: string, plural: string, name = ''): string {
  const base = `/kubernetes/virtualcluster/${tenant}/api/v1/namespaces/default/${plural}`;
  return name === '' ? base : `${base}/${name}`;
}

function endpoints(i: number): object {
  const targetRef = { kind: 'Pod', namespace: 'default', name: `pod-${i}`, uid: `uid-${i}` };
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
        addresses: [{ ip: `10.0.${i % 250}.1`, targetRef }, { ip: `10.0.${i % 250}.2` }],
        ports: [{ name: 'p', port: 80 }],
      },
    ],
  };
}

async function made(path: string, object: object): Promise<void> {
  expect(await elsewhere.call('POST', path, object), path).toBeDefined();
}

/** Every tenth has a Service with a selector, or none at all. */
async function fill(tenant: string, numbers: readonly number[]): Promise<void> {
  await each(numbers, async (i) => {
    const selector = i % 20 === 0 ? { selector: { app: 'x' } } : {};
    const service = { metadata: { name: `e${i}` }, spec: { ports: [{ port: 80 }], ...selector } };
    if (i % 20 !== 10) await made(pathTo(tenant, 'services'), service);
    await made(pathTo(tenant, 'endpoints'), endpoints(i));
  });
}

async function itemsOf(at: TenantClusters, path: string): Promise<KubeObject[]> {
  return ((await at.call('GET', path)) as unknown as { items: KubeObject[] }).items;
}

function hostPath(tenant: string): string {
  return `/kubernetes/cluster/local/api/v1/namespaces/vcluster-${tenant}/endpoints`;
}

async function wantedOf(tenant: string, patches: readonly Patch[]): Promise<string[]> {
  const config = configOf(patches, tenant);
  const names = { name: tenant, namespace: `vcluster-${tenant}`, config };
  const [found, services] = await Promise.all([
    itemsOf(elsewhere, pathTo(tenant, 'endpoints')),
    itemsOf(elsewhere, pathTo(tenant, 'services')),
  ]);
  const patched = {
    tenant: { ...names, mode: 'single', referenceNames: 'short' },
    patches,
  } as const;
  return inOrder(fromScratch(patched, { endpoints: found, services }));
}

async function settlesOn(tenant: string, patches: readonly Patch[]): Promise<number> {
  const wanted = await wantedOf(tenant, patches);
  await vi.waitFor(async () => {
    // Comparing is dear, and pointless before the sync itself takes it to be done.
    expect(platform.status(tenant)).toMatchObject({ state: 'Synced', stale: 0, failed: 0 });
    const there = inOrder((await itemsOf(platform, hostPath(tenant))).map(contentOf));
    expect(there.length).toBe(wanted.length);
    expect(there.filter((text, i) => text !== wanted[i]).slice(0, 1)).toEqual([]);
  }, WITHIN);
  return wanted.length;
}

const numbers = Array.from({ length: COUNT }, (_, i) => i);

beforeAll(async () => {
  [platform, elsewhere] = await Promise.all([startTenantClusters(), startTenantClusters()]);
  road = await startCutProxy(Number(new URL(elsewhere.doorUrl).port));
  const notThere = { sync: { toHost: { endpoints: { enabled: false } } } };
  for (const name of NAMES) {
    elsewhere.tenant(name, notThere);
    writeFileSync(join(platform.directory, name), kubeconfigOf(name));
  }
  // 404 until the cluster of the tenant is there.
  for (const name of NAMES) {
    await vi.waitFor(
      async () => expect(await elsewhere.call('GET', pathTo(name, 'services'))).toBeDefined(),
      WITHIN,
    );
  }
});

afterAll(async () => {
  await platform?.close();
  await road?.close();
  await elsewhere?.close();
});

test('a thousand Endpoints end where a computation from scratch puts them', async () => {
  await fill('blue', numbers.slice(0, 100));
  refuseSome();
  useEverywhere(FIRST);
  await Promise.all([fill('red', numbers.slice(0, 250)), fill('blue', numbers.slice(100))]);

  useEverywhere(BROKEN);
  await vi.waitFor(
    () => expect(platform.status('blue')).toMatchObject({ state: 'Failed' }),
    WITHIN,
  );
  await fill('red', numbers.slice(250, 350));

  // The source is away, and comes back as another process would: what it had is there.
  await elsewhere.stop();
  road.refusing = true;
  road.cut();
  const before = road.broken;
  await vi.waitFor(() => expect(road.broken).toBeGreaterThan(before + 5), WITHIN);
  await elsewhere.start();
  road.upstream = Number(new URL(elsewhere.doorUrl).port);
  road.refusing = false;
  const more = fill('red', numbers.slice(350));
  useEverywhere(LAST);
  await each(numbers.slice(0, 60), async (i) => {
    await elsewhere.call('DELETE', pathTo('red', 'endpoints', `e${i}`));
    const body = { subsets: [{ addresses: [{ ip: `10.0.7.${i + 1}` }] }] };
    await elsewhere.call('PATCH', pathTo('blue', 'endpoints', `e${i}`), body);
  });
  await more;

  // The loops stop in the middle, and others change what is theirs meanwhile.
  await platform.stop();
  await platform.start();
  await each(numbers.slice(101, 119), async (i) => {
    const path = `${hostPath('blue')}/e${i}-x-default-x-blue`;
    const body = { subsets: [], metadata: { labels: { drift: 'yes' } } };
    await platform.call(i % 2 === 0 ? 'DELETE' : 'PATCH', path, i % 2 === 0 ? undefined : body);
  });

  expect(await settlesOn('blue', LAST)).toBe(COUNT * 0.9);
  expect(await settlesOn('red', LAST)).toBe(COUNT * 0.9 - 54);
  for (const fault of FAULTS) {
    const code = fault === 'cut' ? fault : fault.code;
    expect(refused.get(code) ?? 0, `${code}`).toBeGreaterThan(20);
  }
});
