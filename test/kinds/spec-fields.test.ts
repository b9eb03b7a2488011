/** Every field of the tables of spec sections 2.2 to 2.8, with its type, is in the schemas. */
import { describe, expect, test } from 'vitest';
import { type SchemaNode, schemaPlaces, schemaTree } from '../../src/kinds/schema/schema-files.ts';
import { CONFIG_FIELDS, fields } from '../support/config-fields.ts';

const METADATA = fields(`
  name: string
  generateName: string
  namespace: string
  selfLink: string
  uid: string
  resourceVersion: string
  generation: integer
  creationTimestamp: timestamp
  deletionTimestamp: timestamp
  deletionGracePeriodSeconds: integer
  labels: map
  annotations: map
  ownerReferences: array
  ownerReferences[].apiVersion: string
  ownerReferences[].kind: string
  ownerReferences[].name: string
  ownerReferences[].uid: string
  ownerReferences[].controller: boolean
  ownerReferences[].blockOwnerDeletion: boolean
  finalizers: array
  finalizers[]: string
  managedFields: array
  managedFields[].manager: string
  managedFields[].operation: string
  managedFields[].apiVersion: string
  managedFields[].time: timestamp
  managedFields[].fieldsType: string
  managedFields[].fieldsV1: object
  managedFields[].subresource: string
`);

const OWNER_AND_ACCESS = fields(`
  spec.displayName: string
  spec.description: string
  spec.owner: object
  spec.owner.user: string
  spec.owner.team: string
  spec.access: array
  spec.access[].name: string
  spec.access[].verbs: array
  spec.access[].verbs[]: string
  spec.access[].subresources: array
  spec.access[].subresources[]: string
  spec.access[].users: array
  spec.access[].users[]: string
  spec.access[].teams: array
  spec.access[].teams[]: string
`);

const SCOPE = fields(`
  spec.scope: object
  spec.scope.roles: array
  spec.scope.roles[].role: string
  spec.scope.roles[].projects: array
  spec.scope.roles[].projects[]: string
  spec.scope.roles[].virtualClusters: array
  spec.scope.roles[].virtualClusters[]: string
  spec.scope.projects: array
  spec.scope.projects[].project: string
  spec.scope.spaces: array
  spec.scope.spaces[].project: string
  spec.scope.spaces[].space: string
  spec.scope.virtualClusters: array
  spec.scope.virtualClusters[].project: string
  spec.scope.virtualClusters[].virtualCluster: string
  spec.scope.clusters: array
  spec.scope.clusters[].cluster: string
  spec.scope.rules: array
  spec.scope.allowPlatformCli: boolean
  spec.scope.rules[].verbs: array
  spec.scope.rules[].resources: array
  spec.scope.rules[].resources[].group: string
  spec.scope.rules[].resources[].resources: array
  spec.scope.rules[].resourceNames: array
  spec.scope.rules[].namespaces: array
  spec.scope.rules[].nonResourceURLs: array
  spec.scope.rules[].requestTargets: array
  spec.scope.rules[].cluster: string
  spec.scope.rules[].virtualClusters: array
  spec.scope.rules[].virtualClusters[].name: string
  spec.scope.rules[].virtualClusters[].namespace: string
`);

const KINDS: [string, [string, string][]][] = [
  [
    'sharedsecret',
    [
      ...OWNER_AND_ACCESS,
      ...fields(`
        spec.data: map
        spec.data{}: string
        status.conditions: array
      `),
    ],
  ],
  [
    'team',
    [
      ...OWNER_AND_ACCESS,
      ...fields(`
        spec.username: string
        spec.users: array
        spec.users[]: string
        spec.groups: array
        spec.groups[]: string
        spec.imagePullSecrets: array
        spec.imagePullSecrets[].apiGroup: string
        spec.imagePullSecrets[].kind: string
        spec.imagePullSecrets[].secretName: string
        spec.imagePullSecrets[].secretNamespace: string
        spec.imagePullSecrets[].key: string
        spec.clusterRoles: array
        spec.clusterRoles[].name: string
        status: object
      `),
    ],
  ],
  [
    'ownedaccesskey',
    [
      ...SCOPE,
      ...fields(`
        spec.displayName: string
        spec.description: string
        spec.user: string
        spec.team: string
        spec.subject: string
        spec.groups: array
        spec.groups[]: string
        spec.key: string
        spec.disabled: boolean
        spec.ttl: integer
        spec.ttlAfterLastActivity: boolean
        spec.type: string
        spec.identity: object
        spec.identity.userId: string
        spec.identity.username: string
        spec.identity.preferredUsername: string
        spec.identity.email: string
        spec.identity.emailVerified: boolean
        spec.identity.extraClaims: object
        spec.identity.groups: array
        spec.identity.groups[]: string
        spec.identity.connector: string
        spec.identity.connectorData: string
        spec.identity.identityRefresh: timestamp
        spec.identityRefresh: timestamp
        spec.oidcProvider: object
        spec.oidcProvider.clientId: string
        spec.oidcProvider.nonce: string
        spec.oidcProvider.redirectUri: string
        spec.oidcProvider.scopes: string
        spec.parent: string
        spec.oidcLogin: object
        spec.oidcLogin.idToken: string
        spec.oidcLogin.accessToken: string
        spec.oidcLogin.refreshToken: string
        spec.oidcLogin.lastRefresh: timestamp
        status.lastActivity: timestamp
      `),
    ],
  ],
  [
    'directclusterendpointtoken',
    [
      ...SCOPE,
      ...fields(`
        spec.ttl: integer
        status.token: string
      `),
    ],
  ],
  ['config', fields('spec.raw: string')],
];

