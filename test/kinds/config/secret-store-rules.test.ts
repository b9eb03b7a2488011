/** What the configuration refuses in the block `secretStore`, and where. */
import { expect, test } from 'vitest';
import { parseConfigRaw } from '../../../src/kinds/config/config-raw.ts';

const NOT_PEM = '"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n"';

test.each<[string, string]>([
  ['address', 'address: "https://store/?a=b"'],
  ['address', 'address: "store:8200"'],
  ['caFile', `caFile: /ca.pem, caData: ${NOT_PEM}`],
  ['caData', 'caData: one'],
  ['caData', `caData: ${NOT_PEM}`],
  ['skipTLSVerify', 'skipTLSVerify: true, caFile: /ca.pem'],
  ['clientCertFile', 'clientKeyFile: /key.pem'],
  ['clientKeyFile', 'clientCertFile: /cert.pem'],
  ['clientKeyFile', 'clientCertFile: /cert.pem, clientKeyFile: /key.pem, clientKeyData: $KEY'],
  ['clientKeyData', 'clientCertFile: /cert.pem, clientKeyData: AAAA'],
  ['syncInterval', 'syncInterval: soon'],
  ['auth.tokenFile', 'auth: {token: a, tokenFile: /t}'],
  ['auth.appRole', 'auth: {tokenSecretRef: {key: a}, appRole: {roleId: a}}'],
  ['auth.userpass', 'auth: {jwt: {tokenFile: /t}, userpass: {username: a, password: b}}'],
  ['auth.appRole.roleId', 'auth: {appRole: {secretId: AAAA}}'],
  ['auth.appRole.roleId', 'auth: {appRole: {roleId: ""}}'],
  ['auth.appRole.secretIdFile', 'auth: {appRole: {roleId: a, secretId: AAAA, secretIdFile: /s}}'],
  ['auth.appRole.mount', 'auth: {appRole: {roleId: a, mount: auth/approle}}'],
  ['auth.appRole.mount', 'auth: {appRole: {roleId: a, mount: ../token}}'],
  ['auth.kubernetes.role', 'auth: {kubernetes: {}}'],
  ['auth.jwt.tokenSecretRef', 'auth: {jwt: {role: a}}'],
  ['auth.jwt.tokenSecretRef.key', 'auth: {jwt: {tokenSecretRef: {name: a, key: "b/c"}}}'],
  ['auth.userpass.passwordSecretRef', 'auth: {userpass: {username: a}}'],
  ['auth.userpass.username', 'auth: {userpass: {password: AAAA}}'],
  ['auth.tokenSecretRef.key', 'auth: {tokenSecretRef: {name: a, key: "b/c"}}'],
])('%s is refused in {%s}', (field, fields) => {
  const { problems } = parseConfigRaw(`secretStore: {${fields}}\n`);

  expect(problems.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(`^secretStore\\.${field}: `),
  );
  expect(problems.every(({ message }) => !message.includes('AAAA'))).toBe(true);
});

test.each([
  'caFile: /ca.pem',
  'clientCertFile: /cert.pem, clientKeyFile: /key.pem',
  'clientCertFile: /cert.pem, clientKeyData: $KEY',
  'address: "https://store/team/bao"',
  'auth: {token: a, tokenSecretRef: {key: a}}',
  'auth: {appRole: {roleId: a, secretId: $ID, mount: team/approle}}',
  'auth: {kubernetes: {role: a}}',
  'auth: {jwt: {tokenFile: /run/secrets/jwt}}',
  'auth: {userpass: {username: a, passwordSecretRef: {name: a, key: b}}}',
])('{%s} is taken', (fields) => {
  const { problems } = parseConfigRaw(`secretStore: {${fields}}\n`);

  expect(problems).toEqual([]);
});

const EU = 'name: eu, enabled: true, address: "https://eu", auth: {token: AAAA}';

