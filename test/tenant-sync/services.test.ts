/** Services of a tenant, on the control-plane cluster beside their Endpoints. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import type { TenantCluster } from '../../src/endpoint-patches/tenant.ts';
import {
  mustReplaceService,
  translateService,
  withAssigned,
} from '../../src/tenant-sync/services.ts';
import {
  eventually,
  startTenantClusters,
  type TenantClusters,
} from '../support/tenant-clusters.ts';

const tenant: TenantCluster = {
  ...{ name: 'blue', namespace: 'vc-ns', config: {} },
  ...{ mode: 'single', referenceNames: 'short' },
};

function service(spec: object, metadata: object = {}, more: object = {}): KubeObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: { name: 'db', namespace: 'shop', ...metadata },
    spec,
    ...more,
  } as KubeObject;
}

describe('the translation', () => {
  const ASSIGNED = {
    ...{ clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7'], ipFamilies: ['IPv4'] },
    healthCheckNodePort: 31_000,
  };
  const PORT = { port: 80, protocol: 'TCP', targetPort: 80 };
  const CLUSTER = {
    ...{ type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' },
  };

  test.each<[string, object, object]>([
    ['an empty spec has the defaults', {}, CLUSTER],
    [
      'assigned addresses and ports of nodes stay behind',
      { type: 'NodePort', ...ASSIGNED, ports: [{ port: 80, nodePort: 30_080 }] },
      { ...CLUSTER, type: 'NodePort', externalTrafficPolicy: 'Cluster', ports: [PORT] },
    ],
    [
      'a headless Service stays headless',
      { clusterIP: 'None', clusterIPs: ['None'], ipFamilyPolicy: 'RequireDualStack' },
      { ...CLUSTER, clusterIP: 'None', ipFamilyPolicy: 'RequireDualStack' },
    ],
    [
      'a balancer keeps what it says of itself',
      { type: 'LoadBalancer', loadBalancerClass: 'x/y', externalTrafficPolicy: 'Local' },
      {
        ...CLUSTER,
        ...{ type: 'LoadBalancer', loadBalancerClass: 'x/y', externalTrafficPolicy: 'Local' },
        allocateLoadBalancerNodePorts: true,
      },
    ],
    [
      'an external name has no traffic policy',
      { type: 'ExternalName', externalName: 'db.example.com' },
      { type: 'ExternalName', externalName: 'db.example.com', sessionAffinity: 'None' },
    ],
    [
      'a selector leads to pods of the namespace of the tenant alone',
      { selector: { app: 'db', release: 'r' } },
      {
        ...CLUSTER,
        selector: {
          app: 'db',
          'gitplane.dev/label-blue-x-a4d451ec23': 'r',
          'gitplane.dev/managed-by': 'blue',
          'gitplane.dev/namespace': 'shop',
        },
      },
    ],
    [
      'nothing that is no selector leads elsewhere',
      { selector: { matchLabels: { 'gitplane.dev/managed-by': 'red' } } },
      {
        ...CLUSTER,
        selector: {
          matchLabels: expect.not.objectContaining({ 'gitplane.dev/managed-by': 'red' }),
          ...{ 'gitplane.dev/managed-by': 'blue', 'gitplane.dev/namespace': 'shop' },
        },
      },
    ],
    ['an empty selector selects nothing', { selector: {} }, { ...CLUSTER, selector: {} }],
    [
      'affinity has its default time',
      { sessionAffinity: 'ClientIP' },
      {
        ...CLUSTER,
        sessionAffinity: 'ClientIP',
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
      },
    ],
  ])('%s', (_title, spec, expected) => {
    const given = service(spec, {}, { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } });
    const before = JSON.stringify(given);
    const made = translateService(given, tenant);

    expect(made.spec).toEqual(expected);
    expect(made.status).toBeUndefined();
    expect(made.metadata).toMatchObject({
      ...{ name: 'db-x-shop-x-blue', namespace: 'vc-ns' },
      annotations: { 'gitplane.dev/object-kind': '/v1, Kind=Service' },
    });
    expect(JSON.stringify(given)).toBe(before);
  });

  const THERE = {
    ...{ clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'], ipFamilies: ['IPv4'] },
    ...{ ipFamilyPolicy: 'SingleStack', healthCheckNodePort: 32_000, type: 'LoadBalancer' },
    ports: [{ port: 80, protocol: 'TCP', nodePort: 30_001 }],
  };
  const ADDRESSES = {
    ...{ clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'], ipFamilies: ['IPv4'] },
    ipFamilyPolicy: 'SingleStack',
  };

  test.each<[string, object, object]>([
    ['addresses', { type: 'ClusterIP' }, { type: 'ClusterIP', ...ADDRESSES }],
    [
      'ports of nodes, by number and protocol',
      { type: 'NodePort', ports: [{ port: 80 }, { port: 80, protocol: 'UDP' }, { port: 81 }] },
      {
        ...{ type: 'NodePort', ...ADDRESSES },
        ports: [{ port: 80, nodePort: 30_001 }, { port: 80, protocol: 'UDP' }, { port: 81 }],
      },
    ],
    [
      'no port of a node for a type that has none',
      { type: 'ClusterIP', ports: [{ port: 80 }] },
      { type: 'ClusterIP', ports: [{ port: 80 }], ...ADDRESSES },
    ],
    [
      'a port of a node that a patch gave wins',
      { type: 'NodePort', ports: [{ port: 80, nodePort: 30_500 }] },
      { type: 'NodePort', ports: [{ port: 80, nodePort: 30_500 }], ...ADDRESSES },
    ],
    [
      'the port of health checks with the policy that has one',
      { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
      {
        ...{ type: 'LoadBalancer', externalTrafficPolicy: 'Local', ...ADDRESSES },
        healthCheckNodePort: 32_000,
      },
    ],
    ['nothing for an external name', { type: 'ExternalName' }, { type: 'ExternalName' }],
  ])('takes over from the control-plane cluster: %s', (_title, wanted, expected) => {
    expect(withAssigned(service(wanted), service(THERE)).spec).toEqual(expected);
  });

  test('keeps annotations that others added, and none that it wrote itself', () => {
    const actual = service(
      {},
      {
        annotations: {
          'cloud/id': 'lb-7',
          old: 'x',
          'gitplane.dev/managed-annotations': 'old\nteam',
        },
      },
    );
    const wanted = service({}, { annotations: { team: 'a' } });

    expect(withAssigned(wanted, actual).metadata.annotations).toEqual({
      'cloud/id': 'lb-7',
      team: 'a',
    });
  });

  test.each<[string, object, object, boolean]>([
    ['the same address', {}, { clusterIP: '10.0.0.9' }, false],
    ['headless, and was not', { clusterIP: 'None' }, { clusterIP: '10.0.0.9' }, true],
    ['not headless any more', {}, { clusterIP: 'None' }, true],
    ['headless as before', { clusterIP: 'None' }, { clusterIP: 'None' }, false],
    ['a name by now', { type: 'ExternalName' }, { clusterIP: '10.0.0.9' }, false],
    ['a name until now', { clusterIP: 'None' }, { type: 'ExternalName' }, false],
    ['another address by a patch', { clusterIP: '10.0.0.8' }, { clusterIP: '10.0.0.9' }, true],
  ])('replaces a Service where no update leads: %s', (_title, wanted, actual, expected) => {
    expect(mustReplaceService(service(wanted), service(actual))).toBe(expected);
  });
});

let clusters: TenantClusters;
let count = 0;

beforeAll(async () => {
  clusters = await startTenantClusters();
});
afterEach(() => {
  clusters.judge = () => undefined;
});
afterAll(() => clusters.close());

function settings(services: object, endpoints: object = {}): object {
  return { sync: { toHost: { endpoints, services } } };
}

/** A tenant with the Service `default/db` and its Endpoints. */
async function scene(spec: object = {}) {
  const name = `t${++count}`;
  clusters.tenant(name, spec);
  await eventually(() => clusters.loops.states(name));
  await clusters.give(name, 'db');
  await eventually(() => clusters.state(name, 'db')?.state === 'Synced');
  const asService = (path: string): string => path.replace('/endpoints/', '/services/');
  const source = asService(clusters.source(name, 'db'));
  const target = asService(clusters.target(`db-x-default-x-${name}`, `vcluster-${name}`));
  const writes = (): string[] => clusters.writes.filter((line) => line.endsWith(target));
  return {
    ...{ name, source, target, writes },
    there: () => clusters.call('GET', target),
    state: () => clusters.serviceState(name, 'db'),
  };
}

