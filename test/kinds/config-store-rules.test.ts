/** What the configuration refuses in the block `secretStore`, and where. */
import { expect, test } from 'vitest';
import { parseConfigRaw } from '../../src/kinds/config-raw.ts';

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
