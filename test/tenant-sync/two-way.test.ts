/** What flows back from the control-plane cluster, and what does not. */
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

const PAIR = {
  path: 'metadata.annotations["example.com/team"]',
  expression: '"tenant-" + value',
  reverseExpression: 'value.replace(/^tenant-/, "")',
};

function withPatches(patches: readonly object[]): object {
  return { sync: { toHost: { endpoints: { patches } } } };
}

async function scene(patches: readonly object[], metadata: object) {
  const tenant = `t${++count}`;
  clusters.tenant(tenant, withPatches(patches));
  await eventually(() => clusters.loops.states(tenant));
  await clusters.give(tenant, 'db', { metadata });
  await eventually(() => clusters.state(tenant, 'db')?.state === 'Synced');
  const source = clusters.source(tenant, 'db');
  const target = clusters.target(`db-x-default-x-${tenant}`, `vcluster-${tenant}`);
  const both = async () => {
    const [ours, theirs] = await Promise.all(
      [source, target].map((at) => clusters.call('GET', at)),
    );
    return { ours: ours?.metadata, theirs: theirs?.metadata };
  };
  const annotate = (at: string, annotations: object): Promise<KubeObject | undefined> =>
    clusters.call('PATCH', at, { metadata: { annotations } });
  return { tenant, source, target, both, annotate };
}

const TEAM = 'example.com/team';

describe('a value that a reverseExpression names', () => {
  test('flows back when it is changed there, and comes out there as it was', async () => {
    const { target, annotate, both } = await scene([PAIR], { annotations: { [TEAM]: 'a' } });
    expect((await both()).theirs?.annotations?.[TEAM]).toBe('tenant-a');
    await annotate(target, { [TEAM]: 'tenant-b' });
    await eventually(async () => (await both()).ours?.annotations?.[TEAM] === 'b');

    const { theirs } = await both();
    expect(theirs?.annotations?.[TEAM]).toBe('tenant-b');
  });

  test('goes when it is removed there', async () => {
    const { target, annotate, both } = await scene([PAIR], {
      annotations: { [TEAM]: 'a', other: 'stays' },
    });
    await annotate(target, { [TEAM]: null });
    await eventually(async () => (await both()).ours?.annotations?.[TEAM] === undefined);
    const { ours, theirs } = await both();

    expect(ours?.annotations).toEqual({ other: 'stays' });
    expect(theirs?.annotations).not.toHaveProperty([TEAM]);
  });

  test('is added where a path reaches all of them, under the name that it has there', async () => {
    const wide = { path: 'metadata.labels', expression: 'value', reverseExpression: 'value' };
    const { target, both } = await scene([wide], { labels: { app: 'db', release: 'r1' } });
    const translated = Object.keys((await both()).theirs?.labels ?? {}).find((key) =>
      key.startsWith('gitplane.dev/label-'),
    );
    const labels = { added: 'yes', [translated ?? '']: 'r2' };
    await clusters.call('PATCH', target, { metadata: { labels } });
    await eventually(async () => (await both()).ours?.labels?.['added'] === 'yes');

    expect((await both()).ours?.labels).toEqual({ app: 'db', release: 'r2', added: 'yes' });
  });

  test('a value that refers to an object of the tenant gets the name of that object there', async () => {
    const { target, annotate, both } = await scene(
      [
        { path: 'metadata.annotations.service', reference: { apiVersion: 'v1', kind: 'Service' } },
        { path: 'metadata.annotations', reverseExpression: 'value' },
      ],
      { annotations: { service: 'other' } },
    );
    const { theirs } = await both();
    expect(theirs?.annotations?.['service']).toBe(`other-x-default-x-t${count}`);
    await annotate(target, { service: `db-x-default-x-t${count}` });
    await eventually(async () => (await both()).ours?.annotations?.['service'] === 'db');

    expect((await both()).theirs?.annotations?.['service']).toBe(`db-x-default-x-t${count}`);
  });

  test('is the tenant’s where both have changed it', async () => {
    const { source, target, annotate, both } = await scene([PAIR], {
      annotations: { [TEAM]: 'a' },
    });
    // Nothing is seen of either before both are there.
    let open = (): void => undefined;
    const closed = new Promise<undefined>((resolve) => {
      open = () => resolve(undefined);
    });
    clusters.judge = ({ method, path }) =>
      method === 'PUT' && (path.startsWith(target) || path.startsWith(source)) ? closed : undefined;
    await annotate(target, { [TEAM]: 'tenant-there' });
    await annotate(source, { [TEAM]: 'here' });
    open();
    await eventually(async () => (await both()).theirs?.annotations?.[TEAM] === 'tenant-here');

    expect((await both()).ours?.annotations?.[TEAM]).toBe('here');
  });

  test('flows back after the loop was away, too', async () => {
    const { tenant, target, annotate, both } = await scene([PAIR], {
      annotations: { [TEAM]: 'a' },
    });
    const off = { sync: { toHost: { endpoints: { enabled: false } } } };
    clusters.tenant(tenant, off);
    await eventually(() => clusters.loops.states(tenant) === undefined);
    await annotate(target, { [TEAM]: 'tenant-b' });
    clusters.tenant(tenant, withPatches([PAIR]));

    await eventually(async () => (await both()).ours?.annotations?.[TEAM] === 'b');
  });

  test('moves once where the pair is no inverse, and not for ever', async () => {
    const broken = { ...PAIR, reverseExpression: 'value.slice("tenant".length)' };
    const { tenant, target, annotate, both } = await scene([broken], {
      annotations: { [TEAM]: 'a' },
    });
    const before = clusters.writes.length;
    await annotate(target, { [TEAM]: 'tenant-b' });
    await eventually(async () => (await both()).theirs?.annotations?.[TEAM] === 'tenant--b');
    await eventually(() => clusters.state(tenant, 'db')?.state === 'Synced');
    await clusters.give(tenant, 'later');
    await eventually(() => clusters.state(tenant, 'later')?.state === 'Synced');

    const writes = clusters.writes.slice(before).filter((line) => line.startsWith('PUT'));
    expect(writes.length).toBe(2);
    expect((await both()).ours?.annotations?.[TEAM]).toBe('-b');
  });
});

