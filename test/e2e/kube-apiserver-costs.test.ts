/**
 * Costs of a tenant whose cluster is a real API server of Kubernetes with etcd: nodes and pods are made
 * through its API, and its RBAC judges the kubeconfig. Built by `npm run kubernetes`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import type { KubeClient } from '../../src/kubernetes-client/kube-client.ts';
import { API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';
import { clientWith, kubeconfigOf } from '../support/kube-apiserver/token-access.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): no costs were computed', () => {});
}

vi.setConfig({ hookTimeout: 180_000, testTimeout: 60_000 });

const ROOT_TOKEN = 'root-token';
const READER_TOKEN = 'reader-token';
const STRANGER_TOKEN = 'stranger-token';
const GROUP = 'rbac.authorization.k8s.io';
const GIB = 2 ** 30;
const CONFIG = `costControl:
  enabled: true
  settings:
    priceCurrency: EUR
    averageCPUPricePerNode: {price: 73, timePeriod: Monthly}
    averageRAMPricePerNode: {price: 146, timePeriod: Monthly}
`;

/** 15.5 cores and 62 GiB together. The server takes the capacity of the third for its allocatable. */
const NODES: Readonly<Record<string, object>> = {
  small: { allocatable: { cpu: '3500m', memory: '14Gi' }, capacity: { cpu: '4', memory: '16Gi' } },
  middle: { allocatable: { cpu: '4', memory: '16384Mi' }, capacity: { cpu: '4', memory: '16Gi' } },
  large: { capacity: { cpu: '8', memory: '32Gi', 'example.com/gpu': '4' } },
};

const requests = (cpu: string, memory: string): object => ({
  resources: { requests: { cpu, memory } },
});

/** Cores and GiB that count, behind each pod; 8.5 and 9.5 together. */
const PODS: Readonly<
  Record<string, { readonly nodeName?: string; readonly [field: string]: unknown }>
> = {
  // 1.5 cores, 1.5 GiB: a limit stands for an absent request.
  web: {
    nodeName: 'small',
    containers: [requests('500m', '512Mi'), { resources: { limits: { cpu: '1', memory: '1Gi' } } }],
  },
  // 3 cores, 2 GiB: the larger of the init container and the container.
  init: {
    nodeName: 'middle',
    initContainers: [requests('3', '1Gi')],
    containers: [requests('1', '2Gi')],
  },
  // 1.25 cores, 1.25 GiB: a sidecar runs beside the container.
  sidecar: {
    nodeName: 'middle',
    initContainers: [{ ...requests('250m', '256Mi'), restartPolicy: 'Always' }],
    containers: [requests('1', '1Gi')],
  },
  // 2 cores, 4 GiB, and what has no price.
  gpu: {
    nodeName: 'large',
    containers: [{ resources: { limits: { cpu: '2', memory: '4Gi', 'example.com/gpu': '2' } } }],
  },
  // 0.75 cores, 0.75 GiB: resources of the pod.
  whole: { nodeName: 'large', ...requests('750m', '768Mi'), containers: [{}] },
  // Nothing: no request, no node, and an end.
  bare: { nodeName: 'large', containers: [{}] },
  waiting: { containers: [requests('1', '1Gi')] },
  done: { nodeName: 'large', containers: [requests('4', '4Gi')] },
};

let daemon: Daemon;
let cluster: ApiServer;
let root: KubeClient;

function withNames(containers: unknown, prefix: string): readonly object[] {
  return ((containers ?? []) as readonly object[]).map((container, index) => ({
    name: `${prefix}-${index}`,
    image: 'example.com/none',
    ...container,
  }));
}

async function makePods(): Promise<void> {
  await root.create({ plural: 'namespaces' }, { metadata: { name: 'shop' } } as never);
  const of = { plural: 'pods', namespace: 'shop' };
  for (const [name, spec] of Object.entries(PODS)) {
    const pod: unknown = {
      metadata: { name },
      spec: {
        ...spec,
        initContainers: withNames(spec['initContainers'], 'init'),
        containers: withNames(spec['containers'], 'main'),
      },
    };
    await root.create(of, pod as KubeObject);
  }
  const done = await root.get({ ...of, name: 'done' });
  const status = { ...(done['status'] as object), phase: 'Succeeded' };
  await root.update({ ...of, name: 'done/status' }, { ...done, status } as never);
}

