/** providerD (spec 2.8.6): Microsoft Entra ID and personal Microsoft accounts. */
import type { JWTPayload } from 'jose';
import type { JsonObject } from '../../apimachinery/index.ts';
import type { ProviderDConfig } from '../../config/index.ts';
import { isSharedTenant, PERSONAL_TENANT } from '../../kinds/index.ts';
import type { Connector, ConnectorContext, ProvidedIdentity } from '../connector.ts';
import { providerHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { codeFlow } from './code-flow.ts';
import { listedGroups } from './group-gate.ts';
import { idTokenReader } from './id-token.ts';
import { type JsonApi, jsonApi } from './json-api.ts';
import { recordOf, textOf, unexpected } from './provider-responses.ts';
import { withProviderTimeout } from './provider-timeout.ts';
import { assertSameSubject } from './same-subject.ts';
import { tenantGroups } from './tenant-groups.ts';
import { persistedTokens, type Tokens, tokensOf, withGoodTokens } from './tokens.ts';

const LOGIN = 'https://login.microsoftonline.com';
const GRAPH = 'https://graph.microsoft.com';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function createProviderD(
  id: string,
  block: ProviderDConfig,
  context: ConnectorContext,
): Connector {
  const tenant = (block.tenant || 'common').toLowerCase();
  const isShared = isSharedTenant(tenant);
  const { clientId = '' } = block;
  if (isShared) {
    context.warn(`the tenant is ${tenant}: users of other tenants may sign in`);
  }
  const http = (context.http ?? providerHttp)();
  const readIdToken = idTokenReader(`${LOGIN}/${tenant}/discovery/v2.0/keys`, http);
  const flow = codeFlow({
    // The issuer names the tenant of the account, which is unknown beforehand.
    issuer: undefined,
    authorizeUrl: `${LOGIN}/${tenant}/oauth2/v2.0/authorize`,
    tokenUrl: `${LOGIN}/${tenant}/oauth2/v2.0/token`,
    clientId,
    clientSecret: block.clientSecret,
    scopes: [
      ...['openid', 'profile', 'offline_access', 'user.read'],
      ...(isShared ? [] : ['directory.read.all']),
    ],
    http: () => http,
    clock: context.clock,
  });
  const identityOf = async (
    tokens: Tokens,
    tid: string,
    signal: AbortSignal,
  ): Promise<ProvidedIdentity> => {
    checkTenant(tenant, tid);
    const api = jsonApi({ http, base: GRAPH, token: tokens.accessToken, signal });
    const person = await personOf(api);
    return {
      ...person,
      userId: isShared ? `${tid}/${person.userId}` : person.userId,
      groups: isShared
        ? listedGroups([], block.groups ?? [])
        : await tenantGroups(api, block, context.warn),
      extraClaims: {},
      connectorData: { ...persistedTokens(tokens), tid },
    };
  };
  return {
    id,
    type: 'providerD',
    callbackMethod: 'GET',
    begin: async (transaction) => ({
      kind: 'redirect',
      url: await flow.authorizationUrl(transaction, { nonce: transaction.nonce }),
    }),
    async complete(transaction, callback, caller) {
      const signal = withProviderTimeout(caller);
      const tokens = await flow.exchange(transaction, callback, signal);
      const { tid } = await readIdToken(tokens.idToken ?? '', {
        ...{ clientId, isIssuer },
        nonce: transaction.nonce,
        accessToken: tokens.accessToken,
        now: context.clock.now(),
      });
      return identityOf(tokens, String(tid), signal);
    },
    async refresh(known, caller, keep) {
      const signal = withProviderTimeout(caller);
      const tid = String(known.connectorData?.['tid']);
      const beside: JsonObject = { tid };
      return await withGoodTokens(
        tokensOf(known),
        { clock: context.clock, keep, beside, renew: (token) => flow.renew(token, signal) },
        async (tokens) => assertSameSubject(known, await identityOf(tokens, tid, signal)),
      );
    },
    close: () => http.close(),
  };
}

/** The issuer is the tenant in the token. */
function isIssuer({ iss, tid }: JWTPayload): boolean {
  return typeof tid === 'string' && UUID.test(tid) && iss === `${LOGIN}/${tid}/v2.0`;
}

/** Refuses other tenants, even if the page of the provider admitted them. */
function checkTenant(tenant: string, tid: string): void {
  const isPersonal = tid === PERSONAL_TENANT;
  const isGood =
    tenant === 'consumers'
      ? isPersonal
      : tenant === 'organizations'
        ? !isPersonal
        : !UUID.test(tenant) || tenant === tid;
  if (isGood) return;
  throw new SignInError('the account belongs to another tenant', {
    reason: 'foreign-tenant',
    code: 403,
  });
}

async function personOf(
  api: JsonApi,
): Promise<Omit<ProvidedIdentity, 'groups' | 'extraClaims' | 'connectorData'>> {
  const answer = await api.get('/v1.0/me?$select=id,displayName,userPrincipalName');
  const me = recordOf(answer);
  const userId = textOf(me['id']);
  if (userId === undefined) throw unexpected(answer.url, 'no id');
  const principal = textOf(me['userPrincipalName']);
  return {
    userId,
    username: textOf(me['displayName']) ?? principal ?? userId,
    // Unverified: the tenant's administrator sets it freely, and guests have a made-up one.
    ...(principal === undefined ? {} : { preferredUsername: principal, email: principal }),
    emailVerified: false,
  };
}
