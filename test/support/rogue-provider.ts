/**
 * An OpenID provider that does what a test wants: every document and every token can be changed, the
 * answers can be late, endless, or lead elsewhere.
 */
import type { webcrypto } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';

export interface RogueProvider {
  readonly issuer: string;
  /** Changed as wanted before it is asked for. */
  readonly metadata: Record<string, unknown>;
  /** Claims of the next ID token; `nonce`, `iat` and `exp` are filled in where they are absent. */
  claims: Record<string, unknown>;
  userInfo: Record<string, unknown>;
  /** Makes the ID token; the right way when absent. */
  makeToken: ((claims: Record<string, unknown>) => Promise<string> | string) | undefined;
  /** Answers instead; false: it does not. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Fields of the token response beside the ID token. */
  tokens: Record<string, unknown>;
  readonly key: webcrypto.CryptoKey;
  /** What is at `jwks_uri`. */
  keys: object[];
  readonly publicJwk: JWK;
  readonly requests: string[];
  /** Where a browser comes back to that was sent to `url`, with changes of the query. */
  callback(url: string, changes?: Record<string, string | undefined>): string;
}

export const ROGUE_CLIENT = 'platform';

export async function startRogueProvider(): Promise<RogueProvider> {
  const { privateKey: key, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const publicJwk: JWK = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  let nonce = '';
  const server: Server = createServer((request, response) => {
    state.requests.push(`${request.method} ${request.url}`);
    if (state.intercept(request, response)) return;
    void answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: RogueProvider = {
    issuer,
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['RS256'],
    },
    claims: { sub: 'ann-1', name: 'ann' },
    userInfo: { sub: 'ann-1' },
    makeToken: undefined,
    intercept: () => false,
    tokens: {},
    key,
    publicJwk,
    keys: [publicJwk],
    requests: [],
    callback: (url, changes = {}) => {
      const asked = new URL(url).searchParams;
      nonce = asked.get('nonce') ?? '';
      const query = new URLSearchParams({ code: 'a-code', state: asked.get('state') ?? '' });
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined) query.delete(name);
        else query.set(name, value);
      }
      return `${new URL(asked.get('redirect_uri') ?? '').pathname}?${query.toString()}`;
    },
  };
  return state;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    if (path?.startsWith('/.well-known/')) return json(response, state.metadata);
    if (path === '/jwks') return json(response, { keys: state.keys });
    if (path === '/userinfo') return json(response, state.userInfo);
    if (path === '/token') {
      const now = Math.floor(Date.now() / 1000);
      const common = { iss: issuer, aud: ROGUE_CLIENT, iat: now, exp: now + 300, nonce };
      const claims = { ...common, ...state.claims };
      const idToken = await (state.makeToken ?? signed)(claims);
      const tokens = { access_token: 'an-access-token', token_type: 'bearer', expires_in: 300 };
      return json(response, { ...tokens, id_token: idToken, ...state.tokens });
    }
    response.writeHead(404).end();
  }

  async function signed(claims: Record<string, unknown>): Promise<string> {
    return await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(key);
  }
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
