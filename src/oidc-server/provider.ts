import type { IncomingMessage } from 'node:http';
import type { Account, Configuration, JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { PersonSession } from './account-claims.ts';
import { CLAIMS, claimsOf, type Person } from './account-claims.ts';
import type { Clients } from './clients.ts';
import { STEP_SECONDS } from './interaction.ts';
import type { Library } from './library.ts';
import { errorPage, logoutPage, PAGE_POLICY, signedOutPage } from './pages.ts';
import type { RefreshTokens } from './refresh-tokens.ts';
import { LONGEST_SECONDS, type Storage } from './storage.ts';

type ProviderConfiguration = Configuration;

/** Session of a person who may sign in at clients; undefined: there is none. */
type UsableSession = (request: IncomingMessage) => PersonSession | undefined;

export interface ProviderParts {
  readonly library: Library;
  readonly issuer: string;
  readonly clients: Clients;
  readonly storage: Storage;
  readonly refreshTokens: RefreshTokens;
  /** Private keys; the current one of each algorithm comes first. */
  readonly keys: readonly JWK[];
  readonly signWith: 'RS256' | 'ES256';
  /** Signs the cookies. */
  readonly cookieKey: string;
  readonly person: (name: string) => Person | undefined;
  readonly sessionOf: UsableSession;
  /** Request id in log and audit. */
  readonly referenceOf: (request: IncomingMessage) => string;
  /** False: no refresh tokens are issued. */
  readonly offersRefresh: () => boolean;
}

const HOUR = 3600;
const TTL = {
  AccessToken: HOUR,
  AuthorizationCode: 60,
  Grant: 24 * HOUR,
  IdToken: HOUR,
  Interaction: STEP_SECONDS,
  Session: 12 * HOUR,
};

/** Limit of a nonce, because it is stored in git with the login. */
const LONGEST_NONCE = 512;
/** Limit of an interaction, because interactions are in memory and anyone can begin one. */
const LONGEST_REQUEST = 8192;

export function buildProvider(parts: ProviderParts): Provider {
  const { library, issuer, clients } = parts;
  const provider = new library.Provider(issuer, configurationOf(parts));
  // `pinAddress` sets the addresses, not the headers of the client.
  provider.proxy = true;
  followPlatform(provider, parts.sessionOf);
  useRefreshTokens(provider, parts);
  provider.Client.prototype.redirectUriAllowed = function allowed(this: { clientId: string }, uri) {
    return clients.allowsRedirect(this.clientId, uri);
  };
  provider.Client.prototype.postLogoutRedirectUriAllowed = function allowed(
    this: { clientId: string },
    uri,
  ) {
    return clients.allowsAfterLogout(this.clientId, uri);
  };
  return provider;
}

/**
 * Ties the session of the library to the session of the platform: the same person is signed in at
 * both. It only records which clients the browser visited.
 */
function followPlatform(provider: Provider, sessionOf: UsableSession): void {
  const { Session } = provider;
  const own = Session.get.bind(Session);
  Session.get = async (ctx) => {
    const session = await own(ctx);
    const current = sessionOf(ctx.req);
    if (session.accountId !== undefined && session.accountId !== current?.person) {
      // The uid stays, so that an authorization in progress continues as the current person.
      Object.assign(session, {
        accountId: undefined,
        loginTs: undefined,
        authorizations: undefined,
      });
      session.resetIdentifier();
    }
    if (current !== undefined) {
      session.loginAccount({
        accountId: current.person,
        loginTs: Math.floor(current.signedInAt / 1000),
      });
    }
    return session;
  };
}

/** Takes the texts of refresh tokens from `RefreshTokens`, which recognises former tokens of a login. */
function useRefreshTokens(provider: Provider, { library, refreshTokens }: ProviderParts): void {
  const generateTokenId = (): string => {
    const replaced = library.Provider.ctx?.oidc.entities.RotatedRefreshToken?.jti;
    return replaced === undefined ? refreshTokens.mint() : refreshTokens.successorOf(replaced);
  };
  Object.assign(provider.RefreshToken.prototype, { generateTokenId });
}

function configurationOf(parts: ProviderParts): ProviderConfiguration {
  const { issuer, keys, storage, cookieKey, signWith } = parts;
  const { pathname, protocol } = new URL(issuer);
  const prefix = protocol === 'https:' ? '__Secure-' : '';
  return {
    adapter: storage.factory,
    jwks: { keys },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256'] },
    clientDefaults: { id_token_signed_response_alg: signWith },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    responseTypes: ['code'],
    subjectTypes: ['public'],
    scopes: ['openid', 'offline_access'],
    claims: CLAIMS,
    // Clients read the ID token, and many never call UserInfo.
    conformIdTokenClaims: false,
    allowOmittingSingleRegisteredRedirectUri: false,
    routes: {
      authorization: '/auth',
      token: '/token',
      userinfo: '/userinfo',
      jwks: '/jwks',
      introspection: '/introspect',
      revocation: '/revoke',
      end_session: '/logout',
    },
    cookies: {
      keys: [cookieKey],
      names: {
        session: `${prefix}gitplane-oidc`,
        interaction: `${prefix}gitplane-oidc-step`,
        resume: `${prefix}gitplane-oidc-resume`,
      },
      long: { signed: true, httpOnly: true, sameSite: 'lax', path: pathname },
      short: { signed: true, httpOnly: true, sameSite: 'lax' },
    },
    ttl: { ...TTL, RefreshToken: refreshTtl },
    ...featuresOf(),
    ...rulesOf(parts),
  };
}

/** Lifetime for the library; the key of the login determines the real end. */
function refreshTtl(ctx: KoaContextWithOIDC): number {
  return ctx?.oidc.entities.RotatedRefreshToken?.remainingTTL ?? LONGEST_SECONDS;
}

function featuresOf(): ProviderConfiguration {
  const own = (
    _ctx: unknown,
    client: { readonly clientId: string },
    token: { readonly clientId?: string | undefined },
  ): boolean => client.clientId === token.clientId;
  return {
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      revocation: { enabled: true, allowedPolicy: own },
      introspection: {
        enabled: true,
        // Anyone can claim to be a public client.
        allowedPolicy: (ctx, client, token) =>
          client.clientAuthMethod !== 'none' && own(ctx, client, token),
      },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx, form) => showPage(ctx, logoutPage(form)),
        postLogoutSuccessSource: (ctx) => showPage(ctx, signedOutPage()),
      },
    },
  };
}