async function makeReader(): Promise<void> {
  const metadata = { name: 'costs' };
  const rules = [{ apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['list'] }];
  await root.create({ group: GROUP, plural: 'clusterroles' }, { metadata, rules } as never);
  const roleRef = { apiGroup: GROUP, kind: 'ClusterRole', name: 'costs' };
  const subjects = [{ apiGroup: GROUP, kind: 'User', name: 'reader' }];
  const binding = { metadata, roleRef, subjects };
  await root.create({ group: GROUP, plural: 'clusterrolebindings' }, binding as never);
}

async function makeTenants(): Promise<void> {
  const folder = join(daemon.dataDir, 'kubeconfigs');
  mkdirSync(folder, { recursive: true });
  const clone = await daemon.clone();
  for (const [name, token] of [
    ['blue', READER_TOKEN],
    ['red', STRANGER_TOKEN],
  ] as const) {
    writeFileSync(join(folder, name), kubeconfigOf(cluster, token));
    mkdirSync(join(clone, 'tenants', name), { recursive: true });
    const off = 'sync: {toHost: {endpoints: {enabled: false}, services: {enabled: false}}}\n';
    const own = `external: {gitplane: {source: {kubeconfig: {file: ${name}}}}}\n${off}`;
    writeFileSync(join(clone, 'tenants', name, 'vcluster.yaml'), own);
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-qm', 'Tenants'], clone);
  const { code, stderr } = await daemon.git(['push', '-q'], clone);
  expect(code, stderr).toBe(0);
}

describe.skipIf(!hasApiServer)('kube-apiserver', () => {
  beforeAll(async () => {
    const tokens = join(scratchDir(), 'tokens.csv');
    writeFileSync(
      tokens,
      `${ROOT_TOKEN},root,root,system:masters\n${READER_TOKEN},reader,reader\n${STRANGER_TOKEN},stranger,stranger\n`,
    );
    [daemon, cluster] = await Promise.all([
      startDaemon(),
      startApiServer([`--token-auth-file=${tokens}`], { authorization: 'RBAC' }),
    ]);
    root = clientWith(cluster, ROOT_TOKEN);
    for (const [name, status] of Object.entries(NODES)) {
      const made = await root.create({ plural: 'nodes' }, { metadata: { name } } as never);
      await root.update({ plural: 'nodes', name: `${name}/status` }, { ...made, status } as never);
    }
    await makePods();
    await makeReader();
    await makeTenants();
    const type = 'application/merge-patch+json';
    const body = { spec: { raw: CONFIG } };
    const configured = await daemon.call('PATCH', `${API}/config/platform`, { type, body });
    expect(configured.code, configured.text).toBe(200);
  });

  afterAll(async () => {
    root?.close();
    await cluster?.stop();
    await daemon?.stop();
  });

  test('sums are those computed by hand, and what has no price is named', async () => {
    const answer = await daemon.call('GET', '/costs');

    expect(answer.code, answer.text).toBe(200);
    const { items, total } = answer.json();
    expect(items[0]).toMatchObject({
      ...{ name: 'blue', nodes: 3, pods: 6 },
      // 8.5 / 15.5 * 3 * 73, and 9.5 / 62 * 3 * 146.
      cpu: { requested: 8.5, capacity: 15.5, perMonth: expect.closeTo(120.0968, 4) },
      memory: { requested: 9.5 * GIB, capacity: 62 * GIB, perMonth: expect.closeTo(67.1129, 4) },
      total: { perHour: expect.closeTo(0.256452, 6), perMonth: expect.closeTo(187.2097, 4) },
    });
    expect(items[0].unknown).toEqual([
      { what: 'cpu', reason: '1 pod with a container that requests none: counted as zero' },
      { what: 'memory', reason: '1 pod with a container that requests none: counted as zero' },
      { what: 'tenant', reason: '1 pod without a node: not counted' },
      { what: 'tenant', reason: 'pods request 2 of example.com/gpu: no price, not counted' },
    ]);
    expect(total).toMatchObject({ tenants: 1, perMonth: expect.closeTo(187.2097, 4) });
  });

  test('the list of nodes and pods is the only right that is needed, and a lack of it is named', async () => {
    const { items } = (await daemon.call('GET', '/costs')).json();

    expect(items[1]).toMatchObject({ name: 'red' });
    expect(items[1]).not.toHaveProperty('total');
    expect(items[1].unknown).toEqual([
      { what: 'tenant', reason: expect.stringMatching(/nodes is forbidden: User "stranger"/) },
    ]);
  });
});
