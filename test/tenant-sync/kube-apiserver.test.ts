/**
 * The loop of a tenant between two real API servers of Kubernetes: what they fill in, refuse, forget
 * and call things. Built by `npm run kubernetes`, which takes minutes: where nobody did, this file
 * says so and tests nothing.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import type { PatchedTenant } from '../../src/endpoint-patches/tenant.ts';
import { ApiFailure } from '../../src/kubernetes-client/api-failure.ts';
import {
  accessFromKubeconfig,
  type ClusterAccess,
} from '../../src/kubernetes-client/cluster-access.ts';
import { KubeClient, type ResourceName } from '../../src/kubernetes-client/kube-client.ts';
import type { ObjectState } from '../../src/tenant-sync/object-states.ts';
import { SYNCED_KINDS } from '../../src/tenant-sync/synced-kinds.ts';
import { TenantSync } from '../../src/tenant-sync/tenant-sync.ts';
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts';
import { scratchDir } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): no loop ran between two', () => {});
}

const TOKEN = 'a-token';
const HOST_NAMESPACE = 'vcluster-blue';
const WITHIN = { timeout: 30_000, interval: 50 };
vi.setConfig({ testTimeout: 60_000 });

const PATCHES: readonly Patch[] = [
  {
    path: 'metadata.annotations["example.com/team"]',
    // What a server leaves out of lists is there all the same.
    expression: 'context.virtualObject.kind + "-" + value',
  },
  {
    path: 'subsets[*].addresses[*].targetRef',
    reference: { apiVersion: 'v1', kind: 'Pod', namePath: 'name' },
  },
];

function patched(patches: readonly Patch[]): PatchedTenant {
  const names = { name: 'blue', namespace: HOST_NAMESPACE, config: {} };
  return { tenant: { ...names, mode: 'single', referenceNames: 'short' }, patches };
}

let source: ApiServer;
let target: ApiServer;
let road: CutProxy;
/** Who is not the loop. */
let ours: KubeClient;
let theirs: KubeClient;
let engine: PatchEngine;
let running: Loop | undefined;

/** Its next update of an object comes second: somebody changes that just before. */
class RacingClient extends KubeClient {
  race = false;
  conflicts = 0;

  override async update(of: ResourceName, object: KubeObject): Promise<KubeObject> {
    if (this.race) {
      this.race = false;
      await change(theirs, of, (found) => labelled(found, { raced: 'yes' }));
    }
    return await super.update(of, object).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.code === 409) this.conflicts += 1;
      throw error;
    });
  }
}

interface Loop {
  readonly sync: TenantSync;
  readonly target: RacingClient;
  readonly writes: string[];
  stop(): Promise<void>;
}

function access(server: ApiServer, url = server.url): ClusterAccess {
  const ca = Buffer.from(server.ca).toString('base64');
  return accessFromKubeconfig(
    stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token: TOKEN } }],
    }),
  );
}

function startLoop(patches: readonly Patch[] = PATCHES): Loop {
  const from = new KubeClient(access(source, `https://127.0.0.1:${road.port}`));
  const to = new RacingClient(access(target));
  const writes: string[] = [];
  const sync = new TenantSync({
    kind: SYNCED_KINDS.Endpoints,
    source: from,
    target: to,
    patched: patched(patches),
    runner: engine,
    clock: Date,
    changed: () => undefined,
    wrote: (verb) => writes.push(verb),
    backoff: { firstMs: 20, lastMs: 200 },
  });
  sync.start();
  const stop = async (): Promise<void> => {
    await sync.stop();
    from.close();
    to.close();
  };
  return { sync, target: to, writes, stop };
}

function loop(): Loop {
  if (running === undefined) throw new Error('The loop does not run');
  return running;
}

async function settled(): Promise<void> {
  await vi.waitFor(() => expect(loop().sync.isSettled, summary()).toBe(true), WITHIN);
}

function summary(): string {
  return JSON.stringify(loop().sync.summary);
}

function stateOf(name: string): ObjectState | undefined {
  return loop().sync.states.find(({ source: { name: found } }) => found === name);
}

async function change(
  client: KubeClient,
  of: ResourceName,
  edit: (found: KubeObject) => KubeObject,
): Promise<KubeObject> {
  return await unlessChanged(async () => await client.update(of, edit(await client.get(of))));
}

