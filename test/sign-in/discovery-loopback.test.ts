/** Discovery documents of issuers elsewhere that name what listens beside the daemon. */
import * as library from 'openid-client';
import { expect, test } from 'vitest';
import { discover } from '../../src/sign-in/connectors/oidc-client.ts';

const ISSUER = 'https://idp.example';

function discovered(token_endpoint: string): Promise<unknown> {
  const document = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint,
    jwks_uri: `${ISSUER}/keys`,
  };
  const block = { issuerUrl: ISSUER, clientId: 'gitplane', clientSecret: 'x', scopes: [] };
  return discover(library, block, { fetch: async () => Response.json(document), clock: Date });
}

test.each([
  'https://0.0.0.0:8443/token',
  'https://0/token',
  'https://[::]/token',
  'https://[::1]/token',
  'https://[::ffff:127.0.0.1]/token',
  'https://127.1/token',
  'https://localhost./token',
  'https://idp.localhost/token',
])('%s is refused', async (endpoint) => {
  await expect(discovered(endpoint)).rejects.toMatchObject({
    reason: 'bad-endpoint',
    message: expect.stringContaining('on the loopback'),
  });
});

test('an endpoint elsewhere is taken', async () => {
  await expect(discovered('https://token.idp.example/token')).resolves.toBeDefined();
});