function typeOf(node: SchemaNode | undefined): string {
  if (node === undefined) return 'absent';
  const [type] = [node.type].flat().filter((name) => name !== 'null');
  if (type === 'string' && node['format'] === 'date-time') return 'timestamp';
  if (type === 'object' && typeof node.additionalProperties === 'object') return 'map';
  return String(type);
}

function find(schema: string, path: string): SchemaNode | undefined {
  const wanted = path.replaceAll('[]', '.*').replaceAll('{}', '.*');
  for (const place of schemaPlaces(schemaTree(schema))) {
    if (place.path.join('.') === wanted) return place.node;
  }
  return undefined;
}

test.each(METADATA)('metadata.%s is a %s', (path, type) => {
  expect(typeOf(find('object-meta', path))).toBe(type);
});

describe.each(KINDS)('%s', (schema, list) => {
  test.each(list)('%s is a %s', (path, type) => {
    expect(typeOf(find(schema, path))).toBe(type);
  });

  test('carries the whole metadata', () => {
    expect(schemaTree(schema).properties?.['metadata']?.properties).toEqual(
      schemaTree('object-meta').properties,
    );
  });
});

describe('Config', () => {
  test.each(CONFIG_FIELDS)('status.%s is a %s', (path, type) => {
    expect(typeOf(find('config', `status.${path}`))).toBe(type);
  });

  test('spec.raw holds exactly what status shows', () => {
    expect(schemaTree('config').properties?.['status']?.properties).toEqual(
      schemaTree('config-status').properties,
    );
  });
});

test.each([
  ['object-meta', 'ownerReferences.*.blockOwnerDeletion', false],
  ['config-status', 'auth.disableTeamCreation', false],
  ['config-status', 'auth.disableUserCreation', false],
  ['config-status', 'auth.loginAccessKeyTTLSeconds', 20 * 24 * 3600],
  ['config-status', 'auth.oidc.scopes', ['email', 'profile']],
  ['config-status', 'auth.connectors.*.providerC.scopes', ['profile', 'email']],
  ['config-status', 'auth.providerD.tenant', 'common'],
  [
    'config-status',
    'auth.saml.nameIDPolicyFormat',
    'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  ],
  ['config-status', 'projectNamespacePrefix', 'p-'],
  ['config-status', 'audit.maxSize', 100],
  ['config-status', 'audit.compress', false],
  ['config-status', 'uiSettings.navBarButtons.*.position', 'BottomEnd'],
  ['config-status', 'secretStore.syncInterval', '1m'],
  ['config-status', 'costControl.global.metrics.retention', '1y'],
])('%s: %s defaults to %j', (schema, path, value) => {
  expect(find(schema, path)?.default).toEqual(value);
});

test.each([
  ['object-meta', 'selfLink'],
  ['ownedaccesskey', 'spec.scope.rules'],
  ['ownedaccesskey', 'spec.scope.allowPlatformCli'],
  ['directclusterendpointtoken', 'spec.scope.rules'],
  ['ownedaccesskey', 'spec.parent'],
  ['ownedaccesskey', 'spec.oidcLogin'],
  ['config-status', 'oidc'],
  ['config-status', 'workspaceSubDomain'],
])('%s: %s is marked as deprecated', (schema, path) => {
  expect(find(schema, path)?.deprecated).toBe(true);
});
