/** The loop of a tenant, with both ends in this process and a door in between that can fail. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import {
  eventually,
  startTenantClusters,
  type TenantClusters,
} from '../support/tenant-clusters.ts';

let clusters: TenantClusters;
let count = 0;

beforeAll(async () => {
  clusters = await startTenantClusters();
});
afterEach(() => {
  clusters.judge = () => undefined;
});
afterAll(() => clusters.close());

interface Scene {
  /** Its own, so that no scene sees another. */
  readonly tenant: string;
  readonly source: string;
  readonly target: string;
  targetObject(): Promise<KubeObject | undefined>;
  sourceObject(): Promise<KubeObject | undefined>;
  state(): ReturnType<TenantClusters['state']>;
}

function patchesOf(patches: readonly object[], more: object = {}): object {
  return { sync: { toHost: { endpoints: { patches } } }, ...more };
}

/** A tenant with the Endpoints `default/db`, synced. */
async function scene(spec: object = {}, metadata: object = {}): Promise<Scene> {
  const tenant = `t${++count}`;
  clusters.tenant(tenant, spec);
  await eventually(() => clusters.loops.states(tenant));
  await clusters.give(tenant, 'db', { metadata });
  const [source, target] = [
    clusters.source(tenant, 'db'),
    clusters.target(`db-x-default-x-${tenant}`, `vcluster-${tenant}`),
  ];
  await eventually(() => clusters.state(tenant, 'db')?.state === 'Synced');
  return {
    ...{ tenant, source, target },
    targetObject: () => clusters.call('GET', target),
    sourceObject: () => clusters.call('GET', source),
    state: () => clusters.state(tenant, 'db'),
  };
}

function ips(object: KubeObject | undefined): unknown {
  const [subset] = (object?.['subsets'] as unknown as { addresses: { ip: string }[] }[]) ?? [];
  return subset?.addresses.map(({ ip }) => ip);
}

const OTHER = { subsets: [{ addresses: [{ ip: '10.9.9.9' }] }] };

describe('objects of the control-plane cluster', () => {
  test('is restored when another client changes it, removes it, or adds to it', async () => {
    const { target, targetObject } = await scene();
    const wanted = await targetObject();
    await clusters.call('PATCH', target, { ...OTHER, metadata: { labels: { drift: 'yes' } } });
    await eventually(async () => ips(await targetObject())?.toString() === '10.0.0.1');
    await clusters.call('DELETE', target);
    await eventually(targetObject);

    const { metadata, ...content } = (await targetObject()) as KubeObject;
    const { metadata: before, ...same } = wanted as KubeObject;
    expect(content).toEqual(same);
    expect(metadata.labels).toEqual(before.labels);
    expect(metadata.annotations).toEqual(before.annotations);
    expect(metadata.uid).not.toBe(before.uid);
  });

  test('is written once, and no more while nothing changes', async () => {
    const { tenant, target, source } = await scene();
    const written = (): string[] =>
      clusters.writes.filter((line) => line.includes(tenant) && line.includes('/endpoints'));
    expect(written().filter((line) => line.startsWith('PUT'))).toEqual([]);
    const before = written().length;
    // A change that comes to nothing there: finalizers are not synced.
    await clusters.call('PATCH', source, { metadata: { finalizers: ['example.com/x'] } });
    await clusters.call('PATCH', source, { metadata: { finalizers: null } });
    await clusters.give(tenant, 'other');
    await eventually(() => clusters.state(tenant, 'other')?.state === 'Synced');

    expect(written().slice(before)).toEqual([`POST ${target.slice(0, target.lastIndexOf('/'))}`]);
  });

  test('goes with the Endpoints, and with a selector of their Service', async () => {
    const { tenant, source, targetObject } = await scene();
    const service = source.replace('/endpoints/', '/services/');
    await clusters.call('PATCH', service, { spec: { selector: { app: 'db' } } });
    await eventually(async () => (await targetObject()) === undefined);
    await eventually(() => clusters.state(tenant, 'db')?.state === 'Skipped');
    await clusters.call('PATCH', service, { spec: { selector: null } });
    await eventually(targetObject);
    await clusters.call('DELETE', source);
    await eventually(async () => (await targetObject()) === undefined);
    await eventually(() => clusters.state(tenant, 'db') === undefined);
  });
});