async function remove(client: KubeClient, of: ResourceName): Promise<void> {
  await unlessChanged(async () => await client.delete(of, await client.get(of)));
}

/** Again when the loop or the server itself came first. */
async function unlessChanged<T>(work: () => Promise<T>): Promise<T> {
  for (let i = 0; ; i++) {
    try {
      return await work();
    } catch (error) {
      if (i > 20 || !(error instanceof ApiFailure) || error.code !== 409) throw error;
    }
  }
}

function labelled(object: KubeObject, labels: Record<string, string>): KubeObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
}

function endpoints(name: string, ip: string): KubeObject {
  const targetRef = { kind: 'Pod', name: `${name}-0`, namespace: 'shop' };
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name,
      labels: { app: name, release: 'r1' },
      annotations: { 'example.com/team': 'shop' },
    },
    // No protocol: the server fills in TCP.
    subsets: [{ addresses: [{ ip, targetRef }, { ip: '10.0.9.9' }], ports: [{ port: 80 }] }],
  };
}

/** Without an address of its own: a server that has just begun has none to give yet. */
function service(name: string, spec: object = {}): KubeObject {
  const headless = { clusterIP: 'None', ipFamilyPolicy: 'SingleStack' };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ...headless, ports: [{ port: 80 }], ...spec },
  };
}

async function fill(name: string, ip: string): Promise<void> {
  await ours.create({ plural: 'services', namespace: 'shop' }, service(name));
  await ours.create({ plural: 'endpoints', namespace: 'shop' }, endpoints(name, ip));
}

function at(name: string): ResourceName {
  return { plural: 'endpoints', namespace: 'shop', name };
}

function there(name: string): ResourceName {
  return { plural: 'endpoints', namespace: HOST_NAMESPACE, name: `${name}-x-shop-x-blue` };
}

async function codeOf(answer: Promise<unknown>): Promise<number> {
  return await answer.then(
    () => 200,
    (error: unknown) => (error instanceof ApiFailure ? error.code : -1),
  );
}

/** Of the first address, as the target has it. */
async function addressOf(name: string): Promise<unknown> {
  return firstAddress(await theirs.get(there(name)));
}

function firstAddress(object: KubeObject): { ip: string } {
  const [subset] = object['subsets'] as { addresses: { ip: string }[] }[];
  return subset?.addresses[0] as { ip: string };
}

async function eventsAbout(client: KubeClient, namespace: string, name: string) {
  const { items } = await client.list({ plural: 'events', namespace });
  return items.filter((event) => (event['involvedObject'] as { name: string }).name === name);
}

/** More than one page of a list. */
const IDLE = 520;

