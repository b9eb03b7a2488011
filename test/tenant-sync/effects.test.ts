/** What a plan says of a tenant that changes. */
import { afterAll, describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { planEffects } from '../../src/daemon/tenants/plan-effects.ts';
import { PatchEngine } from '../../src/endpoint-patches/engine.ts';
import { tenantVersions } from '../../src/kinds/synced-tenant.ts';
import { type Effects, effectsOf, type Observed } from '../../src/tenant-sync/effects.ts';
import { SYNCED_KINDS } from '../../src/tenant-sync/synced-kinds.ts';

const runner = new PatchEngine({ threads: 1 });
afterAll(() => runner.close());

function tenant(patches: readonly object[] | undefined, more: object = {}): KubeObject | undefined {
  if (patches === undefined) return undefined;
  const spec = { sync: { toHost: { endpoints: { patches } } }, ...more };
  const metadata = { name: 'blue' };
  return { apiVersion: 'x/v1', kind: 'Tenant', metadata, spec } as unknown as KubeObject;
}

function observed(name: string, metadata: object = {}): Observed {
  const object = {
    ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name, namespace: 'shop', ...metadata } },
    subsets: [{ addresses: [{ ip: '10.0.0.1' }] }],
  } as unknown as KubeObject;
  return { kind: SYNCED_KINDS.Endpoints, object, service: null };
}

function effects(
  before: KubeObject | undefined,
  after: KubeObject | undefined,
  given: readonly Observed[],
): Promise<Effects> {
  const versions = tenantVersions({ name: 'blue', before, after }, 'short');
  return effectsOf({ ...versions, observed: given, runner });
}

const TEAM = 'metadata.annotations.team';
const upper = { path: TEAM, expression: 'value.toUpperCase()' };

describe('another list of patches', () => {
  test('shows the objects that become others, before and after', async () => {
    const given = [observed('db', { annotations: { team: 'a' } }), observed('web')];
    const found = await effects(tenant([]), tenant([upper]), given);

    expect(found).toMatchObject({ objects: 2, changed: 1, unseen: 0, warnings: [] });
    expect(found.items).toMatchObject([
      {
        verb: 'update',
        source: { namespace: 'shop', name: 'db' },
        before: { metadata: { name: 'db-x-shop-x-blue', annotations: { team: 'a' } } },
        after: { metadata: { name: 'db-x-shop-x-blue', annotations: { team: 'A' } } },
      },
    ]);
  });

  test('tells what will fail, and not what fails already', async () => {
    const failing = { path: TEAM, expression: 'value.no.way' };
    const given = [observed('db', { annotations: { team: 'a' } })];
    const found = await effects(tenant([]), tenant([failing]), given);
    expect(found.items).toMatchObject([
      { verb: 'fail', message: expect.stringContaining('patches[0]:1:') },
    ]);

    expect((await effects(tenant([failing]), tenant([failing]), given)).changed).toBe(0);
  });

  test('warns of pairs that do not come back', async () => {
    const pair = {
      path: TEAM,
      expression: '"my-prefix-" + value',
      reverseExpression: 'value.slice("my-prefix".length)',
    };
    const given = [observed('db', { annotations: { team: 'a' } })];
    const { warnings } = await effects(tenant([]), tenant([pair]), given);

    expect(warnings).toEqual([
      `patches[0] does not come back in shop/db: ${TEAM}: "a" → "my-prefix-a" → "-a"`,
    ]);
  });

  test('a new list of patches shows no object that is not synced', async () => {
    const given = [
      { ...observed('none', { annotations: { team: 'a' } }), service: undefined },
      observed('kubernetes', { namespace: 'default', annotations: { team: 'a' } }),
    ];

    expect(await effects(tenant([]), tenant([upper]), given)).toMatchObject({ objects: 0 });
  });

  test('a new list of patches with hostile expressions takes a bounded time, and names the omitted objects', async () => {
    const hostile = { path: TEAM, expression: '(() => { for (;;); })()' };
    const given = Array.from({ length: 1200 }, (_, i) =>
      observed(`e${i}`, { annotations: { team: 'a' } }),
    );
    const started = performance.now();
    const change = { name: 'blue', before: tenant([]), after: tenant([hostile]) };
    const versions = tenantVersions(change, 'short');
    const found = await effectsOf({ ...versions, observed: given, runner, timeLimitMs: 300 });

    expect(performance.now() - started).toBeLessThan(30_000);
    expect(found.items.length).toBe(Math.min(found.changed, 20));
    expect(found.objects + found.unseen).toBe(1200);
    expect(found.unseen).toBeGreaterThan(0);
  });
});