test.each<[string, string]>([
  ['[0].name', '{address: "https://eu"}'],
  ['[0].name', '{name: ""}'],
  ['[0].name', '{name: default}'],
  ['[0].name', '{name: EU}'],
  ['[0].name', '{name: a/b}'],
  ['[1].name', `{${EU}}, {${EU}}`],
  ['[0].address', '{name: eu, enabled: true, auth: {token: AAAA}}'],
  ['[0].address', '{name: eu, address: "eu:8200"}'],
  ['[0].auth', '{name: eu, enabled: true, address: "https://eu"}'],
  ['[0].auth', '{name: eu, enabled: true, address: "https://eu", auth: {}}'],
  ['[1].syncInterval', `{${EU}}, {name: us, syncInterval: soon}`],
  ['[0].auth.appRole.roleId', '{name: eu, auth: {appRole: {secretId: AAAA}}}'],
  ['[0].another', '{name: eu, another: 1}'],
])('secretStores%s is refused in [%s]', (field, stores) => {
  const { problems } = parseConfigRaw(`secretStores: [${stores}]\n`);
  const messages = problems.map(({ message }) => message);

  expect(messages.some((text) => text.includes(`secretStores${field}`))).toBe(true);
  expect(messages.join()).not.toContain('AAAA');
});

test('secretStore has no name, and stores with names have all of its fields and defaults', () => {
  const { problems } = parseConfigRaw('secretStore: {name: eu}\n');
  expect(problems.map(({ message }) => message).join()).toContain('secretStore.name: ');
  const { status } = parseConfigRaw(`secretStores: [{${EU}}, {name: us}]\n`);
  expect(status['secretStores']).toMatchObject([
    { name: 'eu', syncInterval: '1m' },
    { name: 'us', syncInterval: '1m' },
  ]);
});

const PULL = 'name: team, mount: secret, path: team, namespace: team-a';

test.each<[string, string]>([
  ['[0].name', '{mount: secret, namespace: a}'],
  ['[0].mount', '{name: a, namespace: a}'],
  ['[0].namespace', '{name: a, mount: secret}'],
  ['[1].name', `{${PULL}}, {${PULL}}`],
  ['[0].name', '{name: A, mount: secret, namespace: a}'],
  ['[0].mount', '{name: a, mount: "", namespace: a}'],
  ['[0].mount', '{name: a, mount: sys, namespace: a}'],
  ['[0].path', '{name: a, mount: secret, path: ../sys, namespace: a}'],
  ['[0].path', '{name: a, mount: secret, path: a/+/b, namespace: a}'],
  ['[0].namespace', '{name: a, mount: secret, namespace: a/b}'],
  ['[0].match', `{${PULL}, match: "("}`],
  ['[0].exclude', `{${PULL}, exclude: "(?=a)"}`],
  ['[0].kind', `{${PULL}, kind: Secret}`],
  ['[0].nameTemplate', `{${PULL}, nameTemplate: fixed}`],
  ['[0].nameTemplate', `{${PULL}, nameTemplate: "{path}-{other}"}`],
  ['[0].nameTemplate', `{${PULL}, nameTemplate: "A{path}"}`],
  ['[0].labels', `{${PULL}, labels: {gitplane.dev/sharedsecret-name: a}}`],
  ['[0].labels.a', `{${PULL}, labels: {a: "b c"}}`],
  ['[0].interval', `{${PULL}, interval: 1ms}`],
  ['[0].deletionPolicy', `{${PULL}, deletionPolicy: Merge}`],
  ['[0].limit', `{${PULL}, limit: 0}`],
  ['[0].limit', `{${PULL}, limit: 10001}`],
])('pulls%s is refused in [%s]', (field, pulls) => {
  for (const text of [
    `secretStore: {pulls: [${pulls}]}\n`,
    `secretStores: [{name: eu, pulls: [${pulls}]}]\n`,
  ]) {
    const messages = parseConfigRaw(text).problems.map(({ message }) => message);

    expect(messages.join('\n')).toMatch(new RegExp(`pulls${field.replace(/[[\].]/g, '\\$&')}`));
  }
});

test('a pull has defaults', () => {
  const { status } = parseConfigRaw(`secretStore: {pulls: [{${PULL}}]}\n`);

  expect(status['secretStore']).toMatchObject({
    pulls: [
      {
        ...{ recursive: true, kind: 'SharedSecret', nameTemplate: '{path}' },
        ...{ deletionPolicy: 'Retain', limit: 1000 },
      },
    ],
  });
});
