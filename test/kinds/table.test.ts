import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { apiVersionOf, RBAC_GROUP } from '../../src/kinds/kind.ts';
import { schemaPlaces, schemaTree } from '../../src/kinds/schema/schema-files.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { GROUP, kindNamed, object, table } from './objects.ts';

test('every kind is found by what a manifest and by what a URL says', () => {
  for (const kind of table.kinds) {
    expect(table.byKind(apiVersionOf(kind), kind.kind)).toBe(kind);
    for (const plural of [kind.plural, ...kind.aliases]) {
      expect(table.byPlural(kind.group, plural)).toBe(kind);
    }
  }
});

test('names of kinds do not clash', () => {
  const words = table.kinds.flatMap((kind) => [
    ...new Set([kind.plural, kind.singular, ...kind.shortNames, ...kind.aliases]),
  ]);
  expect(new Set(words).size).toBe(words.length);
});

test('the management group is configurable', () => {
  const other = buildKindTable('platform.example.com');
  expect(other.groups).toEqual(['platform.example.com', RBAC_GROUP]);
  expect(other.byKind('platform.example.com/v1', 'Team')?.kind).toBe('Team');
  expect(other.byKind(`${GROUP}/v1`, 'Team')).toBeUndefined();
});

test('a name that an object inherits from JavaScript is no kind', () => {
  expect(table.byKind(`${GROUP}/v1`, 'constructor')).toBeUndefined();
  expect(table.byPlural(GROUP, '__proto__')).toBeUndefined();
});

test.each([
  [`${GROUP}/v1`, 'Teem', `Unknown kind "Teem" in ${GROUP}/v1, did you mean "Team"?`],
  [`${GROUP}/v1`, 'teams', `Unknown kind "teams" in ${GROUP}/v1, did you mean "Team"?`],
  [`${GROUP}/v1`, 'Secret', `it has Config, User, Team`],
  [`${GROUP}/v1`, 'Role', `Role is not part of ${GROUP}/v1; its apiVersion is ${RBAC_GROUP}/v1`],
  [`${GROUP}/v2`, 'Team', `Unknown API version "${GROUP}/v2", did you mean "${GROUP}/v1"?`],
  [GROUP, 'Team', `Unknown API version "${GROUP}", did you mean "${GROUP}/v1"?`],
  ['managment.gitplane.dev/v1', 'Team', `did you mean "${GROUP}/v1"?`],
  ['apps/v1', 'Deployment', `this platform serves ${GROUP}/v1 and ${RBAC_GROUP}/v1`],
])('%s %s: %s', (apiVersion, kind, message) => {
  expect(table.explainUnknown(apiVersion, kind)).toContain(message);
});

describe.each(table.kinds)('$kind', (kind) => {
  test('has an age or a time of creation, and no name, among its columns', () => {
    const names = kind.columns.map((column) => column.name);
    // As Kubernetes shows roles.
    const [own, type] = kind.kind.endsWith('Role') ? ['Created At', 'string'] : ['Age', 'date'];
    expect(names).toContain(own);
    expect(names).not.toContain('Name');
    const age = kind.columns.find((column) => column.name === own);
    expect(age?.type).toBe(type);
    expect(age?.value(bare({ creationTimestamp: '2026-01-01T00:00:00Z' }))).toBe(
      '2026-01-01T00:00:00Z',
    );
  });

  /** The least that passes the schema. */
  function bare(metadata: KubeObject['metadata'] = {}): KubeObject {
    const roleRef = kind.kind.endsWith('Binding') ? { roleRef: { kind: 'Role', name: 'x' } } : {};
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, ...roleRef };
  }

  test('fills every column of an object that has nothing', () => {
    for (const column of kind.columns) expect(() => column.value(bare())).not.toThrow();
  });

  test("knows the secrets of its schema, and kubectl's copy of them", () => {
    const marked = [...schemaPlaces(schemaTree(kind.schema))]
      .filter(({ node }) => node['x-gitplane-secret'] === true)
      .map(({ path }) => path);
    const copy = ['metadata', 'annotations', 'kubectl.kubernetes.io/last-applied-configuration'];
    expect(kind.secretPaths).toEqual(marked.length === 0 ? [] : [...marked, copy]);
  });

  test('never shows a secret in a column', () => {
    const secret = 'hunter2hunter2';
    const spec = { data: { a: secret }, key: secret, raw: secret, user: 'u' };
    const subject = { ...bare(), spec, status: { token: secret } } as unknown as KubeObject;
    const cells = kind.columns.map((column) => String(column.value(subject)));
    expect(cells.join()).not.toContain(secret);
  });
});

// covers: OwnedAccessKey.spec.oidcLogin
test.each([
  ['SharedSecret', ['spec.data.*']],
  ['ProjectSecret', ['spec.data.*']],
  [
    'OwnedAccessKey',
    [
      'spec.key',
      'spec.identity.connectorData',
      'spec.oidcLogin.idToken',
      'spec.oidcLogin.accessToken',
      'spec.oidcLogin.refreshToken',
    ],
  ],
  ['DirectClusterEndpointToken', ['status.token']],
  [
    'Config',
    [
      'spec.raw',
      'status.auth.oidc.clientSecret',
      'status.auth.connectors.*.providerD.clientSecret',
      'status.auth.providerE.bearerToken',
      'status.oidc.clients.*.clientSecret',
      'status.apps.repositories.*.password',
      'status.secretStore.auth.token',
    ],
  ],
])('%s keeps %j secret', (kind, paths) => {
  const known = kindNamed(kind).secretPaths.map((path) => path.join('.'));
  expect(known).toEqual(expect.arrayContaining(paths));
});

test('the cells of a secret count and never show', () => {
  const subject = object('SharedSecret', {
    spec: { displayName: 'Registry', owner: { team: 'ops' }, data: { a: 'eA==', b: 'eQ==' } },
  });
  const cells = kindNamed('SharedSecret').columns.map((column) => column.value(subject));
  expect(cells).toEqual(['Registry', 2, 'team/ops', undefined]);
});

// covers: endpoints.sharedsecrets.PUT.resourceVersion
test('a replacement needs the version only where the spec asks for it', () => {
  const needing = table.kinds.filter((kind) => !kind.allowUnconditionalUpdate);
  expect(needing.map((kind) => kind.kind)).toContain('SharedSecret');
  expect(needing.map((kind) => kind.kind)).not.toContain('Team');
  expect(needing.map((kind) => kind.kind)).not.toContain('OwnedAccessKey');
});
