/** GitLab, as far as providerB asks it. */
import { FakeGrants, isRefused } from './fake-grants.ts';
import { type FakeAnswer, type FakeServer, type SeenRequest, startFake } from './fake-provider.ts';

export interface GitlabUser {
  readonly id: number;
  readonly username: string;
  readonly name?: string;
  readonly email?: string;
  readonly state?: 'active' | 'blocked' | 'deactivated';
  readonly confirmed_at?: string | null;
  readonly groups?: readonly string[];
}

export interface Gitlab extends FakeServer {
  readonly grants: FakeGrants<GitlabUser>;
}

export async function startGitlab(tls?: { cert: string; key: string }): Promise<Gitlab> {
  const grants = new FakeGrants<GitlabUser>();
  // It may be installed below a path.
  const server = await startFake(
    (request) => answer(grants, { ...request, path: request.path.replace(/^\/code/, '') }),
    tls,
  );
  return Object.assign(server, { grants });
}

function answer(grants: FakeGrants<GitlabUser>, request: SeenRequest): FakeAnswer | undefined {
  if (request.path === '/oauth/token') return token(grants, new URLSearchParams(request.body));
  const granted = grants.bearer(request.headers);
  if (granted === undefined) {
    return {
      status: 401,
      json: { error: 'invalid_token', error_description: 'Token was revoked.' },
    };
  }
  const { user, scopes } = granted;
  const needs = (scope: string): FakeAnswer | undefined =>
    scopes.includes(scope)
      ? undefined
      : { status: 403, json: { error: 'insufficient_scope', scope } };
  const { groups = [], state = 'active', name, email, confirmed_at, ...account } = user;
  switch (request.path) {
    case '/api/v4/user':
      return (
        needs('read_user') ?? {
          json: {
            ...{ ...account, state, name: name ?? '', email: email ?? '' },
            confirmed_at: confirmed_at === undefined ? '2020-01-01T00:00:00.000Z' : confirmed_at,
          },
        }
      );
    case '/oauth/userinfo':
      return (
        needs('openid') ?? {
          json: { sub: String(user.id), nickname: user.username, email_verified: true, groups },
        }
      );
    default:
      return undefined;
  }
}

/** Refresh tokens are taken once, and both tokens of before are void then. */
function token(grants: FakeGrants<GitlabUser>, form: URLSearchParams): FakeAnswer {
  const taken = grants.take(form);
  if (isRefused(taken)) {
    return {
      status: taken.error === 'invalid_client' ? 401 : 400,
      json: { error: taken.error, error_description: 'The provided grant is invalid.' },
    };
  }
  return {
    json: {
      access_token: grants.accessToken(taken),
      token_type: 'Bearer',
      expires_in: 7200,
      refresh_token: grants.refreshToken(taken),
      scope: taken.scopes.join(' '),
      created_at: 0,
      // Nobody asked who issued it.
      ...(taken.scopes.includes('openid') ? { id_token: 'e30.e30.AAAA' } : {}),
    },
  };
}
