import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { resolveReferences } from '../../src/config/references.ts';
import { parseConfigRaw } from '../../src/kinds/config/config-raw.ts';

const environment = { SECRET: 'hunter2', TOKEN: 'a:b', EMPTY: '' };

function resolve(raw: string): { config: JsonObject; missing: string[] } {
  const { status, problems } = parseConfigRaw(raw);
  expect(problems).toEqual([]);
  const { config, missing } = resolveReferences(status, environment);
  return { config, missing: missing.map(({ path, variable }) => `${path.join('.')} ${variable}`) };
}

test.each([
  ['auth: {oidc: {clientSecret: $SECRET}}', 'auth.oidc.clientSecret', 'hunter2'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference, not a template
  ['auth: {oidc: {clientSecret: "${SECRET}"}}', 'auth.oidc.clientSecret', 'hunter2'],
  ['auth: {oidc: {clientId: $SECRET}}', 'auth.oidc.clientId', 'hunter2'],
  ['auth: {providerE: {bearerToken: $TOKEN}}', 'auth.providerE.bearerToken', 'a:b'],
  [
    'auth: {connectors: [{id: a, providerB: {clientSecret: $SECRET}}]}',
    'auth.connectors.0.providerB.clientSecret',
    'hunter2',
  ],
  ['secretStore: {auth: {token: $TOKEN}}', 'secretStore.auth.token', 'a:b'],
  ['audit: {dataStoreEndpoint: $TOKEN}', 'audit.dataStoreEndpoint', 'a:b'],
  [
    'apps: {repositories: [{name: a, url: "https://a", password: $SECRET}]}',
    'apps.repositories.0.password',
    'hunter2',
  ],
  // What names no variable stays, and a literal may begin with a dollar.
  ['auth: {oidc: {clientSecret: $$SECRET}}', 'auth.oidc.clientSecret', '$SECRET'],
  ['auth: {oidc: {clientSecret: $2b$10$x}}', 'auth.oidc.clientSecret', '$2b$10$x'],
  ['auth: {oidc: {clientSecret: a$SECRET}}', 'auth.oidc.clientSecret', 'a$SECRET'],
  // Other fields are no places for it.
  ['cloud: {releaseChannel: $SECRET}', 'cloud.releaseChannel', '$SECRET'],
  ['auth: {oidc: {usernamePrefix: $SECRET}}', 'auth.oidc.usernamePrefix', '$SECRET'],
])('%s: %s is %s', (raw, path, value) => {
  const { config, missing } = resolve(raw);
  const found = path.split('.').reduce<unknown>((at, step) => Object(at)[step], config);
  expect([found, missing]).toEqual([value, []]);
});

test.each([
  ['auth: {oidc: {clientSecret: $NOPE}, providerB: {clientId: b}}', 'auth.oidc', 'auth.providerB'],
  ['auth: {oidc: {clientSecret: $EMPTY}, providerB: {clientId: b}}', 'auth.oidc', 'auth.providerB'],
  ['secretStore: {enabled: true, auth: {token: $NOPE}}', 'secretStore', 'auth'],
  ['audit: {maxAge: 1, dataStoreEndpoint: $NOPE}', 'audit.dataStoreEndpoint', 'audit.maxAge'],
])('%s: what cannot be resolved leaves with its block, %s, and not %s', (raw, gone, stays) => {
  const { config, missing } = resolve(raw);
  const has = (path: string): boolean =>
    path.split('.').reduce<unknown>((at, step) => Object(at)[step], config) !== undefined;
  expect([missing.length, has(gone), has(stays)]).toEqual([1, false, true]);
});

test('a client or connector that lost its secret is not there as one without', () => {
  const raw = `
auth:
  connectors:
    - {id: a, oidc: {clientSecret: $NOPE}}
    - {id: b, oidc: {clientSecret: $SECRET}}
oidc:
  clients:
    - {clientId: x, clientSecret: $NOPE, redirectURIs: [https://x.example.com/cb]}
    - {clientId: y, clientSecret: $SECRET, redirectURIs: [https://y.example.com/cb]}
`;
  const { config, missing } = resolve(raw);
  const { auth, oidc } = config as unknown as {
    auth: { connectors: { id: string }[] };
    oidc: { clients: { clientId: string }[] };
  };
  expect(missing).toEqual([
    'auth.connectors.0.oidc.clientSecret NOPE',
    'oidc.clients.0.clientSecret NOPE',
  ]);
  expect(auth.connectors.map(({ id }) => id)).toEqual(['b']);
  expect(oidc.clients.map(({ clientId }) => clientId)).toEqual(['y']);
});

test('the configuration that was given stays as it was', () => {
  const { status } = parseConfigRaw('auth: {oidc: {clientSecret: $SECRET}}');
  const before = structuredClone(status);
  resolveReferences(status, environment);
  expect(status).toEqual(before);
});