describe('Services', () => {
  const service = (name: string): Observed => {
    const metadata = { name, namespace: 'shop', annotations: { team: 'a' } };
    const object = { apiVersion: 'v1', kind: 'Service', metadata, spec: {} } as KubeObject;
    return { kind: SYNCED_KINDS.Service, object, service: undefined };
  };
  const given = [observed('db', { annotations: { team: 'a' } }), service('db')];
  const withServices = (services: object): KubeObject | undefined =>
    tenant([], { sync: { toHost: { services } } });

  test('become others by their own patches alone', async () => {
    const { items, changed } = await effects(tenant([]), withServices({ patches: [upper] }), given);

    expect(changed).toBe(1);
    expect(items).toMatchObject([
      { verb: 'update', kind: 'Service', after: { metadata: { annotations: { team: 'A' } } } },
    ]);
  });

  test('Services that are no longer synced stay until the tenant is removed', async () => {
    expect((await effects(tenant([]), withServices({ enabled: false }), given)).changed).toBe(0);
    const { items } = await effects(withServices({}), undefined, given);

    expect(items.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual([
      'delete Endpoints',
      'delete Service',
    ]);
  });
});

describe('a tenant', () => {
  const given = [observed('db')];

  test('a removed tenant takes its objects, or leaves them where its file says so', async () => {
    const gone = await effects(tenant([]), undefined, given);
    expect(gone.items).toMatchObject([{ verb: 'delete' }]);
    const external = { gitplane: { deletionPolicy: 'Retain' } };

    expect((await effects(tenant([], { external }), undefined, given)).changed).toBe(0);
  });

  // covers: sync.toHost.endpoints.enabled
  test('a tenant whose sync is disabled changes nothing', async () => {
    const off = { sync: { toHost: { endpoints: { enabled: false } } } };

    expect((await effects(tenant([]), tenant([], off), given)).changed).toBe(0);
  });

  test('a tenant that moves to another namespace is shown with both', async () => {
    const external = { gitplane: { namespace: 'other' } };
    const { items } = await effects(tenant([]), tenant([], { external }), given);

    expect([items[0]?.before, items[0]?.after]).toMatchObject([
      { metadata: { namespace: 'vcluster-blue' } },
      { metadata: { namespace: 'other' } },
    ]);
  });
});

describe('other contents of the file', () => {
  const password = 'hunter2-and-more';
  const given = [observed('db', { annotations: { team: 'a', own: 'plain-text' } })];
  const leak = (expression: string): KubeObject | undefined =>
    tenant([{ path: TEAM, expression }], { controlPlane: { password, label: 'plain-text' } });

  test.each([
    ['as it is', 'context.vcluster.config.controlPlane.password'],
    ['within a text', '"user:" + context.vcluster.config.controlPlane.password + "@db"'],
    ['in base64', 'btoa(context.vcluster.config.controlPlane.password)'],
    [
      'in a message',
      '(() => { throw new Error(context.vcluster.config.controlPlane.password) })()',
    ],
  ])('is masked %s', async (_how, expression) => {
    const found = await effects(tenant([]), leak(expression), given);
    const text = JSON.stringify(found);

    expect(found.changed).toBe(1);
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain(btoa(password).slice(0, 12));
    expect(text).toContain('***');
  });

  test('is still seen to change, and what the object has itself is shown', async () => {
    const found = await effects(
      leak('"x"'),
      leak('context.vcluster.config.controlPlane.password'),
      given,
    );
    const after = found.items[0]?.after as unknown as { metadata: { annotations: JsonObject } };

    expect(after.metadata.annotations).toMatchObject({ team: '*** (after)', own: 'plain-text' });
  });
});

describe('a plan of the daemon', () => {
  const nothing = { objects: 1, changed: 0, items: [], unseen: 0, warnings: [] };
  const change = { name: 'blue', before: tenant([]), after: tenant([upper]) };
  const foreseeing = (allowed: boolean, known: boolean) =>
    planEffects({
      prefix: '/kubernetes',
      clusters: {
        prefix: '/kubernetes',
        find: (url) =>
          url === '/kubernetes/virtualcluster/blue'
            ? ({ authorizer: { authorize: () => ({ allowed, reason: '' }) } } as never)
            : undefined,
      },
      loops: { effects: () => (known ? Promise.resolve(nothing) : undefined) },
    });

  test('shows the effect to users who may list the Endpoints, and to no other user', async () => {
    const user = { name: 'ann', groups: [] };
    expect(await foreseeing(true, true)(user)(change)).toEqual(nothing);
    const refused = { objects: 0, unknown: 'it takes "list" on tenants/cluster "blue"' };
    expect(await foreseeing(false, true)(user)(change)).toMatchObject(refused);

    expect(await foreseeing(true, true)(undefined)(change)).toMatchObject(refused);
  });

  test('reports it where nothing is known', async () => {
    const user = { name: 'ann', groups: [] };

    expect(await foreseeing(true, false)(user)(change)).toMatchObject({
      unknown: 'the objects of the tenant are not known: its sync does not run',
    });
  });
});
