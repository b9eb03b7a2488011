/** GitHub and its Enterprise Server, as far as providerA asks them. */
import { FakeGrants, isRefused } from './fake-grants.ts';
import { type FakeAnswer, type FakeServer, type SeenRequest, startFake } from './fake-provider.ts';

export interface GithubUser {
  readonly id: number;
  readonly login: string;
  readonly name?: string;
  /** The public one. */
  readonly email?: string;
  readonly emails?: readonly { email: string; primary: boolean; verified: boolean }[];
  /** Of organizations, as they write themselves. */
  readonly orgs?: readonly string[];
  readonly teams?: readonly { org: string; name: string }[];
}

export interface Github extends FakeServer {
  readonly grants: FakeGrants<GithubUser>;
  /** Organizations that have not approved the application, and those that want their own sign-in first. */
  readonly unapproved: Set<string>;
  readonly ssoBlocked: Set<string>;
  /** As GitHub Apps have it: tokens of eight hours, with a refresh token. */
  expires: boolean;
}

export async function startGithub(tls?: { cert: string; key: string }): Promise<Github> {
  const grants = new FakeGrants<GithubUser>();
  const server = await startFake((request) => {
    if (request.path === '/login/oauth/access_token') return token(github, request);
    return api(github, { ...request, path: request.path.replace(/^\/api\/v3/, '') }, request.path);
  }, tls);
  const github: Github = Object.assign(server, {
    grants,
    unapproved: new Set<string>(),
    ssoBlocked: new Set<string>(),
    expires: false,
  });
  return github;
}

/** Errors have status 200, and nothing is JSON unless it is asked for. */
function token({ grants, expires }: Github, request: SeenRequest): FakeAnswer {
  const taken = grants.take(new URLSearchParams(request.body));
  const words: Record<string, string> = {
    invalid_client: 'incorrect_client_credentials',
    invalid_grant: request.body.includes('refresh_token')
      ? 'bad_refresh_token'
      : 'bad_verification_code',
  };
  const answer = isRefused(taken)
    ? { error: words[taken.error] ?? taken.error, error_description: 'No.', error_uri: '/docs' }
    : {
        access_token: grants.accessToken(taken),
        token_type: 'bearer',
        scope: taken.scopes.join(','),
        ...(expires ? { expires_in: 28_800, refresh_token: grants.refreshToken(taken) } : {}),
      };
  if (request.headers['accept']?.includes('application/json')) return { json: answer };
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    text: new URLSearchParams(answer as unknown as Record<string, string>).toString(),
  };
}

function api(github: Github, request: SeenRequest, wholePath: string): FakeAnswer {
  if (!request.headers['user-agent'] || request.headers['user-agent'] === 'undici') {
    return { status: 403, text: 'Request forbidden by administrative rules.' };
  }
  const granted = github.grants.bearer(request.headers);
  if (granted === undefined) return { status: 401, json: { message: 'Bad credentials' } };
  const { user, scopes } = granted;
  const member = /^\/orgs\/([^/]+)\/members\/([^/]+)$/.exec(request.path);
  if (member !== null) return membership(github, granted, member.map(decodeURIComponent));
  switch (request.path) {
    case '/user':
      return {
        json: {
          ...{ id: user.id, login: user.login, name: user.name ?? null },
          email: user.email ?? null,
        },
      };
    case '/user/emails':
      if (!scopes.includes('user:email')) return { status: 404, json: { message: 'Not Found' } };
      return paged(request, wholePath, user.emails ?? []);
    case '/user/teams':
      if (!scopes.includes('read:org')) return { status: 403, json: { message: 'No scope' } };
      return paged(
        request,
        wholePath,
        (user.teams ?? []).map(({ org, name }, index) => ({
          ...{ id: index + 1, name, slug: name.toLowerCase().replace(/\W+/g, '-') },
          organization: { login: org },
        })),
      );
    default:
      return { status: 404, json: { message: 'Not Found' } };
  }
}

function membership(
  { unapproved, ssoBlocked }: Github,
  { user, scopes }: { user: GithubUser; scopes: readonly string[] },
  [, org = '', login = '']: string[],
): FakeAnswer {
  const key = org.toLowerCase();
  if (ssoBlocked.has(key)) {
    return {
      status: 403,
      headers: { 'x-github-sso': 'required; url=https://github.com/orgs/x/sso' },
      json: { message: 'Resource protected by organization SAML enforcement.' },
    };
  }
  const isMember = (user.orgs ?? []).some((own) => own.toLowerCase() === key);
  if (!isMember || !scopes.includes('read:org') || unapproved.has(key)) {
    return { status: 302, headers: { location: `/orgs/${org}/public_members/${login}` } };
  }
  return login === user.login ? { status: 204 } : { status: 404, json: { message: 'Not Found' } };
}

function paged(request: SeenRequest, wholePath: string, list: readonly unknown[]): FakeAnswer {
  const size = Math.min(Number(request.query.get('per_page') ?? 30), 100);
  const page = Number(request.query.get('page') ?? 1);
  const last = Math.max(1, Math.ceil(list.length / size));
  const isOwnHost = wholePath.startsWith('/api/v3');
  const origin = isOwnHost ? `https://${request.host}` : 'https://api.github.com';
  const link = (rel: string, number: number): string =>
    `<${origin}${wholePath}?per_page=${size}&page=${number}>; rel="${rel}"`;
  const links = page < last ? [link('next', page + 1), link('last', last)] : [];
  if (page > 1) links.unshift(link('prev', page - 1), link('first', 1));
  return {
    ...(links.length > 0 ? { headers: { link: links.join(', ') } } : {}),
    json: list.slice((page - 1) * size, page * size),
  };
}