describe('objects outside the sync', () => {
  test('is neither changed nor removed, and its place is taken when it goes', async () => {
    const { tenant, target, source, targetObject, state } = await scene();
    const marks = { 'gitplane.dev/managed-by': null };
    const metadata = { labels: { ...marks, own: 'yes' } };
    await clusters.call('PATCH', target, { ...OTHER, metadata });
    await eventually(() => state()?.reason === 'ForeignObject');
    await clusters.call('PATCH', source, { metadata: { labels: { newer: 'yes' } } });
    await clusters.call('DELETE', source);
    await eventually(() => clusters.state(tenant, 'db') === undefined);
    expect(ips(await targetObject())).toEqual(['10.9.9.9']);
    expect((await targetObject())?.metadata.labels).toMatchObject({ own: 'yes' });
    await clusters.call('DELETE', target);
    await clusters.call('POST', source.slice(0, source.lastIndexOf('/')), {
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'db' } },
      subsets: [{ addresses: [{ ip: '10.0.0.2' }] }],
    });
    await eventually(async () => ips(await targetObject())?.toString() === '10.0.0.2');
  });

  test('a copy with all marks under another name stays', async () => {
    const { target, targetObject, tenant } = await scene();
    const found = (await targetObject()) as KubeObject;
    const { labels, annotations } = found.metadata;
    const copy = target.replace(/db-x/, 'copy-x');
    await clusters.call('POST', target.slice(0, target.lastIndexOf('/')), {
      ...{ apiVersion: 'v1', kind: 'Endpoints' },
      metadata: { name: `copy-x-default-x-${tenant}`, labels, annotations },
    });
    clusters.tenant(tenant, patchesOf([], { other: true }));
    await clusters.give(tenant, 'later');
    await eventually(() => clusters.state(tenant, 'later')?.state === 'Synced');

    expect(await clusters.call('GET', copy)).toBeDefined();
  });
});

describe('a write that is refused', () => {
  test('a write that is refused for a conflict is retried on the current object', async () => {
    const { tenant, source, target, targetObject } = await scene();
    let conflicts = 0;
    clusters.judge = async ({ method, path }) => {
      if (method !== 'PUT' || !path.startsWith(target) || conflicts > 0) return undefined;
      conflicts += 1;
      // The version that the loop has seen is not the newest any more.
      await clusters.call('PATCH', target, { metadata: { labels: { late: 'yes' } } });
      return undefined;
    };
    await clusters.call('PATCH', source, { metadata: { labels: { newer: 'yes' } } });
    await eventually(async () => (await targetObject())?.metadata.labels?.['newer'] === 'yes');

    expect(conflicts).toBe(1);
    await eventually(() => clusters.state(tenant, 'db')?.state === 'Synced');
    expect((await targetObject())?.metadata.labels).not.toHaveProperty('late');
  });

  test('a write that is refused with 429 waits for the time that the cluster asks for', async () => {
    const { source, target, targetObject, state } = await scene();
    const tries: number[] = [];
    clusters.judge = ({ method, path }) => {
      if (method !== 'PUT' || !path.startsWith(target)) return undefined;
      tries.push(performance.now());
      return tries.length > 1 ? undefined : { code: 429, reason: 'TooManyRequests', retryAfter: 1 };
    };
    await clusters.call('PATCH', source, { metadata: { labels: { newer: 'yes' } } });
    await eventually(() => state()?.state === 'Stale');
    expect(state()).toMatchObject({ reason: 'TooManyRequests' });
    await eventually(async () => (await targetObject())?.metadata.labels?.['newer'] === 'yes');

    // The backoff would have been over after 50 to 100 ms.
    expect((tries[1] ?? 0) - (tries[0] ?? 0)).toBeGreaterThan(950);
  });

  test('a write that is refused finally fails with a reason, and harms no other', async () => {
    const { tenant, source, target, state } = await scene();
    clusters.judge = ({ method, path }) =>
      method === 'PUT' && path.startsWith(target) ? { code: 403, reason: 'Forbidden' } : undefined;
    await clusters.call('PATCH', source, { metadata: { labels: { newer: 'yes' } } });
    await eventually(() => state()?.state === 'Failed');
    await clusters.give(tenant, 'other');
    await eventually(() => clusters.state(tenant, 'other')?.state === 'Synced');

    expect(state()).toMatchObject({ state: 'Failed', reason: 'Forbidden' });
    clusters.judge = () => undefined;
    await eventually(() => state()?.state === 'Synced');
  });
});

