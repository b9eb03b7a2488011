import { describe, expect, test } from 'vitest';
import { buildDiscovery } from '../../../src/server/documents/discovery.ts';
import { isNotModified } from '../../../src/server/documents/ready-document.ts';
import { versionDocument } from '../../../src/server/documents/version.ts';
import { GROUP, kinds } from '../sample-objects.ts';

const RBAC = 'rbac.authorization.k8s.io';
const aggregated = (version: string) =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const KUBECTL = `${aggregated('v2')},${aggregated('v2beta1')},application/json`;
const resource = (name: string, kind: string, verbs = ['get']) => ({
  name,
  singularName: kind.toLowerCase(),
  namespaced: false,
  kind,
  verbs,
});
const discovery = buildDiscovery(kinds);
const withVirtual = buildDiscovery(kinds, [
  { group: '', version: 'v1', resources: [resource('namespaces', 'Namespace')] },
  {
    group: 'x.io',
    version: 'v1',
    resources: [resource('things', 'Thing'), resource('things/status', 'Thing', ['patch'])],
  },
  { group: 'x.io', version: 'v1beta1', resources: [resource('things', 'Thing')] },
  { group: 'empty.io', version: 'v1', resources: [] },
]);

type Ready = ReturnType<typeof discovery.apis> | undefined;
/** Compared by its shape. */
const read = (document: Ready) => JSON.parse(document?.body.toString() ?? 'null');

describe('aggregated discovery', () => {
  test.each(['v2', 'v2beta1'])(
    '%s has exactly the Content-Type that kubectl compares',
    (version) => {
      const document = discovery.apis(`${aggregated(version)},application/json`);
      expect(document.contentType).toBe(aggregated(version));
      expect(read(document)).toMatchObject({
        kind: 'APIGroupDiscoveryList',
        apiVersion: `apidiscovery.k8s.io/${version}`,
        metadata: {},
      });
    },
  );

  test('lists the groups in order, the management group first', () => {
    const { items } = read(withVirtual.apis(KUBECTL));
    expect(items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
      GROUP,
      RBAC,
      'x.io',
    ]);
    expect(items[2].versions.map((entry: { version: string }) => entry.version)).toEqual([
      'v1',
      'v1beta1',
    ]);
  });

  test('lists the data that kubectl needs per kind', () => {
    const [management] = read(discovery.apis(KUBECTL)).items;
    const [{ version, freshness, resources }] = management.versions;
    expect({ version, freshness }).toEqual({ version: 'v1', freshness: 'Current' });
    const named = (name: string) =>
      resources.find((entry: { resource: string }) => entry.resource === name);
    expect(named('teams')).toEqual({
      resource: 'teams',
      responseKind: { group: GROUP, version: 'v1', kind: 'Team' },
      scope: 'Cluster',
      singularResource: 'team',
      verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      shortNames: ['tm'],
      categories: ['all', 'gitplane'],
      subresources: [
        {
          subresource: 'status',
          responseKind: { group: GROUP, version: 'v1', kind: 'Team' },
          verbs: ['get'],
        },
        {
          subresource: 'history',
          responseKind: { group: GROUP, version: 'v1', kind: 'ObjectHistory' },
          verbs: ['get'],
        },
        {
          subresource: 'blame',
          responseKind: { group: GROUP, version: 'v1', kind: 'ObjectBlame' },
          verbs: ['get'],
        },
        {
          subresource: 'source',
          responseKind: { group: GROUP, version: 'v1', kind: 'ObjectSource' },
          verbs: ['get', 'update'],
        },
        {
          subresource: 'rollback',
          responseKind: { group: GROUP, version: 'v1', kind: 'Rollback' },
          verbs: ['create'],
        },
      ],
    });
    expect(named('directclusterendpointtokens').subresources).toBeUndefined();
    expect(named('sharedsecrets').scope).toBe('Namespaced');
    expect(named('directclusterendpointtokens').verbs).toEqual(['create']);
    expect(named('config').singularResource).toBe('config');
    expect(named('configs')).toBeUndefined();
  });

  test('has subresources below their resource', () => {
    const things = read(withVirtual.apis(KUBECTL)).items[2].versions[0].resources;
    expect(things).toHaveLength(1);
    expect(things[0].subresources).toEqual([
      {
        subresource: 'status',
        responseKind: { group: 'x.io', version: 'v1', kind: 'Thing' },
        verbs: ['patch'],
      },
    ]);
  });

  test('aggregated discovery of the core group stands at /api', () => {
    expect(read(discovery.api(KUBECTL)).items).toEqual([]);
    const [core] = read(withVirtual.api(KUBECTL)).items;
    expect(core.metadata.name).toBeUndefined();
    expect(core.versions[0].resources[0].resource).toBe('namespaces');
  });
});

