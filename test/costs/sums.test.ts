/** Costs of tenants from prices, nodes and pods. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { costsOf } from '../../src/costs/sums.ts';
import { addUsage, usageOf } from '../../src/costs/usage.ts';

function node(allocatable: object, more: object = {}): KubeObject {
  const metadata = { name: 'n' };
  return { apiVersion: 'v1', kind: 'Node', metadata, status: { allocatable, ...more } } as never;
}

interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly unknown[];
  readonly [field: string]: unknown;
}

function pod(spec: PodSpec, phase = 'Running'): KubeObject {
  const given = { nodeName: 'n', ...spec };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: given,
    status: { phase },
  } as never;
}

const container = (cpu?: unknown, memory?: unknown): object => ({
  resources: { requests: { ...(cpu ? { cpu } : {}), ...(memory ? { memory } : {}) } },
});
const sidecar = (cpu: string): object => ({ ...container(cpu), restartPolicy: 'Always' });

const NODE = node({ cpu: '4', memory: '8Gi' });
const MONTHLY = {
  averageCPUPricePerNode: { price: 73, timePeriod: 'Monthly' },
  averageRAMPricePerNode: { price: 146, timePeriod: 'Monthly' },
};

describe('requests of pods', () => {
  test.each([
    ['containers add up', { containers: [container('500m'), container('1')] }, 1.5],
    ['a limit is the request where that is absent', limited('2'), 2],
    ['a request wins over the limit', limited('2', '1'), 1],
    ['the largest init container counts', { ...inits(container('3')), ...one('1') }, 3],
    ['init containers run one after the other', { ...inits(container('1'), container('2')) }, 2],
    ['a sidecar runs beside the containers', { ...inits(sidecar('1')), ...one('2') }, 3],
    [
      'an init container runs beside the sidecars before it',
      { ...inits(sidecar('1'), container('3'), sidecar('1')), ...one('1') },
      4,
    ],
    ['the overhead is added', { ...one('1'), overhead: { cpu: '250m' } }, 1.25],
    [
      'resources of the pod win over those of containers',
      { ...one('1'), resources: { requests: { cpu: '3' } } },
      3,
    ],
    ['numbers are quantities', { containers: [container(2)] }, 2],
    ['no containers', {}, 0],
  ])('%s', (_title, spec, cpu) => {
    expect(usageOf({ nodes: [], pods: [pod(spec)] }).cpu.requested).toBeCloseTo(cpu);
  });

  test.each([
    ['Succeeded', 'n', [0, 0]],
    ['Failed', 'n', [0, 0]],
    ['Pending', '', [0, 1]],
    ['Pending', 'n', [1, 0]],
    ['Running', 'n', [1, 0]],
    ['Unknown', 'n', [1, 0]],
  ])('a pod that is %s on node "%s"', (phase, nodeName, counts) => {
    const usage = usageOf({ nodes: [], pods: [pod({ nodeName, ...one('1') }, phase)] });

    expect([usage.pods, usage.pendingPods]).toEqual(counts);
    expect(usage.cpu.requested).toBe(usage.pods);
  });

  test.each([['x'], [''], ['-1'], [{}], [true], ['1e999']])('%j is not a quantity', (cpu) => {
    const spec = { containers: [{ resources: { requests: { cpu } } }] };
    const usage = usageOf({ nodes: [node({ cpu })], pods: [pod(spec)] });

    expect([usage.cpu.unreadablePods, usage.cpu.unreadableNodes]).toEqual([1, 1]);
    expect([usage.cpu.requested, usage.cpu.capacity]).toEqual([0, 0]);
  });

  test.each([
    [{ spec: null }],
    [{ spec: { containers: 'x' } }],
    [{ spec: { nodeName: 'n', containers: [null, 3] } }],
    [{}],
  ])('%j of a cluster breaks nothing', (fields) => {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: {}, ...fields } as never;

    expect(usageOf({ nodes: [object], pods: [object] }).cpu.requested).toBe(0);
  });

  test('the usage of pages adds up to that of the whole', () => {
    const pods = [
      ...[pod(gpus('a.example/gpu', 1)), pod(one('1')), pod(one('x'))],
      ...[pod({ nodeName: '' }), pod({ containers: [{}] }), pod(gpus('a.example/gpu', 2))],
    ];
    const whole = usageOf({ nodes: [NODE, node({})], pods });
    const pages = [
      usageOf({ nodes: [NODE], pods: pods.slice(0, 1) }),
      usageOf({ nodes: [node({})], pods: pods.slice(1) }),
    ] as const;

    expect(addUsage(...pages)).toEqual(whole);
  });
});

function gpus(name: string, count: unknown): PodSpec {
  return { containers: [{ resources: { limits: { [name]: count } } }] };
}

function one(cpu: string): { containers: readonly unknown[] } {
  return { containers: [container(cpu, '1Gi')] };
}

function inits(...initContainers: readonly object[]): { initContainers: readonly object[] } {
  return { initContainers };
}

function limited(limit: string, request?: string): PodSpec {
  const requests = request === undefined ? {} : { requests: { cpu: request } };
  return { containers: [{ resources: { limits: { cpu: limit }, ...requests } }] };
}

describe('sums', () => {
  const half = { containers: [container('2', '2Gi')] };

  test('a tenant pays the share of its nodes that its pods request', () => {
    const usage = usageOf({ nodes: [NODE, NODE], pods: [pod(half), pod(half)] });

    // Half of the CPU and a quarter of the memory of two nodes.
    expect(costsOf(MONTHLY, [{ name: 'blue', usage, observedAt: 7 }])).toEqual([
      {
        ...{ name: 'blue', observedAt: 7, nodes: 2, pods: 2, unknown: [] },
        cpu: { requested: 4, capacity: 8, perHour: 0.1, perMonth: 73 },
        memory: { requested: 4 * 2 ** 30, capacity: 16 * 2 ** 30, perHour: 0.1, perMonth: 73 },
        total: { perHour: 0.2, perMonth: 146 },
      },
    ]);
  });

  test.each([
    ['Hourly', 1],
    ['hourly', 1],
    ['Daily', 1 / 24],
    ['Weekly', 1 / 168],
    ['Monthly', 1 / 730],
    ['YEARLY', 1 / 8760],
  ])('a price of 1 %s', (timePeriod, perHour) => {
    const usage = usageOf({ nodes: [NODE], pods: [pod({ containers: [container('4')] })] });
    const settings = { averageCPUPricePerNode: { price: 1, timePeriod } };

    const [cost] = costsOf(settings, [{ name: 'blue', usage }]);

    expect(cost?.cpu?.perHour).toBeCloseTo(perHour, 10);
    expect(cost?.cpu?.perMonth).toBeCloseTo(730 * perHour, 10);
  });

  const FULL = { nodes: [NODE], pods: [pod(half)] };
  test.each<[string, object | undefined, typeof FULL, string, string]>([
    [
      'no settings',
      undefined,
      FULL,
      'cpu',
      'the configuration has no costControl.settings.averageCPUPricePerNode.price',
    ],
    [
      'no price of memory',
      { averageCPUPricePerNode: MONTHLY.averageCPUPricePerNode },
      FULL,
      'memory',
      'no costControl.settings.averageRAMPricePerNode.price',
    ],
    [
      'no period',
      { averageCPUPricePerNode: { price: 1 } },
      FULL,
      'cpu',
      'no costControl.settings.averageCPUPricePerNode.timePeriod',
    ],
    [
      'another period',
      { averageCPUPricePerNode: { price: 1, timePeriod: 'toString' } },
      FULL,
      'cpu',
      '"toString": use Hourly',
    ],
    ['no nodes', MONTHLY, { nodes: [], pods: [] }, 'cpu', 'the cluster has no nodes'],
    [
      'a node without an amount',
      MONTHLY,
      { nodes: [NODE, node({ memory: '1Gi' })], pods: [] },
      'cpu',
      '1 node without a readable amount',
    ],
    [
      'nodes without CPU',
      MONTHLY,
      { nodes: [node({ cpu: '0', memory: '1Gi' })], pods: [] },
      'cpu',
      'nothing to allocate',
    ],
    [
      'a request that is not a quantity',
      MONTHLY,
      { nodes: [NODE], pods: [pod(one('x'))] },
      'cpu',
      '1 pod with an invalid request',
    ],
  ])(
    '%s: the cost is absent and the reason is named',
    (_title, settings, objects, what, reason) => {
      const [cost] = costsOf(settings, [{ name: 'blue', usage: usageOf(objects) }]);

      expect(cost).not.toHaveProperty(what);
      expect(cost).not.toHaveProperty('total');
      expect(cost?.unknown).toContainEqual({ what, reason: expect.stringContaining(reason) });
    },
  );

  test('sums that may be too low are there, and say so', () => {
    const pods = [pod(half), pod({ containers: [container('1'), {}] }), pod({ nodeName: '' })];
    const [cost] = costsOf(MONTHLY, [{ name: 'blue', usage: usageOf({ nodes: [NODE], pods }) }]);

    expect(cost?.cpu?.requested).toBe(3);
    expect(cost?.unknown).toEqual([
      { what: 'cpu', reason: '1 pod with a container that requests none: counted as zero' },
      { what: 'memory', reason: '1 pod with a container that requests none: counted as zero' },
      { what: 'tenant', reason: '1 pod without a node: not counted' },
    ]);
  });

  const podsOf = (count: number): KubeObject[] =>
    Array.from({ length: count }, (_, i) => pod(gpus(`${i}.example/gpu`, 1)));
  test.each([
    [
      'one name',
      [pod(gpus('nvidia.com/gpu', '2')), pod(gpus('nvidia.com/gpu', 1))],
      'request 3 of nvidia.com/gpu:',
    ],
    [
      'names',
      [pod(gpus('b.example/x', 1)), pod(gpus('a.example/x', 1))],
      'request 1 of a.example/x, 1 of b.example/x:',
    ],
    ['many names', podsOf(7), '1 of 4.example/gpu and 2 more resources:'],
    ['a hostile name', [pod(gpus('__proto__/x', 1))], 'request 1 of __proto__/x:'],
    ['no quantity', [pod(gpus('nvidia.com/gpu', 'x'))], 'request 0 of nvidia.com/gpu:'],
  ])('resources without a price are named: %s', (_title, pods, text) => {
    const usage = usageOf({ nodes: [NODE], pods });
    const [cost] = costsOf(MONTHLY, [{ name: 'blue', usage }]);

    expect(cost?.unknown).toContainEqual({ what: 'tenant', reason: expect.stringContaining(text) });
  });

  test.each(['cpu', 'ephemeral-storage', 'hugepages-2Mi', 'example.kubernetes.io/x'])(
    '%s is no resource without a price',
    (name) => {
      const usage = usageOf({ nodes: [NODE], pods: [pod(gpus(name, 1))] });

      expect(usage.extended.size).toBe(0);
    },
  );

  test('a tenant that was not read has its reason and no sum', () => {
    expect(costsOf(MONTHLY, [{ name: 'blue', unknown: 'ECONNREFUSED', observedAt: 7 }])).toEqual([
      { name: 'blue', observedAt: 7, unknown: [{ what: 'tenant', reason: 'ECONNREFUSED' }] },
    ]);
  });

  test('capacity stands in for an absent allocatable', () => {
    const usage = usageOf({ nodes: [node({}, { capacity: { cpu: '2' } })], pods: [] });

    expect(usage.cpu.capacity).toBe(2);
  });
});
