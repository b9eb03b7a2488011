/** providerA (spec 2.8.3): GitHub, and GitHub Enterprise Server where `hostName` names one. */
import { isRecord } from '../../apimachinery/index.ts';
import type { ProviderAConfig } from '../../config/index.ts';
import type { Connector, ConnectorContext, ProvidedIdentity } from '../connector.ts';
import { providerHttp } from '../provider-http.ts';
import { codeFlow } from './code-flow.ts';
import { codeFlowConnector } from './code-flow-connector.ts';
import { type JsonApi, jsonApi, linkedNext, pagesFrom } from './json-api.ts';
import { organizationGroups } from './organizations.ts';
import {
  numericId,
  type ProviderAnswer,
  recordOf,
  recordsOf,
  textOf,
  unexpected,
} from './provider-responses.ts';
import { trustingHttp } from './root-trust.ts';
import { persistedTokens, type Tokens } from './tokens.ts';

const HEADERS = {
  accept: 'application/vnd.github+json',
  'x-github-api-version': '2022-11-28',
};

export function createProviderA(
  id: string,
  block: ProviderAConfig,
  context: ConnectorContext,
): Connector {
  const { hostName, orgs = [] } = block;
  const web = hostName ? `https://${hostName}` : 'https://github.com';
  const base = hostName ? `https://${hostName}/api/v3` : 'https://api.github.com';
  if (orgs.length === 0) {
    context.warn(`no orgs are named: everybody with an account at ${web} may sign in`);
  }
  const trust = trustingHttp(hostName ? block.rootCA : undefined, context.http ?? providerHttp);
  const flow = codeFlow({
    issuer: `${web}/login/oauth`,
    authorizeUrl: `${web}/login/oauth/authorize`,
    tokenUrl: `${web}/login/oauth/access_token`,
    clientId: block.clientId ?? '',
    clientSecret: block.clientSecret,
    scopes: ['user:email', ...(orgs.length > 0 ? ['read:org'] : [])],
    http: trust.http,
    clock: context.clock,
  });
  const identityOf = async (tokens: Tokens, signal: AbortSignal): Promise<ProvidedIdentity> => {
    const { accessToken: token } = tokens;
    const api = jsonApi({
      ...{ http: trust.http(), base, token, signal, headers: HEADERS, isBusy },
    });
    const person = await personOf(api, { isOwnHost: Boolean(hostName) });
    const groups = await organizationGroups(api, {
      ...{ orgs, login: person.preferredUsername, warn: context.warn },
    });
    return { ...person, groups, extraClaims: {}, connectorData: persistedTokens(tokens) };
  };
  return codeFlowConnector({
    id,
    type: 'providerA',
    flow,
    clock: context.clock,
    identityOf,
    close: trust.close,
  });
}

/** The API has no status of its own for overload. */
function isBusy({ status, headers, body }: ProviderAnswer): boolean {
  if (status !== 403) return false;
  const message = isRecord(body) ? body['message'] : undefined;
  return (
    headers.has('retry-after') ||
    headers.get('x-ratelimit-remaining') === '0' ||
    (typeof message === 'string' && /rate limit/i.test(message))
  );
}

type Person = Pick<ProvidedIdentity, 'userId' | 'username' | 'email' | 'emailVerified'> & {
  readonly preferredUsername: string;
};

async function personOf(api: JsonApi, { isOwnHost }: { isOwnHost: boolean }): Promise<Person> {
  const answer = await api.get('/user');
  const user = recordOf(answer);
  const login = textOf(user['login']);
  if (login === undefined) throw unexpected(answer.url, 'no login');
  const email = textOf(user['email']) ?? (await primaryEmail(api, isOwnHost));
  return {
    userId: numericId(answer),
    username: textOf(user['name']) ?? login,
    preferredUsername: login,
    // Only a verified address can be public.
    ...(email === undefined ? { emailVerified: false } : { email, emailVerified: true }),
  };
}

/** Enterprise servers do not verify addresses, and report all as verified. */
async function primaryEmail(api: JsonApi, isOwnHost: boolean): Promise<string | undefined> {
  for await (const page of pagesFrom(api, api.get('/user/emails?per_page=100'), linkedNext)) {
    for (const { email, primary, verified } of recordsOf(page)) {
      if (primary === true && (verified === true || isOwnHost)) return textOf(email);
    }
  }
  return undefined;
}