function rulesOf(parts: ProviderParts): ProviderConfiguration {
  const { issuer, library, clients, referenceOf } = parts;
  const base = new URL(issuer).pathname;
  return {
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' },
    clientBasedCORS: (_ctx, origin, client) => clients.allowsOrigin(client.clientId, origin),
    extraParams: {
      scope: (ctx) => keepOfflineAccess(ctx, parts.offersRefresh()),
      nonce: (ctx, nonce) => limitRequest(library, ctx, nonce),
    },
    findAccount: (_ctx, name, token) => findAccount(parts, name, token),
    loadExistingGrant: (ctx) => grantFor(parts, ctx),
    rotateRefreshToken: (ctx) => ctx.oidc.client?.clientAuthMethod === 'none',
    interactions: {
      policy: library.interactionPolicy.base(),
      url: (_ctx, { uid }) => `${base}/interaction/${uid}`,
    },
    renderError: (ctx, { error }) => {
      showPage(ctx, errorPage(error, referenceOf(ctx.req)));
    },
  };
}

function showPage(ctx: KoaContextWithOIDC, body: string): void {
  ctx.type = 'html';
  ctx.set('content-security-policy', PAGE_POLICY);
  ctx.body = body;
}

/**
 * The library asks the person for approval each time (OpenID Connect Core, section 11). Here the
 * administrator approved the client by configuring it.
 */
function keepOfflineAccess(ctx: KoaContextWithOIDC, offersRefresh: boolean): void {
  const { params, client, body } = ctx.oidc;
  const asked = String((ctx.method === 'POST' ? body : ctx.query)?.['scope'] ?? '').split(' ');
  const isOffered = offersRefresh && client?.grantTypeAllowed('refresh_token') === true;
  if (params === undefined || !asked.includes('offline_access')) return;
  const others = String(params['scope'] ?? '')
    .split(' ')
    .filter((scope) => scope !== '' && scope !== 'offline_access');
  params['scope'] = [...others, ...(isOffered ? ['offline_access'] : [])].join(' ');
}

function limitRequest(library: Library, ctx: KoaContextWithOIDC, nonce: string | undefined): void {
  const size = JSON.stringify(ctx.oidc.params ?? {}).length;
  if (size > LONGEST_REQUEST) throw new library.errors.InvalidRequest('the request is too long');
  if ((nonce ?? '').length > LONGEST_NONCE) {
    throw new library.errors.InvalidRequest('the nonce is too long');
  }
}

interface Issued {
  readonly kind?: string | undefined;
  readonly clientId?: string | undefined;
  readonly redirectUri?: string | undefined;
}

/** Undefined: the account is gone, or the redirect URI of the code was removed since. */
function findAccount(
  { person: find, clients }: ProviderParts,
  name: string,
  token: Issued | undefined,
): Account | undefined {
  const isCode = token?.kind === 'AuthorizationCode';
  if (isCode && !clients.allowsRedirect(token.clientId ?? '', token.redirectUri)) return undefined;
  const person = find(name);
  if (person === undefined) return undefined;
  return { accountId: name, claims: () => claimsOf(person) };
}

/** Grants everything, because the administrator approved for all persons. */
async function grantFor(
  { clients, library }: ProviderParts,
  ctx: KoaContextWithOIDC,
): Promise<InstanceType<Provider['Grant']> | undefined> {
  const { provider, client, account, session, params } = ctx.oidc;
  if (client === undefined || account === undefined || session === undefined) return undefined;
  if (!clients.allowsRedirect(client.clientId, params?.['redirect_uri'] as string | undefined)) {
    throw new library.errors.InvalidRedirectUri();
  }
  const known = session.grantIdFor(client.clientId);
  const { accountId } = account;
  const found = known === undefined ? undefined : await provider.Grant.find(known);
  const grant =
    found?.accountId === accountId
      ? found
      : new provider.Grant({ clientId: client.clientId, accountId });
  grant.addOIDCScope([...ctx.oidc.requestParamOIDCScopes].join(' '));
  await grant.save();
  return grant;
}
