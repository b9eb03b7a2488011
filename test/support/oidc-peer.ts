/**
 * An OpenID provider that is not our code: the library `oidc-provider`, in this process, on a port of
 * the kernel's. Every visitor is signed in as `account`, and approves everything.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { onTestFinished } from 'vitest';
import { wanderTo } from './wanderer.ts';

export interface OidcPeer {
  readonly issuer: string;
  readonly provider: Provider;
  /** Who signs in next, and what the provider says of it. */
  account: { id: string; claims: Record<string, unknown> };
  /** Requests that came, as `GET /path?query`. */
  readonly requests: string[];
  /** Bodies of requests to the token endpoint. */
  readonly tokenRequests: { readonly body: URLSearchParams; readonly authorization: string }[];
  /** Goes from a URL of the provider to where it sends the browser back; that URL. */
  signIn(url: string): Promise<URL>;
}

export const CLIENT_ID = 'platform';
export const CLIENT_SECRET = 'a-secret-of-the-client';
export const REDIRECT_URI = 'https://platform.example/auth/oidc/callback';

/** Claims that are in the scopes of the same name, and in ID tokens. */
const CLAIMS = {
  openid: ['sub'],
  email: ['email', 'email_verified'],
  profile: ['name', 'preferred_username', 'nickname', 'dept', 'level', 'address_book', 'mail2'],
  groups: ['groups', 'roles'],
};

export async function startOidcPeer(
  of: {
    readonly configuration?: Configuration;
    readonly client?: Record<string, unknown>;
    readonly tls?: { readonly key: string; readonly cert: string };
  } = {},
): Promise<OidcPeer> {
  const { tls } = of;
  let handler: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    handler(request, response);
  const server: Server =
    tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  const issuer = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`;
  const peer: { account: OidcPeer['account'] } = { account: { id: 'ann-1', claims: {} } };
  const requests: string[] = [];
  const tokenRequests: { body: URLSearchParams; authorization: string }[] = [];
  const provider = quietly(
    () =>
      new Provider(issuer, {
        clients: [
          {
            client_id: CLIENT_ID,
            client_secret: CLIENT_SECRET,
            redirect_uris: [REDIRECT_URI, 'https://platform.example/auth/second/callback'],
            post_logout_redirect_uris: ['https://platform.example/bye'],
            grant_types: ['authorization_code', 'refresh_token'],
            ...of.client,
          },
        ],
        claims: CLAIMS,
        conformIdTokenClaims: false,
        findAccount: (_context, id) => ({
          accountId: id,
          claims: () => ({ ...peer.account.claims, sub: id }),
        }),
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
        cookies: { keys: ['a-key-of-a-test'] },
        ttl: { Interaction: 600, Session: 600, Grant: 600, IdToken: 600, AccessToken: 600 },
        ...of.configuration,
      }),
  );
  provider.on('server_error', () => undefined);
  const answer = provider.callback();
  handler = (request, response) => {
    const { method, url = '' } = request;
    requests.push(`${method} ${url}`);
    if (url.startsWith('/interaction/')) {
      void agree(provider, peer.account.id, { request, response });
      return;
    }
    if (method === 'POST' && url.startsWith('/token')) {
      const { authorization = '' } = request.headers;
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = new URLSearchParams(Buffer.concat(chunks).toString());
        tokenRequests.push({ body, authorization });
      });
    }
    void answer(request, response);
  };
  return Object.assign(peer, {
    ...{ issuer, provider, requests, tokenRequests },
    signIn: async (url: string) => await wanderTo(url, 'https://platform.example'),
  });
}

/** The library warns of what a test wants. */
function quietly<T>(work: () => T): T {
  const { warn, info } = console;
  Object.assign(console, { warn: () => undefined, info: () => undefined });
  try {
    return work();
  } finally {
    Object.assign(console, { warn, info });
  }
}

async function agree(
  provider: Provider,
  accountId: string,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { params, prompt } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId } });
    return;
  }
  const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  const { missingResourceScopes } = prompt.details as {
    missingResourceScopes?: Record<string, string[]>;
  };
  for (const [indicator, scopes] of Object.entries(missingResourceScopes ?? {})) {
    grant.addResourceScope(indicator, scopes.join(' '));
  }
  const consent = { grantId: await grant.save() };
  await provider.interactionFinished(request, response, { consent });
}
