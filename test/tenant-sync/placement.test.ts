/** Where objects are put and what they are called: the vectors of the reference, through the loop. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import {
  eventually,
  startTenantClusters,
  type TenantClusters,
} from '../support/tenant-clusters.ts';

let clusters: TenantClusters;
beforeAll(async () => {
  clusters = await startTenantClusters();
});
afterAll(() => clusters.close());

/** Made of marks in annotations, which patches turn into names. */
const REFERENCES = {
  secret: { apiVersion: 'v1', kind: 'Secret' },
  claim: { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim' },
  volume: { apiVersion: 'v1', kind: 'PersistentVolume' },
};

function specOf(tenantNamespace: string, sync: object = {}): object {
  const patches = Object.entries(REFERENCES).map(([name, reference]) => ({
    path: `metadata.annotations.${name}`,
    reference,
  }));
  return {
    sync: { toHost: { endpoints: { patches }, ...sync } },
    external: { gitplane: { namespace: tenantNamespace } },
  };
}

/** What new Endpoints of a tenant become. */
async function synced(tenant: string, of: { name: string; namespace: string; spec: object }) {
  const { name, namespace, spec } = of;
  clusters.tenant(tenant, spec);
  await eventually(() => clusters.loops.states(tenant));
  const annotations = { secret: name, claim: name, volume: name };
  await clusters.give(tenant, name, { namespace, metadata: { annotations } });
  await eventually(() => clusters.state(tenant, name, namespace)?.state === 'Synced');
  const list = await clusters.call(
    'GET',
    `/kubernetes/cluster/local/api/v1/endpoints?labelSelector=gitplane.dev/managed-by=${tenant}`,
  );
  const items = (list?.['items'] ?? []) as unknown as KubeObject[];
  const found = items.filter(({ metadata: { annotations = {} } }) => {
    const of = `${annotations['gitplane.dev/object-namespace']}/${annotations['gitplane.dev/object-name']}`;
    return of === `${namespace}/${name}`;
  });
  clusters.tenant(tenant, undefined);
  expect(found.length).toBe(1);
  return found[0]?.metadata;
}

const LONG = 'a-very-long-endpoints-name-for-testing-purposes-only';
const A_AND_B = `${'a'.repeat(51)}.${'b'.repeat(20)}`;
const VECTORS: readonly [readonly [string, string, string], string, string][] = [
  [['my-secret', 'default', 'my-vcluster'], 'my-secret-x-default-x-my-vcluster', 'v5ri45ovgqam9c'],
  [['nginx', 'default', 'vcluster'], 'nginx-x-default-x-vcluster', 'v1curhi49jlk2e'],
  [['creds', 'team-a', 'tenant'], 'creds-x-team-a-x-tenant', 'v3tsdij9ouxge3'],
  [[LONG, 'production-namespace', 'my-vcluster'], `${LONG}-dad619325f`, 'v5gcpxgripypfq'],
  [[A_AND_B, 'd', 'vc'], `${'a'.repeat(51)}-aabfd21438`, 'v497fws2hao7kj'],
  [['b'.repeat(44), 'default', 'tenant'], `${'b'.repeat(44)}-x-default-x-tenant`, 'v28q3smv9ipkzc'],
  [['b'.repeat(45), 'default', 'tenant'], `${'b'.repeat(45)}-x-defa-7deb9d4aaa`, 'v34zekd4j23uz2'],
];
/** No Endpoints can have this name. */
const ONLY_REFERRED_TO: (typeof VECTORS)[number] = [
  ['a.', 'd', 'vc'],
  'a.-x-d-x-vc',
  'v3w436v6txqvb5',
];
const REFERRED_TO = [...VECTORS, ONLY_REFERRED_TO];

describe('single-namespace mode', () => {
  // covers: patches.reference.single
  test.each(VECTORS)('%j becomes %s, and a reference to it %s', async (vector, full, short) => {
    const [name, namespace, tenant] = vector;
    const metadata = await synced(tenant, { name, namespace, spec: specOf('vc-ns') });

    expect([metadata?.namespace, metadata?.name]).toEqual(['vc-ns', full]);
    expect(metadata?.annotations).toMatchObject({ secret: short, claim: short });
  });

  test('a label that means something there gets the key of the vector', async () => {
    clusters.tenant('suffix', {});
    await eventually(() => clusters.loops.states('suffix'));
    await clusters.give('suffix', 'db', { metadata: { labels: { release: 'r' } } });
    const at = clusters.target('db-x-default-x-suffix', 'vcluster-suffix');
    const found = await eventually(() => clusters.call('GET', at));

    expect(found?.metadata.labels).toMatchObject({ 'gitplane.dev/label-suffix-x-a4d451ec23': 'r' });
  });
});

describe('names with --reference-names=concat', () => {
  let beside: TenantClusters;
  beforeAll(async () => {
    beside = await startTenantClusters('concat');
  });
  afterAll(() => beside.close());

  test('a reference is called what the object is, where it is of a kind that is synced so', async () => {
    const { patches, names } = references(REFERRED_TO.map(([vector]) => vector));
    const tenants = [...new Set(REFERRED_TO.map(([[, , tenant]]) => tenant))];
    for (const tenant of tenants) {
      beside.tenant(tenant, {
        sync: { toHost: { endpoints: { patches } } },
        external: { gitplane: { namespace: 'vc-ns' } },
      });
      await eventually(() => beside.loops.states(tenant));
      await beside.give(tenant, 'db', { metadata: { annotations: names } });
      const at = beside.target(`db-x-default-x-${tenant}`, 'vc-ns');
      const found = await eventually(() => beside.call('GET', at));
      const seen = found?.metadata.annotations ?? {};
      for (const [i, [[, , of], full, short]] of REFERRED_TO.entries()) {
        if (of !== tenant) continue;
        expect(JSON.parse(seen[`secret-${i}`] ?? '')).toEqual({ name: full, namespace: 'vc-ns' });
        expect(JSON.parse(seen[`claim-${i}`] ?? '')).toEqual({ name: short, namespace: 'vc-ns' });
      }
      if (tenant === 'my-vcluster') {
        expect(seen['volume']).toBe('vcluster-my-pv-x-vc-ns-x-my-vcluster');
      }
    }
  });
});

/** Annotations hold text, so an expression opens each, the reference is rewritten, another closes it. */
function references(vectors: readonly (readonly [string, string, string])[]) {
  const names: Record<string, string> = { volume: 'my-pv' };
  const kinds = { secret: REFERENCES.secret, claim: REFERENCES.claim };
  const patches: object[] = [
    { path: 'metadata.annotations.volume', reference: REFERENCES.volume },
    { path: 'metadata.annotations["*"]', expression: 'value' },
  ];
  const rewritten: object[] = [];
  for (const [i, [name, namespace]] of vectors.entries()) {
    for (const [kind, reference] of Object.entries(kinds)) {
      names[`${kind}-${i}`] = JSON.stringify({ name, namespace });
      rewritten.push({
        path: `metadata["annotations"].${kind}-${i}`,
        reference: { ...reference, namePath: 'name', namespacePath: 'namespace' },
      });
    }
  }
  const each = (how: string): string =>
    `Object.fromEntries(Object.entries(value).map(([k, v]) => [k, /^(secret|claim)-/.test(k) ? ${how} : v]))`;
  return {
    names,
    patches: [
      ...patches,
      { path: 'metadata.annotations', expression: each('JSON.parse(v)') },
      ...rewritten,
      {
        path: 'metadata',
        expression: `({ ...value, annotations: (value => ${each('JSON.stringify(v)')})(value.annotations) })`,
      },
    ],
  };
}

describe('multi-namespace mode', () => {
  const namespaces = {
    enabled: true,
    mappings: {
      byName: { 'frontend-prod': 'alpha-prod', 'team-*': 'h-team-*', 'team-a-*': `\${name}-a-*` },
    },
  };

  // covers: patches.reference.multi
  test.each([
    ['frontend-prod', 'alpha-prod'],
    ['team-b', 'h-team-b'],
    ['team-a-dev', 'multi-a-dev'],
  ])('objects of %s keep their names, in %s, and so do references', async (namespace, place) => {
    const spec = specOf('vc-ns', { namespaces });
    const metadata = await synced('multi', { name: 'db', namespace, spec });

    expect([metadata?.namespace, metadata?.name]).toEqual([place, 'db']);
    expect(metadata?.annotations).toMatchObject({ secret: 'db', claim: 'db' });
  });

  test('names namespaces without a mapping as in single-namespace mode', async () => {
    const spec = specOf('vc-ns', { namespaces });
    const metadata = await synced('multi', { name: 'db', namespace: 'other', spec });

    expect([metadata?.namespace, metadata?.name]).toEqual(['vc-ns', 'db-x-other-x-multi']);
  });

  test('does not sync namespaces without a mapping where only mappings count', async () => {
    const only = { ...namespaces, mappingsOnly: true };
    clusters.tenant('strict', specOf('vc-ns', { namespaces: only }));
    await eventually(() => clusters.loops.states('strict'));
    await clusters.give('strict', 'db', { namespace: 'other' });
    await eventually(() => clusters.state('strict', 'db', 'other')?.state === 'Skipped');

    expect(clusters.state('strict', 'db', 'other')?.reason).toBe('NotMapped');
  });

  test('hashes namespaces as before mappings: the vector of the reference', async () => {
    const spec = { ...specOf('vc-ns'), experimental: { multiNamespaceMode: { enabled: true } } };
    const metadata = await synced('my-vcluster', { name: 'web', namespace: 'default', spec });

    expect([metadata?.namespace, metadata?.name]).toEqual(['vcluster-37a8eec1-411b07a0', 'web']);
  });

  test('objects outside the sync are left alone, and their place is taken when they go', async () => {
    const base = '/kubernetes/cluster/local/api/v1/namespaces';
    await clusters.call('POST', base, {
      ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'h-team-z' } },
    });
    await clusters.call('POST', `${base}/h-team-z/endpoints`, {
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'db', labels: { own: 'yes' } } },
    });
    clusters.tenant('guest', specOf('vc-ns', { namespaces }));
    await eventually(() => clusters.loops.states('guest'));
    await clusters.give('guest', 'db', { namespace: 'team-z' });
    await eventually(() => clusters.state('guest', 'db', 'team-z')?.reason === 'ForeignObject');

    const found = await clusters.call('GET', `${base}/h-team-z/endpoints/db`);
    expect(found?.metadata.labels).toEqual({ own: 'yes' });
  });

  test('other mappings move what is there', async () => {
    clusters.tenant('mover', specOf('vc-ns', { namespaces }));
    await eventually(() => clusters.loops.states('mover'));
    await clusters.give('mover', 'db', { namespace: 'frontend-prod' });
    await eventually(() => clusters.call('GET', clusters.target('db', 'alpha-prod')));
    const byName = { ...namespaces.mappings.byName, 'frontend-prod': 'beta-prod' };
    clusters.tenant(
      'mover',
      specOf('vc-ns', { namespaces: { enabled: true, mappings: { byName } } }),
    );
    await eventually(() => clusters.call('GET', clusters.target('db', 'beta-prod')));

    await eventually(
      async () => !(await clusters.call('GET', clusters.target('db', 'alpha-prod'))),
    );
    await eventually(() => clusters.loops.states('mover')?.[0]?.target.namespace === 'beta-prod');
  });
});