describe('nothing flows back', () => {
  test('ignores drift that no reverseExpression names', async () => {
    const { target, annotate, both } = await scene([PAIR], { annotations: { [TEAM]: 'a' } });
    await annotate(target, { 'example.com/other': 'there', [TEAM]: 'tenant-b' });
    await eventually(async () => (await both()).ours?.annotations?.[TEAM] === 'b');
    await eventually(
      async () => (await both()).theirs?.annotations?.['example.com/other'] === undefined,
    );

    expect((await both()).ours?.annotations).toEqual({ [TEAM]: 'b' });
  });

  test('ignores subsets, although a reverseExpression names them', async () => {
    const subsets = { path: 'subsets[*].addresses[*].ip', reverseExpression: '"10.7.7.7"' };
    const { source, target } = await scene([subsets], {});
    await clusters.call('PATCH', target, { subsets: [{ addresses: [{ ip: '10.9.9.9' }] }] });
    await eventually(async () => {
      const found = await clusters.call('GET', target);
      return JSON.stringify(found?.['subsets']).includes('10.0.0.1');
    });

    const ours = await clusters.call('GET', source);
    expect(JSON.stringify(ours?.['subsets'])).toContain('10.0.0.1');
  });

  test('ignores marks, leader election and fields of kubectl apply', async () => {
    const all = { path: 'metadata.annotations', reverseExpression: 'value' };
    const { target, annotate, both } = await scene([all], { annotations: { own: 'yes' } });
    await annotate(target, {
      'control-plane.alpha.kubernetes.io/leader': '{}',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      added: 'there',
    });
    await eventually(async () => (await both()).ours?.annotations?.['added'] === 'there');

    expect((await both()).ours?.annotations).toEqual({ own: 'yes', added: 'there' });
  });

  test('stops while the reverse write fails, and writes nothing there either', async () => {
    const failing = { ...PAIR, reverseExpression: 'value.no.way' };
    const { tenant, target, annotate, both } = await scene([failing], {
      annotations: { [TEAM]: 'a' },
    });
    await annotate(target, { [TEAM]: 'tenant-b' });
    await eventually(() => clusters.state(tenant, 'db')?.state === 'Failed');

    expect(clusters.state(tenant, 'db')?.message).toMatch(/^on the way back: patches\[0\]/);
    const { ours, theirs } = await both();
    expect([ours?.annotations?.[TEAM], theirs?.annotations?.[TEAM]]).toEqual(['a', 'tenant-b']);
  });

  test('stops at a write that the tenant cluster refuses; the object fails with its reason', async () => {
    const { tenant, source, target, annotate } = await scene([PAIR], {
      annotations: { [TEAM]: 'a' },
    });
    clusters.judge = ({ method, path }) =>
      method === 'PUT' && path.startsWith(source) ? { code: 403, reason: 'Forbidden' } : undefined;
    await annotate(target, { [TEAM]: 'tenant-b' });

    await eventually(() => clusters.state(tenant, 'db')?.reason === 'Forbidden');
  });
});