describe('patches', () => {
  const value = (expression: string): object =>
    patchesOf([{ path: 'metadata.labels.team', expression }]);

  // covers: sync.toHost.endpoints.patches
  test('changed patches run on every object of the tenant', async () => {
    const { tenant, targetObject } = await scene(value('"a-" + value'), { labels: { team: 'x' } });
    await clusters.give(tenant, 'two', { metadata: { labels: { team: 'y' } } });
    await eventually(() => clusters.state(tenant, 'two')?.state === 'Synced');
    clusters.tenant(tenant, value('"b-" + value'));
    const two = clusters.target(`two-x-default-x-${tenant}`, `vcluster-${tenant}`);
    await eventually(async () => (await targetObject())?.metadata.labels?.['team'] === 'b-x');
    await eventually(async () => {
      return (await clusters.call('GET', two))?.metadata.labels?.['team'] === 'b-y';
    });
  });

  test('patches that fail leave the objects, and report it on both ends until they work', async () => {
    const { tenant, source, targetObject, state } = await scene(value('"a-" + value'), {
      labels: { team: 'x' },
    });
    const before = await targetObject();
    clusters.tenant(tenant, value('value.no.way'));
    await eventually(() => state()?.state === 'Failed');
    await clusters.call('PATCH', source, OTHER);
    await clusters.give(tenant, 'other');
    await eventually(() => clusters.state(tenant, 'other')?.state === 'Synced');
    expect(await targetObject()).toEqual(before);
    expect(state()?.message).toMatch(/patches\[0\]:1:\d+: .* \(at metadata\.labels\.team\)/);

    clusters.tenant(tenant, value('"c-" + value'));
    await eventually(() => state()?.state === 'Synced');
    const ends = [source, clusters.target('', `vcluster-${tenant}`)];
    for (const end of ends) {
      const events = end.replace(/endpoints\/.*$/, 'events');
      const reasons = async (): Promise<string[]> => {
        const list = await clusters.call('GET', events);
        return ((list?.['items'] ?? []) as unknown as { reason: string }[]).map((e) => e.reason);
      };
      await eventually(async () => (await reasons()).sort().join() === 'SyncError,Synced');
    }
  });

  test('cannot take the marks away', async () => {
    const { tenant, targetObject } = await scene(
      patchesOf([
        { path: 'metadata.labels', expression: '({})' },
        { path: 'metadata.annotations', expression: 'null' },
      ]),
    );

    expect((await targetObject())?.metadata).toMatchObject({
      labels: { 'gitplane.dev/managed-by': tenant },
      annotations: { 'gitplane.dev/object-name': 'db' },
    });
  });
});

test('an object that others keep changing is repaired ever more rarely', async () => {
  const { target, targetObject, state } = await scene();
  const fight = async (): Promise<void> => {
    await clusters.call('PATCH', target, OTHER);
    await eventually(async () => ips(await targetObject())?.toString() === '10.0.0.1');
  };
  const started = performance.now();
  for (let i = 0; i < 4; i++) await fight();
  const last = fight();
  await eventually(() => state()?.reason === 'Disputed');
  await last;

  // Four are free of charge, the next waits a second.
  expect(performance.now() - started).toBeGreaterThan(900);
});

test('metrics count what was written and what failed', async () => {
  const { tenant, state } = await scene();
  clusters.tenant(tenant, patchesOf([{ path: '', expression: 'value.no.way' }]));
  await eventually(() => state()?.state === 'Failed');
  const text = await clusters.metrics.metrics();

  expect(text).toContain(
    `gitplane_tenant_failures_total{tenant="${tenant}",kind="Endpoints",reason="PatchFailed"} 1`,
  );
  expect(text).toContain(`gitplane_tenant_endpoints{tenant="${tenant}",state="failed"} 1`);
  expect(text).toContain(`gitplane_tenant_services{tenant="${tenant}",state="synced"} 1`);
  expect(text).toMatch(
    /gitplane_tenant_writes_total\{tenant="t1",kind="Endpoints",verb="create"\} 2/,
  );
});
