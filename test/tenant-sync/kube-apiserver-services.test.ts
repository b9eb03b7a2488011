/**
 * Services of a tenant between two real API servers of Kubernetes, which assign addresses and ports,
 * fill in defaults and refuse changes. Built by `npm run kubernetes`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import type { PatchedTenant } from '../../src/endpoint-patches/tenant.ts';
import { accessFromKubeconfig } from '../../src/kubernetes-client/cluster-access.ts';
import { KubeClient, type ResourceName } from '../../src/kubernetes-client/kube-client.ts';
import type { ObjectState } from '../../src/tenant-sync/object-states.ts';
import { SYNCED_KINDS } from '../../src/tenant-sync/synced-kinds.ts';
import { TenantSync } from '../../src/tenant-sync/tenant-sync.ts';
import { scratchDir } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): no Service was synced', () => {});
}

const TOKEN = 'a-token';
const HOST_NAMESPACE = 'vcluster-blue';
const WITHIN = { timeout: 40_000, interval: 50 };
vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

let servers: ApiServer[] = [];
let ours: KubeClient;
let theirs: KubeClient;
let engine: PatchEngine;
let sync: TenantSync;
let writes: string[] = [];

function clientOf(server: ApiServer | undefined): KubeClient {
  const { ca = '', url = '' } = server ?? {};
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: TOKEN } }],
  };
  return new KubeClient(accessFromKubeconfig(stringify(kubeconfig)));
}

function patched(patches: readonly Patch[]): PatchedTenant {
  const names = { name: 'blue', namespace: HOST_NAMESPACE, config: {} };
  return { tenant: { ...names, mode: 'single', referenceNames: 'short' }, patches };
}

function startLoop(): void {
  writes = [];
  sync = new TenantSync({
    kind: SYNCED_KINDS.Service,
    source: ours,
    target: theirs,
    patched: patched([]),
    runner: engine,
    clock: Date,
    changed: () => undefined,
    wrote: (verb) => writes.push(verb),
    backoff: { firstMs: 20, lastMs: 200 },
  });
  sync.start();
}

async function settled(): Promise<void> {
  await vi.waitFor(() => expect(sync.isSettled, JSON.stringify(sync.summary)).toBe(true), WITHIN);
}

/** One of each type, and each case that an API server treats in a way of its own. */
const SPECS: Readonly<Record<string, JsonObject>> = {
  plain: { ports: [{ port: 80 }] },
  headless: { clusterIP: 'None', ports: [{ port: 80 }] },
  picks: { selector: { app: 'x' }, ports: [{ port: 80, targetPort: 'http' }] },
  nodes: {
    type: 'NodePort',
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 80, protocol: 'UDP' },
    ],
  },
  balancer: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 443 }] },
  name: { type: 'ExternalName', externalName: 'db.example.com' },
  sticky: { sessionAffinity: 'ClientIP', ports: [{ port: 80 }] },
};

const at = (name: string): ResourceName => ({ plural: 'services', namespace: 'shop', name });
const there = (name: string): ResourceName => ({
  ...{ plural: 'services', namespace: HOST_NAMESPACE },
  name: `${name}-x-shop-x-blue`,
});

async function give(name: string, spec: JsonObject): Promise<void> {
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
  await ours.create({ plural: 'services', namespace: 'shop' }, service);
}

/** A server that has just begun has no addresses to give yet. */
async function untilAddresses(client: KubeClient): Promise<void> {
  const probe = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'probe' } };
  const of = { plural: 'services', namespace: 'default' };
  const spec = { ports: [{ port: 80 }] };
  await vi.waitFor(() => client.create(of, { ...probe, spec }), WITHIN);
  const name = { ...of, name: 'probe' };
  await client.delete(name, await client.get(name));
}

async function change(
  client: KubeClient,
  of: ResourceName,
  edit: (spec: JsonObject) => JsonObject,
): Promise<KubeObject> {
  return await vi.waitFor(async () => {
    const found = await client.get(of);
    return await client.update(of, { ...found, spec: edit(found.spec ?? {}) });
  }, WITHIN);
}

async function specOf(name: string): Promise<JsonObject> {
  return (await theirs.get(there(name))).spec ?? {};
}

function stateOf(name: string): ObjectState | undefined {
  return sync.states.find(({ source }) => source.name === name);
}