describe('legacy discovery', () => {
  test('/apis', () => {
    const document = discovery.apis('application/json');
    expect(document.contentType).toBe('application/json');
    const version = { groupVersion: `${GROUP}/v1`, version: 'v1' };
    expect(read(document)).toMatchObject({
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: [
        { name: GROUP, versions: [version], preferredVersion: version },
        { name: RBAC, versions: [{ groupVersion: `${RBAC}/v1` }] },
      ],
    });
  });

  test('/apis/<group>', () => {
    expect(read(withVirtual.group('x.io', undefined))).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'x.io',
      versions: [
        { groupVersion: 'x.io/v1', version: 'v1' },
        { groupVersion: 'x.io/v1beta1', version: 'v1beta1' },
      ],
      preferredVersion: { groupVersion: 'x.io/v1', version: 'v1' },
    });
  });

  test('/apis/<group>/<version>', () => {
    const { resources, ...head } = read(
      discovery.resources({ group: GROUP, version: 'v1' }, '*/*'),
    );
    expect(head).toEqual({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: `${GROUP}/v1`,
    });
    const expected = kinds.kinds
      .filter(({ group }) => group === GROUP)
      .flatMap(({ plural, storedIn }) => {
        const status = `${plural}/status`;
        if (storedIn === 'git')
          return [
            plural,
            status,
            `${plural}/history`,
            `${plural}/blame`,
            `${plural}/source`,
            `${plural}/rollback`,
          ];
        return storedIn === 'file'
          ? [plural, status, `${plural}/source`, `${plural}/sync`, `${plural}/patches:preview`]
          : [plural];
      });
    expect(resources.map(({ name }: { name: string }) => name)).toEqual(expected);
    expect(resources.find(({ name }: { name: string }) => name === 'teams')).toMatchObject({
      singularName: 'team',
      namespaced: false,
      kind: 'Team',
      shortNames: ['tm'],
    });
  });

  test('/api lists v1 only when the core group has something', () => {
    expect(read(discovery.api(undefined))).toMatchObject({ kind: 'APIVersions', versions: [] });
    expect(discovery.resources({ group: '', version: 'v1' }, undefined)).toBeUndefined();
    expect(read(withVirtual.api(undefined))).toMatchObject({ versions: ['v1'] });
    expect(read(withVirtual.resources({ group: '', version: 'v1' }, undefined))).toMatchObject({
      groupVersion: 'v1',
      resources: [{ name: 'namespaces' }],
    });
  });

  test('legacy discovery is served as YAML on request', () => {
    const document = discovery.apis('application/yaml');
    expect(document.contentType).toBe('application/yaml');
    expect(document.body.toString()).toMatch(/^apiVersion: v1\ngroups:\n/);
  });
});

test('a missing document is undefined, and a media type that cannot be sent is 406', () => {
  expect(discovery.group('nope.io', undefined)).toBeUndefined();
  expect(discovery.resources({ group: GROUP, version: 'v2' }, undefined)).toBeUndefined();
  expect(withVirtual.group('empty.io', undefined)).toBeUndefined();
  expect(() => discovery.apis('text/html')).toThrow(expect.objectContaining({ code: 406 }));
});

describe('caching', () => {
  test('a document is encoded once a form', () => {
    expect(discovery.apis(KUBECTL)).toBe(discovery.apis(KUBECTL));
    expect(discovery.apis(KUBECTL).etag).not.toBe(discovery.apis('application/json').etag);
  });

  test('the same kinds have the same ETag in another process', () => {
    expect(buildDiscovery(kinds).apis(KUBECTL).etag).toBe(discovery.apis(KUBECTL).etag);
    expect(withVirtual.apis(KUBECTL).etag).not.toBe(discovery.apis(KUBECTL).etag);
  });

  test.each([
    [undefined, false],
    ['"other"', false],
    ['*', true],
    ['ETAG', true],
    ['"other", W/ETAG', true],
  ])('If-None-Match: %s', (header, expected) => {
    const document = discovery.apis(KUBECTL);
    const value = header?.replace('ETAG', document.etag);
    expect(isNotModified(value, document)).toBe(expected);
  });
});

test('the version reads as a Kubernetes version', () => {
  const build = { version: '0.1.0', nodeVersion: 'v20.20.2', platform: 'linux/amd64' };
  expect(versionDocument(build)).toMatchObject({
    major: '1',
    minor: '32',
    gitVersion: expect.stringMatching(/^v1\.32\.\d+\+gitplane\.0\.1\.0$/),
  });
});
