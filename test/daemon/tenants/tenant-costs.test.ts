/** Clusters of tenants are read at most once a minute, and never while writes wait. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { TenantCosts } from '../../../src/daemon/tenants/tenant-costs.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import type { Store } from '../../../src/state/store.ts';
import { ClusterOfPods } from '../../support/cluster-of-pods.ts';
import { kinds, stateCodec } from '../../support/platform.ts';

let cluster: ClusterOfPods;
let folder: string;
let store: Store;
let tenants: Record<string, KubeObject>;
let waiting: number;
let suspension: string | undefined;

beforeEach(async () => {
  cluster = await ClusterOfPods.start();
  folder = mkdtempSync(join(tmpdir(), 'gitplane-costs-'));
  writeFileSync(join(folder, 'blue'), cluster.kubeconfig);
  const onError = (error: unknown): void => {
    throw error;
  };
  store = await openStore({ engine: new MemoryEngine(), codec: stateCodec, onError });
  tenants = { blue: tenant('blue') };
  waiting = 0;
  suspension = undefined;
});

afterEach(() => {
  cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

function tenant(name: string, { file = 'blue', uid = 'u' } = {}): KubeObject {
  const spec = { external: { gitplane: { source: { kubeconfig: { file } } } } };
  return { apiVersion: 'v1', kind: 'Tenant', metadata: { name, uid }, spec } as never;
}

function costs(longestMs = 20_000): TenantCosts {
  return new TenantCosts({
    tenants: { get: (name) => tenants[name], names: () => Object.keys(tenants) },
    kinds,
    store,
    branch: {
      get waiting() {
        return waiting;
      },
    },
    kubeconfigs: folder,
    suspended: () => suspension,
    clock: Date,
    longestMs,
  });
}

test('requests at the same time, and later ones, share one observation', async () => {
  const given = costs();
  const [first] = await Promise.all([given.usage(['blue']), given.usage(['blue'])]);
  const again = await given.usage(['blue']);

  expect(first[0]?.usage?.nodes).toBe(1);
  expect(again).toEqual(first);
  expect(cluster.requests).toEqual(['GET /api/v1/nodes', 'GET /api/v1/pods']);
});

test('a failure is cached too', async () => {
  cluster.judge = (_path, response) => {
    response.writeHead(500).end('{}');
    return true;
  };
  const given = costs();
  const [first] = await given.usage(['blue']);
  await given.usage(['blue']);

  expect(first?.unknown).toMatch(/^its cluster cannot be read: /);
  expect(cluster.requests).toEqual(['GET /api/v1/nodes']);
});

test('no cluster is asked while writes wait, and the reason is not cached', async () => {
  waiting = 1;
  const given = costs(150);

  expect(await given.usage(['blue'])).toEqual([
    { name: 'blue', unknown: 'its cluster was not asked yet, because writes wait: try again' },
  ]);
  expect(cluster.requests).toEqual([]);
  waiting = 0;
  const [usage] = await costs().usage(['blue']);
  expect(usage?.usage?.nodes).toBe(1);
  expect((await given.usage(['blue']))[0]?.unknown).toBeUndefined();
});

test('a tenant that was made anew is read anew', async () => {
  const given = costs();
  await given.usage(['blue']);
  tenants['blue'] = tenant('blue', { uid: 'another' });
  await given.usage(['blue']);

  expect(cluster.requests).toHaveLength(4);
});

test('tenants that no cluster is asked for have their reason', async () => {
  tenants = {
    served: { apiVersion: 'v1', kind: 'Tenant', metadata: { name: 'served' }, spec: {} } as never,
    nowhere: tenant('nowhere', { file: 'absent' }),
  };
  const found = await costs().usage(['served', 'nowhere', 'gone']);

  expect(found.map(({ name, unknown }) => [name, unknown])).toEqual([
    ['served', 'its cluster is served by the platform, which has no nodes and no pods'],
    ['nowhere', expect.stringMatching(/^its cluster cannot be read: cannot read .*ENOENT$/)],
    ['gone', 'the tenant is gone'],
  ]);
  suspension = 'suspended by ann';
  tenants = { blue: tenant('blue') };
  const [suspended] = await costs().usage(['blue']);
  expect(suspended?.unknown).toBe('its cluster is not asked: suspended by ann');
  expect(cluster.requests).toEqual([]);
});

test('a message of a cluster is one short line', async () => {
  cluster.judge = (_path, response) => {
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ message: `a\n\u001b[31m${'x'.repeat(5000)}` }));
    return true;
  };
  const [found] = await costs().usage(['blue']);

  expect(found?.unknown).toMatch(/^[^\p{Cc}]{100,400}$/u);
});
