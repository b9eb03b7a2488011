/** Microsoft's sign-in and Graph, as far as providerD asks them. */
import type { JWTPayload } from 'jose';
import { FakeGrants, isRefused } from './fake-grants.ts';
import { type FakeAnswer, type FakeServer, type SeenRequest, startFake } from './fake-provider.ts';
import { type Issuer, newIssuer } from './issuer.ts';
import type { ServerTrust } from './server-trust.ts';

export interface MicrosoftUser {
  readonly id: string;
  /** Of the tenant. */
  readonly tid: string;
  readonly displayName?: string;
  readonly userPrincipalName?: string;
  /** Ids. */
  readonly groups?: readonly string[];
}

export interface MicrosoftGroup {
  readonly id: string;
  readonly displayName: string | null;
  readonly isSecurity?: boolean;
}

export interface Microsoft extends FakeServer {
  readonly grants: FakeGrants<MicrosoftUser>;
  readonly issuer: Issuer;
  readonly groups: Map<string, MicrosoftGroup>;
  /** Groups in one answer. */
  pageSize: number;
  /** What following pages are about. */
  readonly rests: string[][];
  /** What the next ID tokens say otherwise, and who signs them. */
  claims: JWTPayload;
  signer: Issuer;
}

export const LOGIN = 'https://login.microsoftonline.com';
const GRAPH = 'https://graph.microsoft.com';

export async function startMicrosoft(trust?: ServerTrust): Promise<Microsoft> {
  const issuer = await newIssuer();
  const server = await startFake((request) => {
    if (request.path.endsWith('/oauth2/v2.0/token')) return token(microsoft, request);
    if (request.path.endsWith('/discovery/v2.0/keys')) return { json: issuer.jwks };
    return graph(microsoft, request);
  }, trust);
  const microsoft: Microsoft = Object.assign(server, {
    ...{ grants: new FakeGrants<MicrosoftUser>(), issuer, signer: issuer },
    groups: new Map<string, MicrosoftGroup>(),
    pageSize: 400,
    rests: [],
    claims: {},
  });
  return microsoft;
}

export function microsoftOrigins({ origin }: Microsoft): Record<string, string> {
  return { [LOGIN]: origin, [GRAPH]: origin };
}

async function token(
  { grants, signer, claims }: Microsoft,
  request: SeenRequest,
): Promise<FakeAnswer> {
  const taken = grants.take(new URLSearchParams(request.body));
  if (isRefused(taken)) {
    return {
      status: taken.error === 'invalid_client' ? 401 : 400,
      json: { error: taken.error, error_description: 'AADSTS70000', error_codes: [70000] },
    };
  }
  const { user, scopes, nonce } = taken;
  const now = Math.floor(Date.now() / 1000);
  return {
    json: {
      ...{ token_type: 'Bearer', expires_in: 3600, scope: scopes.join(' ') },
      access_token: grants.accessToken(taken),
      ...(scopes.includes('offline_access') ? { refresh_token: grants.refreshToken(taken) } : {}),
      ...(scopes.includes('openid')
        ? {
            id_token: await signer.sign({
              ...{ iss: `${LOGIN}/${user.tid}/v2.0`, aud: grants.client.clientId },
              ...{ sub: `pairwise-${user.id}`, tid: user.tid, iat: now, exp: now + 3600 },
              ...(nonce === undefined ? {} : { nonce }),
              ...claims,
            }),
          }
        : {}),
    },
  };
}

function graph(microsoft: Microsoft, request: SeenRequest): FakeAnswer | undefined {
  const granted = microsoft.grants.bearer(request.headers);
  if (granted === undefined) return failed(401, 'InvalidAuthenticationToken');
  const { user, scopes } = granted;
  if (request.path === '/v1.0/me') {
    const { id, displayName = null, userPrincipalName = null } = user;
    const wanted = (request.query.get('$select') ?? '').split(',');
    const all = Object.entries({ id, displayName, userPrincipalName });
    return { json: Object.fromEntries(all.filter(([name]) => wanted.includes(name))) };
  }
  if (!scopes.includes('directory.read.all')) return failed(403, 'Authorization_RequestDenied');
  const memberPage = /^\/v1\.0\/me\/getMemberGroups$/.test(request.path);
  if (memberPage) return memberGroups(microsoft, user, request);
  if (request.path === '/v1.0/directoryObjects/getByIds') return byIds(microsoft, request);
  return failed(404, 'Request_ResourceNotFound');
}

function memberGroups(microsoft: Microsoft, user: MicrosoftUser, request: SeenRequest): FakeAnswer {
  const ids = user.groups ?? [];
  if (ids.length > 11_000) return failed(400, 'Directory_ResultSizeLimitExceeded');
  const skip = Number(request.query.get('$skiptoken') ?? 0);
  const isFirst = request.method === 'POST';
  const only = isFirst
    ? (JSON.parse(request.body) as { securityEnabledOnly: boolean }).securityEnabledOnly
    : request.query.get('only') === 'true';
  const seen = ids.filter((id) => !only || microsoft.groups.get(id)?.isSecurity === true);
  const next = skip + microsoft.pageSize;
  return {
    json: {
      '@odata.context': `${GRAPH}/v1.0/$metadata#Collection(Edm.String)`,
      value: seen.slice(skip, next),
      ...(next < seen.length
        ? {
            '@odata.nextLink': `${GRAPH}/v1.0/me/getMemberGroups?$skiptoken=${next}&only=${String(only)}`,
          }
        : {}),
    },
  };
}

function byIds({ groups, pageSize, rests }: Microsoft, request: SeenRequest): FakeAnswer {
  const rest = rests[Number(request.query.get('$skiptoken') ?? -1)];
  const { ids, types } =
    rest === undefined
      ? (JSON.parse(request.body) as { ids: string[]; types: string[] })
      : { ids: rest, types: ['group'] };
  if (ids.length > 1000) return failed(400, 'Request_BadRequest');
  if (types.join() !== 'group') return failed(400, 'Request_BadRequest');
  if (ids.length > pageSize) rests.push(ids.slice(pageSize));
  return {
    json: {
      value: ids.slice(0, pageSize).map((id) => ({
        '@odata.type': '#microsoft.graph.group',
        ...{ id, displayName: groups.get(id)?.displayName ?? null },
      })),
      ...(ids.length > pageSize
        ? {
            '@odata.nextLink': `${GRAPH}/v1.0/directoryObjects/getByIds?$skiptoken=${rests.length - 1}`,
          }
        : {}),
    },
  };
}

function failed(status: number, code: string): FakeAnswer {
  return { status, json: { error: { code, message: 'No.' } } };
}