describe.skipIf(!hasApiServer)('the loop between two API servers of Kubernetes', () => {
  beforeAll(async () => {
    const tokens = join(scratchDir(), 'tokens.csv');
    writeFileSync(tokens, `${TOKEN},tester,tester-uid\n`);
    const known = `--token-auth-file=${tokens}`;
    // The source forgets its past within seconds.
    const forgetful = ['--watch-cache=false', '--etcd-compaction-interval=1s'];
    [source, target] = await Promise.all([
      startApiServer([known, ...forgetful]),
      startApiServer([known]),
    ]);
    road = await startCutProxy(Number(new URL(source.url).port));
    ours = new KubeClient(access(source));
    theirs = new KubeClient(access(target));
    engine = new PatchEngine();
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await ours.create({ plural: 'namespaces' }, shop);
    for (const [i, name] of ['db', 'web', 'mail'].entries()) await fill(name, `10.0.0.${i + 1}`);
    await ours.create({ plural: 'services', namespace: 'shop' }, service('picks', SELECTOR));
    await ours.create({ plural: 'endpoints', namespace: 'shop' }, endpoints('picks', '10.0.0.8'));
    const names = Array.from({ length: IDLE }, (_, i) => `idle-${i}`);
    const idle = async (name: string): Promise<unknown> =>
      await ours.create({ plural: 'endpoints', namespace: 'shop' }, endpoints(name, '10.1.1.1'));
    while (names.length > 0) await Promise.all(names.splice(0, 40).map(idle));
    running = startLoop();
  });

  afterAll(async () => {
    await running?.stop();
    for (const client of [ours, theirs]) client?.close();
    await engine?.close();
    await road?.close();
    await Promise.all([source?.stop(), target?.stop()]);
  });

  const SELECTOR = { selector: { app: 'picks' } };

  test('creates the namespace and its objects once', async () => {
    await settled();

    expect(loop().sync.summary).toMatchObject({ state: 'Synced', synced: 3, failed: 0, stale: 0 });
    const found = await theirs.get(there('db'));
    expect(found.metadata.annotations).toMatchObject({ 'example.com/team': 'Endpoints-shop' });
    expect(found.metadata.labels).toMatchObject({
      app: 'db',
      'gitplane.dev/managed-by': 'blue',
      'gitplane.dev/label-blue-x-a4d451ec23': 'r1',
    });
    expect(firstAddress(found)).toEqual({
      ip: '10.0.0.1',
      targetRef: { kind: 'Pod', name: expect.stringMatching(/^v/), namespace: HOST_NAMESPACE },
    });
    expect(loop().writes).toEqual(['create', 'create', 'create']);
  });

  test('skips objects that it does not sync, such as the API server itself', () => {
    expect(stateOf('kubernetes')).toMatchObject({ state: 'Skipped', reason: 'ApiServer' });
    expect(stateOf('picks')).toMatchObject({ state: 'Skipped', reason: 'ServiceHasSelector' });
    expect(loop().sync.summary.skipped).toBe(IDLE + 2);
  });

  test('finds all pages as it left them after a restart, and writes nothing', async () => {
    await loop().stop();
    running = startLoop();
    await settled();

    expect(loop().sync.summary).toMatchObject({ synced: 3, skipped: IDLE + 2 });
    expect(loop().writes).toEqual([]);
  });

  test('leaves objects alone that it does not own', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'its-uid' };
    await change(theirs, there('mail'), ({ metadata, ...found }) => ({
      ...found,
      metadata: { ...metadata, ownerReferences: [owner] },
    }));
    await change(theirs, there('web'), (found) => labelled(found, { drift: 'yes' }));

    await vi.waitFor(async () => {
      expect((await theirs.get(there('web'))).metadata.labels).not.toHaveProperty('drift');
    }, WITHIN);
    await settled();
    expect(loop().writes).toEqual(['update']);
  });

  test('restores objects that others change or delete', async () => {
    const { resourceVersion } = (await theirs.get(there('db'))).metadata;
    await change(theirs, there('db'), (found) => ({ ...labelled(found, { a: 'b' }), subsets: [] }));
    await remove(theirs, there('web'));

    await vi.waitFor(async () => {
      expect(await addressOf('db')).toMatchObject({ ip: '10.0.0.1' });
      expect(await addressOf('web')).toMatchObject({ ip: '10.0.0.2' });
    }, WITHIN);
    const { metadata } = await theirs.get(there('db'));
    expect(metadata.labels).not.toHaveProperty('a');
    expect(metadata.resourceVersion).not.toBe(resourceVersion);
  });

  test('retries a write after a concurrent change', async () => {
    await settled();
    loop().target.race = true;
    await change(ours, at('db'), (found) => ({
      ...found,
      subsets: [{ addresses: [{ ip: '10.0.3.3' }], ports: [{ port: 81 }] }],
    }));

    await vi.waitFor(
      async () => expect(await addressOf('db')).toMatchObject({ ip: '10.0.3.3' }),
      WITHIN,
    );
    expect(loop().target.conflicts).toBe(1);
    expect((await theirs.get(there('db'))).metadata.labels).not.toHaveProperty('raced');
  });

  test('deletes objects that are gone, and those with a selector by now', async () => {
    await remove(ours, at('web'));
    const mail = { plural: 'services', namespace: 'shop', name: 'mail' };
    await change(ours, mail, (found) => ({
      ...found,
      spec: { ...(found['spec'] as object), selector: { app: 'mail' } },
    }));

    await vi.waitFor(async () => {
      expect(await codeOf(theirs.get(there('web')))).toBe(404);
      expect(await codeOf(theirs.get(there('mail')))).toBe(404);
    }, WITHIN);
    expect(stateOf('web')).toBeUndefined();
    expect(stateOf('mail')).toMatchObject({ reason: 'ServiceHasSelector' });
  });

  test('leaves foreign objects, and reports them at both ends', async () => {
    const { metadata, ...rest } = endpoints('own', '10.4.4.4');
    const { name } = there('own');
    const foreign = { ...rest, metadata: { ...metadata, name } };
    await theirs.create({ plural: 'endpoints', namespace: HOST_NAMESPACE }, foreign);
    await fill('own', '10.0.0.4');

    await vi.waitFor(
      () => expect(stateOf('own')).toMatchObject({ state: 'Failed', reason: 'ForeignObject' }),
      WITHIN,
    );
    expect(await addressOf('own')).toMatchObject({ ip: '10.4.4.4' });
    await vi.waitFor(async () => {
      const event = { type: 'Warning', reason: 'SyncError' };
      expect(await eventsAbout(ours, 'shop', 'own')).toMatchObject([event]);
      expect(await eventsAbout(theirs, HOST_NAMESPACE, name)).toMatchObject([event]);
    }, WITHIN);
    const [event] = await eventsAbout(ours, 'shop', 'own');
    expect(event?.['involvedObject']).toMatchObject({ apiVersion: 'v1', kind: 'Endpoints' });
    await remove(theirs, there('own'));
    await vi.waitFor(
      async () => expect(await addressOf('own')).toMatchObject({ ip: '10.0.0.4' }),
      WITHIN,
    );
  });

  test('tells what the server says of a result that is no Endpoints', async () => {
    const wrong = { path: 'subsets[*].addresses[*].ip', expression: 'value + ".x"' };
    loop().sync.update(patched([...PATCHES, wrong]));

    await vi.waitFor(
      () => expect(stateOf('db')).toMatchObject({ state: 'Failed', reason: 'Invalid' }),
      WITHIN,
    );
    expect(stateOf('db')?.message).toMatch(/10\.0\.3\.3\.x.*must be a valid IP address/);
    expect(await addressOf('db')).toMatchObject({ ip: '10.0.3.3' });
    loop().sync.update(patched(PATCHES));
    await settled();
    expect(stateOf('db')).toMatchObject({ state: 'Synced' });
  });

  test('lists again when the source has forgotten where its watch was', async () => {
    await settled();
    const { lists } = loop().sync;
    const old = (await ours.list({ plural: 'endpoints' })).resourceVersion;
    road.refusing = true;
    road.cut();
    await remove(ours, at('own'));
    await change(ours, at('db'), (found) => ({
      ...found,
      subsets: [{ addresses: [{ ip: '10.0.5.5' }], ports: [{ port: 82 }] }],
    }));
    await vi.waitFor(async () => expect(await watchedFrom(old)).toBe(410), WITHIN);
    expect(loop().sync.summary).toMatchObject({ state: 'Stale', reason: 'Unreachable' });
    road.refusing = false;

    await vi.waitFor(async () => {
      expect(await codeOf(theirs.get(there('own')))).toBe(404);
      expect(await addressOf('db')).toMatchObject({ ip: '10.0.5.5' });
    }, WITHIN);
    await settled();
    expect(loop().sync.lists).toBeGreaterThan(lists);
  });

  test('goes on when the source was killed and is back', async () => {
    await source.stop();
    await vi.waitFor(() => expect(loop().sync.summary.state).toBe('Stale'), WITHIN);
    source = await source.startAgain();
    await fill('late', '10.0.0.6');

    await vi.waitFor(
      async () => expect(await addressOf('late')).toMatchObject({ ip: '10.0.0.6' }),
      WITHIN,
    );
    await settled();
    expect(loop().sync.summary).toMatchObject({ state: 'Synced', synced: 2 });
  });
});

/** What a watch from this version ends with; 0: it is well. */
async function watchedFrom(resourceVersion: string): Promise<number> {
  const end = new AbortController();
  const options = { resourceVersion, seconds: 1, signal: end.signal, opened: () => undefined };
  try {
    for await (const event of ours.watch({ plural: 'endpoints' }, options)) {
      return event.type === 'ERROR' ? event.failure.code : 0;
    }
    return 0;
  } catch (error) {
    return error instanceof ApiFailure ? error.code : -1;
  } finally {
    end.abort();
  }
}
