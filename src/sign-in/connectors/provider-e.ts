/**
 * providerE (spec 2.8.1): Rancher. Users sign in with one of their API keys, which is used to ask for their
 * identity and then dropped. Keys are sent only to the configured host.
 */
import { isRecord } from '../../apimachinery/index.ts';
import type { AuthConfig } from '../../config/index.ts';
import type { ConnectorContext, ProvidedIdentity, TokenConnector } from '../connector.ts';
import { providerHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';

import { type JsonApi, jsonApi, pagesFrom } from './json-api.ts';
import {
  type ProviderAnswer,
  recordOf,
  recordsOf,
  textOf,
  unexpected,
} from './provider-responses.ts';
import { withProviderTimeout } from './provider-timeout.ts';
import { assertSameSubject } from './same-subject.ts';

export type ProviderEConfig = NonNullable<AuthConfig['providerE']>;

export function createProviderE(
  id: string,
  block: ProviderEConfig,
  context: ConnectorContext,
): TokenConnector {
  const { host = '', bearerToken } = block;
  const base = `https://${host}`;
  if (block.insecure === true) {
    context.warn(
      `the certificate of ${host} is not verified: an attacker on the network can sign in as any user`,
    );
  }
  const http = (context.http ?? providerHttp)({ isInsecure: block.insecure === true });
  const apiWith = (token: string, signal: AbortSignal): JsonApi =>
    jsonApi({ http, base, token, signal: withProviderTimeout(signal) });
  return {
    id,
    type: 'providerE',
    callbackMethod: 'none',
    async verify(token, signal) {
      if (host === '') throw notConfigured();
      if (!/^[\x21-\x7e]{1,1024}$/.test(token)) throw noToken();
      const api = apiWith(token, signal);
      const person = personOf(await api.get('/v3/users?me=true'));
      return { ...person, groups: await groupsOf(api), emailVerified: false, extraClaims: {} };
    },
    ...(bearerToken
      ? { refresh: (known, signal) => stillEnabled(known, apiWith(bearerToken, signal)) }
      : {}),
    close: () => http.close(),
  };
}

/** Exactly one: an administrator, who can list all users, would otherwise get the first of them. */
function personOf(
  answer: ProviderAnswer,
): Pick<ProvidedIdentity, 'userId' | 'username' | 'preferredUsername'> {
  if (answer.status === 401 || answer.status === 403) throw noToken();
  const [user, ...others] = recordsOf(answer, 'data');
  if (user === undefined || others.length > 0 || user['me'] === false) {
    throw unexpected(answer.url, 'not one user');
  }
  return accountOf(answer.url, user);
}

function accountOf(
  url: string,
  user: Record<string, unknown>,
): Pick<ProvidedIdentity, 'userId' | 'username' | 'preferredUsername'> {
  if (user['enabled'] === false) throw disabled();
  const userId = textOf(user['id']);
  if (userId === undefined) throw unexpected(url, 'no id');
  const login = textOf(user['username']);
  return {
    userId,
    username: textOf(user['name']) ?? login ?? userId,
    ...(login === undefined ? {} : { preferredUsername: login }),
  };
}

/** Ids of the caller's group principals, because their names are not unique. */
async function groupsOf(api: JsonApi): Promise<string[]> {
  const groups = new Set<string>();
  for await (const page of pagesFrom(api, api.get('/v3/principals'), nextPage)) {
    for (const { id, principalType, memberOf } of recordsOf(page, 'data')) {
      const group = textOf(id);
      if (principalType === 'group' && memberOf !== false && group) groups.add(group);
    }
  }
  return [...groups];
}

function nextPage(answer: ProviderAnswer): string | undefined {
  const { pagination } = recordOf(answer);
  return isRecord(pagination) ? textOf(pagination['next']) : undefined;
}

/** Uses the key of the platform. Groups stay unchanged, since only the user's own token shows them. */
async function stillEnabled(known: ProvidedIdentity, api: JsonApi): Promise<ProvidedIdentity> {
  const answer = await api.get(`/v3/users/${encodeURIComponent(known.userId)}`);
  if (answer.status === 404) throw disabled();
  if (answer.status === 401 || answer.status === 403) {
    const message = `bearerToken may not read users: the answer is ${answer.status}`;
    throw new SignInError(message, { reason: 'client-refused', code: 502 });
  }
  const user = recordOf(answer);
  return assertSameSubject(known, { ...known, ...accountOf(answer.url, user) });
}

function noToken(): SignInError {
  return new SignInError('the token is not one that the provider takes', {
    reason: 'bad-token',
    code: 403,
  });
}

function disabled(): SignInError {
  return new SignInError('the account is disabled at the provider, or gone', {
    reason: 'not-active',
    code: 403,
  });
}

function notConfigured(): SignInError {
  return new SignInError('the connector has no host', { reason: 'not-configured', code: 502 });
}