describe('a Service of a tenant', () => {
  // covers: sync.toHost.services.enabled
  test('is on the control-plane cluster, changes with the tenant, and goes', async () => {
    const { source, there, state } = await scene();
    await eventually(() => state()?.state === 'Synced');
    expect((await there())?.spec).toMatchObject({ ports: [{ port: 80, protocol: 'TCP' }] });
    await clusters.call('PATCH', source, { spec: { sessionAffinity: 'ClientIP' } });
    await eventually(async () => (await there())?.spec?.['sessionAffinity'] === 'ClientIP');
    await clusters.call('PATCH', source, { spec: { sessionAffinity: null } });
    await eventually(async () => (await there())?.spec?.['sessionAffinity'] === 'None');
    await clusters.call('DELETE', source);

    await eventually(async () => (await there()) === undefined);
  });

  test('a Service with a selector is synced, and its Endpoints are not', async () => {
    const { name, source, there, state } = await scene();
    await clusters.call('PATCH', source, { spec: { selector: { app: 'db' } } });
    await eventually(() => clusters.state(name, 'db')?.reason === 'ServiceHasSelector');
    await eventually(async () => (await there())?.spec?.['selector']);

    expect((await there())?.spec?.['selector']).toEqual({
      app: 'db',
      'gitplane.dev/managed-by': name,
      'gitplane.dev/namespace': 'default',
    });
    expect(state()?.state).toBe('Synced');
  });

  test('does not fight over what the control-plane cluster assigns', async () => {
    const { name, target, writes, there, state } = await scene();
    await eventually(() => state()?.state === 'Synced');
    await clusters.call('PATCH', target, {
      metadata: { annotations: { 'cloud/id': 'lb-7' } },
      spec: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'], ipFamilies: ['IPv4'] },
    });
    await clusters.call('PATCH', target, { metadata: { labels: { drift: 'yes' } } });
    await eventually(async () => !(await there())?.metadata.labels?.['drift']);

    expect((await there())?.spec).toMatchObject({ clusterIP: '10.0.0.9', ipFamilies: ['IPv4'] });
    expect((await there())?.metadata.annotations).toMatchObject({ 'cloud/id': 'lb-7' });
    // Another object had its turn since: one update put the label right, and none came after it.
    await clusters.give(name, 'later');
    await eventually(() => clusters.serviceState(name, 'later')?.state === 'Synced');
    expect(writes().filter((line) => line.startsWith('PUT')).length).toBe(1);
  });

  test('a Service that becomes headless is created again', async () => {
    const { source, target, there } = await scene();
    await eventually(there);
    await clusters.call('PATCH', target, { spec: { clusterIP: '10.0.0.9' } });
    const before = await there();
    await clusters.call('PATCH', source, { spec: { clusterIP: 'None' } });
    await eventually(async () => (await there())?.spec?.['clusterIP'] === 'None');

    expect((await there())?.metadata.uid).not.toBe(before?.metadata.uid);
  });

  test('leaves a foreign Service of its name alone, also when it goes', async () => {
    const { name, source, target, there, state } = await scene();
    await eventually(there);
    await clusters.call('PATCH', target, {
      metadata: { labels: { 'gitplane.dev/managed-by': null } },
      spec: { externalIPs: ['192.0.2.1'] },
    });
    await eventually(() => state()?.reason === 'ForeignObject');
    expect(clusters.state(name, 'db')?.state).toBe('Synced');
    await eventually(() => clusters.status(name)?.reason === 'ForeignObject');
    expect(clusters.status(name)).toMatchObject({ state: 'Failed', failed: 0 });
    await clusters.call('PATCH', source, { spec: { clusterIP: 'None' } });
    await clusters.call('DELETE', source);
    await eventually(() => state() === undefined);

    expect((await there())?.spec).toMatchObject({ externalIPs: ['192.0.2.1'] });
    expect((await there())?.spec).not.toHaveProperty('clusterIP');
  });

  test('is patched by the patches on Services and by no others', async () => {
    const patch = (expression: string): object => ({
      patches: [{ path: 'spec.ports[*]', expression }],
    });
    const spec = settings(patch('({ ...value, nodePort: 30080 })'), {
      patches: [{ path: 'metadata.labels', expression: '({ ...value, only: "endpoints" })' }],
    });
    const { there, state } = await scene(spec);
    await eventually(() => state()?.state === 'Synced');

    expect((await there())?.spec).toMatchObject({ ports: [{ port: 80, nodePort: 30_080 }] });
    expect((await there())?.metadata.labels).not.toHaveProperty('only');
  });

  test('gets labels back that a reverseExpression names', async () => {
    const pair = {
      path: 'metadata.labels.team',
      expression: '"blue-" + value',
      reverseExpression: 'value.replace(/^blue-/, "")',
    };
    const { source, target, there } = await scene(settings({ patches: [pair] }));
    await clusters.call('PATCH', source, { metadata: { labels: { team: 'a' } } });
    await eventually(async () => (await there())?.metadata.labels?.['team'] === 'blue-a');
    await clusters.call('PATCH', target, { metadata: { labels: { team: 'blue-b' } } });
    await eventually(async () => {
      return (await clusters.call('GET', source))?.metadata.labels?.['team'] === 'b';
    });

    expect((await there())?.metadata.labels?.['team']).toBe('blue-b');
    expect((await clusters.call('GET', source))?.metadata.labels).toEqual({ team: 'b' });
  });

  test('the Service of the API server itself is not synced', async () => {
    const { name } = await scene();
    await clusters.give(name, 'kubernetes');
    await eventually(() => clusters.serviceState(name, 'kubernetes')?.reason === 'ApiServer');
  });

  test('a Service that is not synced leaves its Endpoints synced, and existing objects', async () => {
    const { name, source, there } = await scene();
    await eventually(there);
    clusters.tenant(name, settings({ enabled: false }));
    await eventually(() => clusters.serviceState(name, 'db') === undefined);
    await eventually(() => clusters.state(name, 'db')?.state === 'Synced');
    await clusters.call('PATCH', source, { spec: { sessionAffinity: 'ClientIP' } });
    await clusters.give(name, 'later');
    await eventually(() => clusters.state(name, 'later')?.state === 'Synced');

    expect((await there())?.spec?.['sessionAffinity']).toBe('None');
    // It goes with the tenant all the same.
    clusters.tenant(`keeper-${name}`, {});
    clusters.tenant(name, undefined);
    await eventually(async () => (await there()) === undefined);
  });

  test('a Service that cannot be read there does not stop Endpoints', async () => {
    clusters.judge = ({ method, path }) =>
      method === 'GET' && path.includes('/cluster/local/') && path.includes('/services')
        ? { code: 403, reason: 'Forbidden' }
        : undefined;
    const { name } = await scene();
    // Stale before as well, while the clusters are read and objects wait for their turn.
    const problem = /^Services: the control-plane cluster/;
    await eventually(() => problem.test(clusters.status(name)?.message ?? ''));

    expect(clusters.status(name)?.state).toBe('Stale');
    // A kubeconfig that reaches Endpoints alone does not keep the tenant from going.
    clusters.tenant(`keeper-${name}`, {});
    clusters.tenant(name, undefined);
    const endpoints = clusters.target(`db-x-default-x-${name}`, `vcluster-${name}`);
    await eventually(async () => (await clusters.call('GET', endpoints)) === undefined);
    await eventually(() => clusters.log.some((line) => line.includes('may not list them')));
    expect(clusters.log.some((line) => line.includes('cannot be removed yet'))).toBe(false);
  });
});
