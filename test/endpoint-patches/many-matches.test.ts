/** Objects of many values, and patches that all match, leave the thread of requests free. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import { compilePatches } from '../../src/endpoint-patches/program.ts';
import { roundTrip } from '../../src/endpoint-patches/round-trip.ts';
import type { ApplyRequest } from '../../src/endpoint-patches/run.ts';
import type { Patch } from '../../src/endpoint-patches/settings.ts';
import type { TenantCluster } from '../../src/endpoint-patches/tenant.ts';
import { previewPatches } from '../../src/tenant-sync/preview.ts';

const TENANT: TenantCluster = {
  name: 'tenant',
  namespace: 'tenant-ns',
  config: {},
  mode: 'single',
  referenceNames: 'short',
};
/** Processor time. Before, patches without expressions took seconds in the thread of requests. */
const MOST_MS = 1000;

let engine: PatchEngine;

beforeAll(() => {
  engine = new PatchEngine();
});
afterAll(() => engine.close());

function program(patches: readonly Patch[]) {
  return compilePatches({ tenant: TENANT, patches });
}

function endpoints(addresses: number, subsets = 1): KubeObject {
  const list = Array.from({ length: addresses }, () => ({ ip: '10.0.0.1' }));
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'a', namespace: 'b' },
    subsets: Array.from({ length: subsets }, () => ({ addresses: list })),
  } as KubeObject;
}

/** Processor time of this thread until `apply` lets others go on. */
function held(patches: readonly Patch[], request: ApplyRequest) {
  const compiled = program(patches);
  const before = process.cpuUsage();
  const outcome = engine.apply(compiled, request);
  return { ms: process.cpuUsage(before).user / 1000, outcome };
}

test.each<[string, readonly Patch[]]>([
  ['that match', many(16, (at) => `subsets[${at}].addresses[*]`)],
  ['that miss', many(256, (at) => `*[*].*[*].x${at}`)],
])(
  'hundreds of thousands of values %s are not examined in the thread of requests',
  async (_, list) => {
    const { ms, outcome } = held(list, { object: endpoints(9000, 16), direction: 'forward' });
    await outcome;

    expect(ms).toBeLessThan(MOST_MS);
  },
);

test('references to many known objects are not compared in the thread of requests', async () => {
  const patch = {
    path: 'subsets[*].addresses[*]',
    reference: { apiVersion: 'v1', kind: 'Pod', namePath: 'ip' },
  };
  const known = Array.from({ length: 2000 }, (_, at) => ({
    kind: 'Pod',
    name: `pod-${at}`,
    namespace: 'b',
  }));
  const request = { object: endpoints(3000), direction: 'reverse', known } as const;
  const { ms, outcome } = held([patch], request);

  expect(ms).toBeLessThan(MOST_MS);
  expect((await outcome).report.failure?.reason).toBe('time');
});

test('a report lists the matches that it has room for, and counts the others', async () => {
  const patches = [{ path: 'subsets[*].addresses[*].ip', expression: 'value + "x"' }];
  const request = { object: endpoints(1000), direction: 'forward', reportRoom: 5000 } as const;
  const { object, report } = await engine.apply(program(patches), request);
  const [run] = report.patches;

  expect(JSON.stringify(run?.matches).length).toBeLessThan(5000);
  expect((run?.matches.length ?? 0) + (run?.unlisted ?? 0)).toBe(1000);
  expect(JSON.stringify(object)).toContain('10.0.0.1x');
});

function many(count: number, path: (at: number) => string): Patch[] {
  return Array.from({ length: count }, (_, at) => ({ path: path(at), labels: {} }));
}

const SPIN = '(() => { for (;;) {} })()';

function spinning(count: number): { patches: Patch[]; object: KubeObject } {
  const names = Array.from({ length: count }, (_, at) => `k${at}`);
  const patches = names.map((name) => ({
    path: `metadata.annotations.${name}`,
    expression: SPIN,
    reverseExpression: 'value',
  }));
  const annotations = Object.fromEntries(names.map((name) => [name, 'v']));
  const metadata = { name: 'a', namespace: 'b', annotations };
  return { patches, object: { apiVersion: 'v1', kind: 'Endpoints', metadata } };
}

/** Counts the objects that are in the sandbox at a time. */
class Counted {
  most = 0;
  total = 0;
  #now = 0;

  apply: PatchEngine['apply'] = async (...of) => {
    this.#now++;
    this.total++;
    this.most = Math.max(this.most, this.#now);
    return await engine.apply(...of).finally(() => this.#now--);
  };
}

test('pairs of expressions are tried one at a time, until the end of their time', async () => {
  const { patches, object } = spinning(20);
  const counted = new Counted();
  await roundTrip(counted, program(patches), { object }, performance.now() + 300);

  expect(counted.most).toBe(1);
  expect(counted.total).toBeLessThan(20);
});

test('a preview of hostile expressions has one of them at a time in the sandbox, and ends', async () => {
  const { patches, object } = spinning(20);
  const counted = new Counted();
  const tenant = { tenant: TENANT, patches: { Endpoints: patches } };
  const objects = Array.from({ length: 100 }, () => object);
  const preview = previewPatches(counted, tenant, {
    objects,
    direction: 'forward',
    timeLimitMs: 300,
  });

  await expect(preview).rejects.toThrow('preview fewer objects or patches');
  expect(counted.most).toBe(1);
});
