/** providerB (spec 2.8.4): GitLab, at its public address or at `baseURL`. */
import type { ProviderBConfig } from '../../config/index.ts';
import type { Connector, ConnectorContext, ProvidedIdentity } from '../connector.ts';
import { providerHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { codeFlow } from './code-flow.ts';
import { codeFlowConnector } from './code-flow-connector.ts';
import { listedGroups } from './group-gate.ts';
import { type JsonApi, jsonApi } from './json-api.ts';
import { numericId, recordOf, textOf, unexpected } from './provider-responses.ts';
import { persistedTokens, type Tokens } from './tokens.ts';

const PUBLIC = 'https://gitlab.com';

export function createProviderB(
  id: string,
  block: ProviderBConfig,
  context: ConnectorContext,
): Connector {
  const { groups: listed = [] } = block;
  const base = (block.baseURL || PUBLIC).replace(/\/+$/, '');
  if (base.startsWith('http://')) {
    context.warn(`${base} has no TLS: an attacker on the network can sign in as any user`);
  }
  if (listed.length === 0) {
    context.warn(`no groups are named: every user with an account at ${base} may sign in`);
  }
  const http = (context.http ?? providerHttp)();
  const flow = codeFlow({
    issuer: base,
    authorizeUrl: `${base}/oauth/authorize`,
    tokenUrl: `${base}/oauth/token`,
    clientId: block.clientId ?? '',
    clientSecret: block.clientSecret,
    // The groups endpoint requires `openid`.
    scopes: ['read_user', 'openid'],
    http: () => http,
    clock: context.clock,
  });
  const identityOf = async (tokens: Tokens, signal: AbortSignal): Promise<ProvidedIdentity> => {
    const api = jsonApi({ http, base, token: tokens.accessToken, signal });
    const person = await personOf(api);
    const groups = await groupsOf(api, person.userId);
    return {
      ...person,
      groups: listed.length > 0 ? listedGroups(groups, listed) : groups,
      extraClaims: {},
      connectorData: persistedTokens(tokens),
    };
  };
  return codeFlowConnector({
    id,
    type: 'providerB',
    flow,
    clock: context.clock,
    identityOf,
    close: () => http.close(),
  });
}

type Person = Omit<ProvidedIdentity, 'groups' | 'extraClaims' | 'connectorData'>;

async function personOf(api: JsonApi): Promise<Person> {
  const answer = await api.get('/api/v4/user');
  const user = recordOf(answer);
  if (user['state'] !== 'active') {
    throw new SignInError('the account is not active at the provider', {
      reason: 'not-active',
      code: 403,
    });
  }
  const email = textOf(user['email']);
  const login = textOf(user['username']);
  const username = textOf(user['name']) ?? email ?? login;
  if (username === undefined) throw unexpected(answer.url, 'no name');
  return {
    userId: numericId(answer),
    username,
    ...(login === undefined ? {} : { preferredUsername: login }),
    ...(email === undefined ? {} : { email }),
    emailVerified: email !== undefined && textOf(user['confirmed_at']) !== undefined,
  };
}

/** Full paths of the user's groups, without those by group invitation. */
async function groupsOf(api: JsonApi, userId: string): Promise<string[]> {
  const answer = await api.get('/oauth/userinfo');
  const { sub, groups = [] } = recordOf(answer);
  // Old servers return a hash here.
  if (typeof sub === 'string' && /^\d+$/.test(sub) && sub !== userId) {
    throw unexpected(answer.url, 'groups of another user');
  }
  if (!Array.isArray(groups)) throw unexpected(answer.url, 'no list of groups');
  return groups.filter((group) => typeof group === 'string');
}
