/** Google's sign-in and the directory of a Workspace, as far as providerC asks them. */
import { type CryptoKey, exportPKCS8, generateKeyPair, type JWTPayload, jwtVerify } from 'jose';
import { FakeGrants, type Granted, isRefused } from './fake-grants.ts';
import { type FakeAnswer, type FakeServer, type SeenRequest, startFake } from './fake-provider.ts';
import { type Issuer, newIssuer } from './issuer.ts';
import type { ServerTrust } from './server-trust.ts';

export interface GoogleUser {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly name?: string;
  readonly hd?: string;
}

export interface Google extends FakeServer {
  readonly grants: FakeGrants<GoogleUser>;
  readonly issuer: Issuer;
  /** Groups of the directory by the address of a member. */
  readonly directory: Map<string, string[]>;
  /** The JSON file of a service account that may read groups as this administrator. */
  readonly serviceAccount: Readonly<Record<string, string>>;
  readonly adminEmail: string;
  /** What the next ID tokens say otherwise, and who signs them. */
  claims: JWTPayload;
  signer: Issuer;
  /** As it does for some accounts after a refresh. */
  leavesOut: readonly string[];
}

const DIRECTORY_SCOPE = 'https://www.googleapis.com/auth/admin.directory.group.readonly';

export async function startGoogle(trust?: ServerTrust): Promise<Google> {
  const issuer = await newIssuer();
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const directoryTokens = new Set<string>();
  const server = await startFake(async (request) => {
    switch (request.path) {
      case '/token':
        return request.body.includes('jwt-bearer')
          ? await serviceToken(google, request, { publicKey, directoryTokens })
          : await token(google, new URLSearchParams(request.body));
      case '/oauth2/v3/certs':
        return { json: issuer.jwks };
      case '/admin/directory/v1/groups':
        return groups(google, request, directoryTokens);
      default:
        return undefined;
    }
  }, trust);
  const google: Google = Object.assign(server, {
    grants: new FakeGrants<GoogleUser>(),
    issuer,
    directory: new Map<string, string[]>(),
    adminEmail: 'admin@corp.example',
    serviceAccount: {
      type: 'service_account',
      client_email: 'reader@project.iam.gserviceaccount.com',
      private_key: await exportPKCS8(privateKey),
      private_key_id: 'service-key-1',
      token_uri: 'https://evil.example/token',
    },
    claims: {},
    signer: issuer,
    leavesOut: [],
  });
  return google;
}

/** Where its parts are. */
export function googleOrigins({ origin }: Google): Record<string, string> {
  return {
    'https://oauth2.googleapis.com': origin,
    'https://www.googleapis.com': origin,
    'https://admin.googleapis.com': origin,
  };
}

async function token(google: Google, form: URLSearchParams): Promise<FakeAnswer> {
  const { grants } = google;
  const taken = grants.take(form);
  if (isRefused(taken)) return { status: 400, json: { error: taken.error } };
  const isRefresh = form.get('grant_type') === 'refresh_token';
  return {
    json: {
      access_token: grants.accessToken(taken),
      token_type: 'Bearer',
      expires_in: 3599,
      scope: taken.scopes.join(' '),
      refresh_token: grants.refreshToken(taken),
      id_token: await idToken(google, taken, isRefresh),
    },
  };
}

async function idToken(
  { signer, claims, leavesOut, grants }: Google,
  { user, nonce }: Granted<GoogleUser>,
  isRefresh: boolean,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const said = Object.entries({
    ...{ iss: 'https://accounts.google.com', aud: grants.client.clientId },
    ...{ azp: grants.client.clientId, iat: now, exp: now + 3600 },
    ...user,
    ...(nonce === undefined || isRefresh ? {} : { nonce }),
    ...claims,
  }).filter(([name]) => !leavesOut.includes(name));
  return signer.sign(Object.fromEntries(said) as JWTPayload);
}

async function serviceToken(
  { serviceAccount, adminEmail }: Google,
  { body }: SeenRequest,
  { publicKey, directoryTokens }: { publicKey: CryptoKey; directoryTokens: Set<string> },
): Promise<FakeAnswer> {
  const { payload, protectedHeader } = await jwtVerify(
    new URLSearchParams(body).get('assertion') ?? '',
    publicKey,
    {
      issuer: serviceAccount['client_email'] ?? '',
      audience: 'https://oauth2.googleapis.com/token',
      algorithms: ['RS256'],
      maxTokenAge: '1h',
    },
  );
  const isGood =
    payload.sub === adminEmail &&
    payload['scope'] === DIRECTORY_SCOPE &&
    protectedHeader.kid === 'service-key-1' &&
    (payload.exp ?? 0) - (payload.iat ?? 0) <= 3600;
  if (!isGood) return { status: 401, json: { error: 'unauthorized_client' } };
  const text = `directory-s3cret-${directoryTokens.size}`;
  directoryTokens.add(text);
  return { json: { access_token: text, token_type: 'Bearer', expires_in: 3599 } };
}

function groups(
  { directory }: Google,
  { headers, query }: SeenRequest,
  tokens: Set<string>,
): FakeAnswer {
  if (!tokens.has((headers['authorization'] ?? '').replace(/^Bearer /, ''))) {
    return { status: 401, json: { error: { code: 401, status: 'UNAUTHENTICATED' } } };
  }
  const all = directory.get(query.get('userKey') ?? '');
  if (all === undefined) {
    return { status: 404, json: { error: { code: 404, message: 'Resource Not Found: userKey' } } };
  }
  const size = Math.min(Number(query.get('maxResults') ?? 200), 200);
  const from = Number(query.get('pageToken') ?? 0);
  const page = all.slice(from, from + size);
  return {
    json: {
      kind: 'admin#directory#groups',
      // An account in none has no list.
      ...(page.length > 0 ? { groups: page.map((email) => ({ email, name: 'Any name' })) } : {}),
      ...(from + size < all.length ? { nextPageToken: String(from + size) } : {}),
    },
  };
}