describe.skipIf(!hasApiServer)('Services between two API servers of Kubernetes', () => {
  beforeAll(async () => {
    const tokens = join(scratchDir(), 'tokens.csv');
    writeFileSync(tokens, `${TOKEN},tester,tester-uid\n`);
    const known = `--token-auth-file=${tokens}`;
    servers = await Promise.all([startApiServer([known]), startApiServer([known])]);
    [ours, theirs] = [clientOf(servers[0]), clientOf(servers[1])];
    engine = new PatchEngine();
    await Promise.all([ours, theirs].map(untilAddresses));
    await ours.create(
      { plural: 'namespaces' },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    );
    for (const [name, spec] of Object.entries(SPECS)) await give(name, spec);
    startLoop();
  });

  afterAll(async () => {
    await sync?.stop();
    for (const client of [ours, theirs]) client?.close();
    await engine?.close();
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('are made once, with addresses and ports of the cluster that they are on', async () => {
    await settled();

    expect(sync.summary).toMatchObject({ state: 'Synced', synced: 7, skipped: 1, failed: 0 });
    expect(writes).toEqual(Object.keys(SPECS).map(() => 'create'));
    expect(stateOf('kubernetes')).toMatchObject({ state: 'Skipped', reason: 'ApiServer' });
    const [plain, nodes, balancer] = await Promise.all(['plain', 'nodes', 'balancer'].map(specOf));
    expect(plain?.['clusterIP']).toMatch(/^\d/);
    expect(nodes?.['ports']).toMatchObject([
      { port: 80, nodePort: expect.any(Number) },
      { port: 80, protocol: 'UDP', nodePort: expect.any(Number) },
    ]);
    expect(balancer?.['healthCheckNodePort']).toEqual(expect.any(Number));
    expect((await specOf('headless'))['clusterIP']).toBe('None');
    expect(await specOf('name')).not.toHaveProperty('clusterIP');
    expect((await specOf('picks'))['selector']).toMatchObject({ 'gitplane.dev/namespace': 'shop' });
  });

  test('are found as they are by a loop without a memory, which writes nothing', async () => {
    await sync.stop();
    startLoop();
    await settled();

    expect(sync.summary).toMatchObject({ synced: 7, failed: 0 });
    expect(writes).toEqual([]);
  });

  test('keep what was assigned when the tenant changes them', async () => {
    const before = await specOf('nodes');
    await change(ours, at('nodes'), (spec) => ({
      ...spec,
      sessionAffinity: 'ClientIP',
      ports: [...(spec['ports'] as JsonObject[]), { name: 'c', port: 81 }],
    }));
    await vi.waitFor(async () => {
      expect((await specOf('nodes'))['ports']).toHaveLength(3);
    }, WITHIN);
    const after = await specOf('nodes');

    expect(after['clusterIP']).toBe(before['clusterIP']);
    expect((after['ports'] as JsonObject[]).slice(0, 2)).toEqual(before['ports']);
    await settled();
    expect(writes).toEqual(['update']);
  });

  test('become another type, and go back', async () => {
    for (const type of ['ClusterIP', 'LoadBalancer', 'NodePort']) {
      await change(ours, at('nodes'), (spec) => ({ ...spec, type }));
      await vi.waitFor(async () => expect((await specOf('nodes'))['type']).toBe(type), WITHIN);
    }
    await change(ours, at('plain'), () => ({ type: 'ExternalName', externalName: 'a.example' }));
    await vi.waitFor(async () => {
      expect(await specOf('plain')).toMatchObject({ externalName: 'a.example' });
    }, WITHIN);
    expect(await specOf('plain')).not.toHaveProperty('clusterIP');
    await change(ours, at('plain'), () => ({ type: 'ClusterIP', ports: [{ port: 80 }] }));
    await vi.waitFor(async () => {
      expect((await specOf('plain'))['clusterIP']).toMatch(/^\d/);
    }, WITHIN);
    await settled();

    expect(sync.summary).toMatchObject({ state: 'Synced', failed: 0 });
  });

  test('are created again where no update leads', async () => {
    const { uid } = (await theirs.get(there('sticky'))).metadata;
    await ours.delete(at('sticky'), await ours.get(at('sticky')));
    await give('sticky', { clusterIP: 'None', ports: [{ port: 80 }] });
    await vi.waitFor(async () => {
      expect((await specOf('sticky'))['clusterIP']).toBe('None');
    }, WITHIN);
    await settled();

    expect((await theirs.get(there('sticky'))).metadata.uid).not.toBe(uid);
  });

  test('stay where what would take their place is refused', async () => {
    await settled();
    const { uid } = (await theirs.get(there('plain'))).metadata;
    sync.update(patched([{ path: 'spec', expression: '({ ...value, clusterIP: "192.0.2.1" })' }]));
    await vi.waitFor(() => expect(stateOf('plain')?.reason).toBe('Invalid'), WITHIN);

    expect((await theirs.get(there('plain'))).metadata.uid).toBe(uid);
    sync.update(patched([]));
    await settled();
    expect(stateOf('plain')?.state).toBe('Synced');
  });

  test('are put right, but not where others have a say', async () => {
    await settled();
    const from = writes.length;
    const found = await theirs.get(there('plain'));
    const { metadata, spec } = found;
    const annotations = { ...metadata.annotations, 'cloud/id': 'lb-7' };
    await theirs.update(there('plain'), {
      ...found,
      metadata: { ...metadata, annotations },
      spec: { ...spec, sessionAffinity: 'ClientIP' },
    });
    await vi.waitFor(async () => {
      expect((await specOf('plain'))['sessionAffinity']).toBe('None');
    }, WITHIN);
    await settled();

    expect((await theirs.get(there('plain'))).metadata.annotations).toMatchObject({
      'cloud/id': 'lb-7',
    });
    expect(writes.slice(from)).toEqual(['update']);
  });

  test('Services of others are left alone', async () => {
    const { name } = there('own');
    const foreign = { apiVersion: 'v1', kind: 'Service', metadata: { name } };
    const spec = { clusterIP: 'None', ports: [{ port: 7 }] };
    await theirs.create({ plural: 'services', namespace: HOST_NAMESPACE }, { ...foreign, spec });
    await give('own', { ports: [{ port: 80 }] });
    await vi.waitFor(() => expect(stateOf('own')?.reason).toBe('ForeignObject'), WITHIN);
    await ours.delete(at('own'), await ours.get(at('own')));
    await vi.waitFor(() => expect(stateOf('own')).toBeUndefined(), WITHIN);

    expect(await specOf('own')).toMatchObject({ clusterIP: 'None', ports: [{ port: 7 }] });
  });

  test('go with those of the tenant', async () => {
    await ours.delete(at('balancer'), await ours.get(at('balancer')));
    await vi.waitFor(async () => {
      await expect(theirs.get(there('balancer'))).rejects.toMatchObject({ code: 404 });
    }, WITHIN);
  });
});
