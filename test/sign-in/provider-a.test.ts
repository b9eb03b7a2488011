/** providerA against a server that answers as GitHub does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderAConfig } from '../../src/config/sections/auth-provider-a.ts';
import type { Connector } from '../../src/sign-in/connector.ts';
import { createProviderA } from '../../src/sign-in/connectors/provider-a.ts';
import { type FakeContext, fakeContext } from '../support/providers/fake-provider.ts';
import { type Github, type GithubUser, startGithub } from '../support/providers/github.ts';
import { serverTrust } from '../support/providers/server-trust.ts';
import {
  comeBack,
  newTransaction,
  refreshed,
  refusal,
  sentTo,
  signIn,
} from '../support/providers/sign-in.ts';

const ANNA: GithubUser = {
  ...{ id: 583_231, login: 'anna', name: 'Anna Example', email: 'anna@example.com' },
  orgs: ['Octo', 'Other-Org'],
  teams: [
    { org: 'octo', name: 'Core Team' },
    { org: 'octo', name: 'Docs' },
    { org: 'Other-Org', name: 'Core Team' },
    { org: 'Third', name: 'Spies' },
  ],
};
const CLIENT = { clientId: 'platform', clientSecret: 'client-s3cret' };

let github: Github;
let context: FakeContext;
const open: Connector[] = [];

beforeAll(async () => {
  github = await startGithub();
});
afterAll(() => github.close());

beforeEach(() => {
  context = fakeContext({
    'https://github.com': github.origin,
    'https://api.github.com': github.origin,
  });
  github.override = undefined;
  github.expires = false;
  github.unapproved.clear();
  github.ssoBlocked.clear();
  github.seen.splice(0);
});

afterEach(async () => {
  for (const connector of open.splice(0)) await connector.close?.();
});

function connectorOf(block: ProviderAConfig = {}, within = context): Connector {
  const connector = createProviderA('x', { ...CLIENT, ...block }, within);
  open.push(connector);
  return connector;
}

const asUser = (user: GithubUser) => (at: URL) => github.grants.authorize(at, user);

// covers: auth.providerA auth.providerA.{clientId,clientSecret}
// covers: auth.connectors[].providerA auth.connectors[].providerA.{clientId,clientSecret}
describe('the way there and back', () => {
  test('the browser is sent with state, PKCE and the scopes that are needed', async () => {
    const transaction = newTransaction();
    const url = await sentTo(connectorOf({ orgs: [{ name: 'octo' }] }), transaction);

    expect(url.origin + url.pathname).toBe('https://github.com/login/oauth/authorize');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'platform',
      redirect_uri: 'https://platform.example.com/auth/x/callback',
      response_type: 'code',
      scope: 'user:email read:org',
      state: transaction.state,
      code_challenge_method: 'S256',
    });
    expect(url.href).not.toContain(transaction.codeVerifier);
  });

  test('organizations are not asked for where none is named', async () => {
    const url = await sentTo(connectorOf());

    expect(url.searchParams.get('scope')).toBe('user:email');
  });

  test('an account comes back as its number, with its names and its address', async () => {
    const identity = await signIn(connectorOf(), asUser(ANNA));

    expect(identity).toMatchObject({
      userId: '583231',
      username: 'Anna Example',
      preferredUsername: 'anna',
      email: 'anna@example.com',
      emailVerified: true,
      groups: [],
    });
    expect(Object.keys(identity.connectorData ?? {})).toEqual(['accessToken']);
  });

  test('a user without a name gets the login as name', async () => {
    const identity = await signIn(connectorOf(), asUser({ id: 7, login: 'bo' }));

    expect(identity).toMatchObject({ username: 'bo', emailVerified: false });
    expect(identity.email).toBeUndefined();
  });

  test('the API is asked as its documentation wants it', async () => {
    await signIn(connectorOf({ orgs: [{ name: 'octo' }] }), asUser(ANNA));

    const asked = github.seen.filter(({ path }) => path !== '/login/oauth/access_token');
    expect(asked.map(({ path }) => path)).toEqual([
      '/user',
      '/orgs/octo/members/anna',
      '/user/teams',
    ]);
    for (const { headers } of asked) {
      expect(headers).toMatchObject({
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'gitplane',
      });
    }
    expect(asked.at(-1)?.query.get('per_page')).toBe('100');
  });

  test.each([
    ['a wrong secret', { clientSecret: 'wrong-s3cret' }, { code: 502, isFinal: false }],
    ['no client', { clientId: '' }, { reason: 'not-configured', code: 502 }],
  ])('%s admits no user', async (_, block, expected) => {
    const error = await refusal(signIn(connectorOf(block), asUser(ANNA)));

    expect(error).toMatchObject(expected);
  });

  test('a code is taken once, although the refusal has the status of a success', async () => {
    const connector = connectorOf();
    const transaction = newTransaction();
    const url = github.grants.authorize(await sentTo(connector, transaction), ANNA);
    await comeBack(connector, transaction, url);

    const error = await refusal(comeBack(connector, transaction, url));

    expect(error).toMatchObject({ reason: 'grant-refused', code: 400 });
    expect(error.message).toContain('bad_verification_code');
  });

  test.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'forged'), 'callback-mismatch'],
    ['no state', (url: URL) => url.searchParams.delete('state'), 'callback-mismatch'],
    ['two codes', (url: URL) => url.searchParams.append('code', 'other'), 'callback-mismatch'],
    ['no code', (url: URL) => url.searchParams.delete('code'), 'callback-mismatch'],
    [
      'another issuer',
      (url: URL) => url.searchParams.set('iss', 'https://evil.example'),
      'callback-mismatch',
    ],
    [
      'a refusal',
      (url: URL) => url.searchParams.set('error', 'access_denied'),
      'denied-at-provider',
    ],
  ])('a callback with %s is refused, and no request is sent', async (_, change, reason) => {
    const connector = connectorOf();
    const transaction = newTransaction();
    const url = github.grants.authorize(await sentTo(connector, transaction), ANNA);
    change(url);

    expect(await refusal(comeBack(connector, transaction, url))).toMatchObject({ reason });
    expect(github.seen).toEqual([]);
  });

  test("the code of another user's attempt is refused", async () => {
    const connector = connectorOf();
    const stolen = github.grants.authorize(await sentTo(connector), ANNA);
    const own = newTransaction();
    stolen.searchParams.set('state', own.state);

    expect(await refusal(comeBack(connector, own, stolen))).toMatchObject({
      reason: 'grant-refused',
    });
  });
});

describe('addresses', () => {
  const emails = [
    { email: 'old@example.com', primary: false, verified: true },
    { email: 'bo@example.com', primary: true, verified: true },
  ];

  test('the primary address is asked for where none is public, on whatever page it is', async () => {
    const many = Array.from({ length: 120 }, (_, index) => ({
      ...{ email: `a${index}@example.com`, primary: false, verified: true },
    }));

    const identity = await signIn(
      connectorOf(),
      asUser({ id: 7, login: 'bo', emails: [...many, ...emails] }),
    );

    expect(identity).toMatchObject({ email: 'bo@example.com', emailVerified: true });
  });

  test('an address that is not verified is none', async () => {
    const unverified = emails.map((email) => ({ ...email, verified: false }));

    const identity = await signIn(
      connectorOf(),
      asUser({ id: 7, login: 'bo', emails: unverified }),
    );

    expect(identity.email).toBeUndefined();
    expect(identity.emailVerified).toBe(false);
  });
});

// covers: auth.providerA.orgs auth.providerA.orgs[].{name,teams}
// covers: auth.connectors[].providerA.orgs auth.connectors[].providerA.orgs[].{name,teams}
describe('organizations and teams', () => {
  test.each<[string, NonNullable<ProviderAConfig['orgs']>, string[] | 'refused']>([
    ['a member of an organization', [{ name: 'octo' }], ['octo:Core Team', 'octo:Docs']],
    ['however it is written', [{ name: 'OCTO' }], ['OCTO:Core Team', 'OCTO:Docs']],
    ['a member of a listed team', [{ name: 'octo', teams: ['Docs', 'Ops'] }], ['octo:Docs']],
    ['no listed team', [{ name: 'octo', teams: ['Ops'] }], 'refused'],
    ['a slug is no name', [{ name: 'octo', teams: ['core-team'] }], 'refused'],
    ['a team of the same name elsewhere', [{ name: 'third', teams: ['Core Team'] }], 'refused'],
    ['in a team, but not in its organization', [{ name: 'third', teams: ['Spies'] }], 'refused'],
    ['no member', [{ name: 'nowhere' }], 'refused'],
    [
      'one of several is enough',
      [{ name: 'nowhere' }, { name: 'Other-Org' }],
      ['Other-Org:Core Team'],
    ],
    [
      'an open organization makes up for the team of another',
      [{ name: 'octo', teams: ['Ops'] }, { name: 'Other-Org' }],
      ['Other-Org:Core Team'],
    ],
    [
      'the same organization twice',
      [
        { name: 'octo', teams: ['Docs'] },
        { name: 'octo', teams: ['Docs', 'Core Team'] },
      ],
      ['octo:Docs', 'octo:Core Team'],
    ],
    [
      'an empty list of teams is none',
      [{ name: 'octo', teams: [] }],
      ['octo:Core Team', 'octo:Docs'],
    ],
  ])('%s', async (_, orgs, expected) => {
    const attempt = signIn(connectorOf({ orgs }), asUser(ANNA));

    if (expected === 'refused') {
      expect(await refusal(attempt)).toMatchObject({
        reason: 'not-a-member',
        code: 403,
        isFinal: true,
      });
    } else {
      expect((await attempt).groups).toEqual(expected);
    }
  });

  test('a member without a team gets in, with no groups', async () => {
    const user = { id: 9, login: 'cy', orgs: ['octo'] };

    expect((await signIn(connectorOf({ orgs: [{ name: 'octo' }] }), asUser(user))).groups).toEqual(
      [],
    );
  });

  test('teams on later pages count', async () => {
    const teams = Array.from({ length: 250 }, (_, index) => ({ org: 'octo', name: `T${index}` }));
    const connector = connectorOf({ orgs: [{ name: 'octo', teams: ['T249'] }] });

    const identity = await signIn(connector, asUser({ id: 9, login: 'cy', orgs: ['octo'], teams }));

    expect(identity.groups).toEqual(['octo:T249']);
    expect(github.seen.filter(({ path }) => path === '/user/teams')).toHaveLength(3);
  });

  test.each<[string, () => unknown]>([
    ['has not approved the application', () => github.unapproved.add('octo')],
    ['wants its own sign-in first', () => github.ssoBlocked.add('octo')],
  ])('an organization that %s has no members', async (_, prepare) => {
    prepare();

    const error = await refusal(signIn(connectorOf({ orgs: [{ name: 'octo' }] }), asUser(ANNA)));

    expect(error.reason).toBe('not-a-member');
  });

  test('a connector without organizations admits every user, and the log warns', () => {
    connectorOf();
    connectorOf({ orgs: [{ name: 'octo' }] });

    expect(context.warnings).toEqual([
      expect.stringContaining('every user with an account at https://github.com'),
    ]);
  });
});

describe('answers that are none', () => {
  const orgs = [{ name: 'octo' }];

  test.each([
    ['429', { status: 429, json: {} }, { reason: 'provider-busy', code: 503 }],
    [
      '403 with nothing left',
      { status: 403, headers: { 'x-ratelimit-remaining': '0' }, json: {} },
      { reason: 'provider-busy', code: 503 },
    ],
    [
      '403 with a time to wait',
      { status: 403, headers: { 'retry-after': '60' }, json: {} },
      { reason: 'provider-busy', code: 503 },
    ],
    [
      '403 for a second limit',
      { status: 403, json: { message: 'You have exceeded a secondary rate limit.' } },
      { reason: 'provider-busy', code: 503 },
    ],
    ['500', { status: 500, text: 'oops' }, { reason: 'provider-failed', code: 502 }],
    ['HTML', { status: 200, text: '<html>' }, { reason: 'unexpected-answer', code: 502 }],
    [
      'a redirect',
      { status: 301, headers: { location: 'https://evil.example/' }, json: {} },
      { reason: 'unexpected-answer', code: 502 },
    ],
  ])('%s is the fault of the provider, and tried again later', async (_, answer, expected) => {
    for (const path of ['/user', '/orgs/octo/members/anna', '/user/teams']) {
      github.override = (request) => (request.path === path ? answer : undefined);

      const error = await refusal(signIn(connectorOf({ orgs }), asUser(ANNA)));

      // Any other success says nothing of a membership.
      expect(error, path).toMatchObject({ ...expected, isFinal: false });
    }
    expect([...context.asked]).not.toContain('https://evil.example');
  });

  test.each([
    ['no id', { login: 'anna' }],
    ['an id that is a text', { login: 'anna', id: '583231' }],
    ['an id that is not exact', { login: 'anna', id: 2 ** 60 }],
    ['no login', { id: 1 }],
    ['a list', []],
  ])('an account with %s is no user', async (_, json) => {
    github.override = ({ path }) => (path === '/user' ? { json } : undefined);

    expect(await refusal(signIn(connectorOf(), asUser(ANNA)))).toMatchObject({
      reason: 'unexpected-answer',
    });
  });

  test.each([
    ['elsewhere', 'https://evil.example/user/teams'],
    ['to another port', 'https://api.github.com:8443/user/teams'],
    ['without TLS', 'http://api.github.com/user/teams'],
    ['with a name and a password', 'https://a:b@api.github.com/user/teams'],
  ])('a next page %s is not asked for', async (_, next) => {
    github.override = ({ path }) =>
      path === '/user/teams' ? { headers: { link: `<${next}>; rel="next"` }, json: [] } : undefined;

    const error = await refusal(signIn(connectorOf({ orgs }), asUser(ANNA)));

    expect(error).toMatchObject({ reason: 'foreign-link', code: 502 });
    expect([...context.asked].sort()).toEqual(['https://api.github.com', 'https://github.com']);
  });

  test('a client that goes away ends the requests', async () => {
    const connector = connectorOf({ orgs });
    const gone = new AbortController();
    github.override = async ({ path }) => {
      if (path !== '/user') return undefined;
      gone.abort();
      // No answer, until the other end hangs up.
      return await new Promise(() => undefined);
    };
    const transaction = newTransaction();
    const url = github.grants.authorize(await sentTo(connector, transaction), ANNA);
    const callback = { url, form: new URLSearchParams() };

    const error = await refusal(connector.complete(transaction, callback, gone.signal));

    expect(error).toMatchObject({ reason: 'provider-unreachable', isFinal: false });
  });

  test('pages without an end are given up', async () => {
    github.override = ({ path }) =>
      path === '/user/teams'
        ? { headers: { link: '<https://api.github.com/user/teams>; rel="next"' }, json: [] }
        : undefined;

    const error = await refusal(signIn(connectorOf({ orgs }), asUser(ANNA)));

    expect(error).toMatchObject({ reason: 'endless-pages', code: 502 });
    expect(github.seen.length).toBeLessThan(120);
  });

  test.each([
    ['no token', { token_type: 'bearer' }],
    ['a token and an unknown kind', { access_token: 'x-s3cret', token_type: 'mac' }],
    ['a token and no kind', { access_token: 'x-s3cret' }],
    ['a refusal beside a token', { error: 'server_error', refresh_token: 'x-s3cret' }],
  ])('a grant with %s is none, and nothing of it is told', async (_, json) => {
    github.override = ({ path }) => (path === '/login/oauth/access_token' ? { json } : undefined);

    expect(await refusal(signIn(connectorOf(), asUser(ANNA)))).toMatchObject({ code: 502 });
  });
});

describe('a later refresh', () => {
  const orgs = [{ name: 'octo' }];

  test('a membership is checked with the token that does not end', async () => {
    const connector = connectorOf({ orgs });
    const known = await signIn(connector, asUser({ ...ANNA, login: 'old-name' }));

    const { identity, kept } = await refreshed(connector, known);

    expect(identity).toMatchObject({ userId: '583231', groups: known.groups });
    expect(identity.connectorData).toEqual(known.connectorData);
    expect(kept).toEqual([]);
  });

  test.each([
    ['the token was taken back', () => github.grants.revoke({ access: true }), 'token-refused'],
    ['the organization wants its sign-in', () => github.ssoBlocked.add('octo'), 'not-a-member'],
    [
      'it is another account',
      () => {
        github.override = ({ path }) =>
          path === '/user' ? { json: { id: 1, login: 'anna' } } : undefined;
      },
      'another-account',
    ],
  ])('access is over when %s', async (_, change, reason) => {
    const connector = connectorOf({ orgs });
    const known = await signIn(connector, asUser(ANNA));
    change();

    expect(await refusal(refreshed(connector, known))).toMatchObject({ reason, isFinal: true });
  });

  test('a provider that fails ends no session', async () => {
    const connector = connectorOf({ orgs });
    const known = await signIn(connector, asUser(ANNA));
    github.override = () => ({ status: 503, json: {} });

    expect(await refusal(refreshed(connector, known))).toMatchObject({ isFinal: false });
  });

  test('a login stored without a token cannot be checked', async () => {
    const connector = connectorOf();
    const { connectorData: _gone, ...known } = await signIn(connector, asUser(ANNA));

    expect(await refusal(refreshed(connector, known))).toMatchObject({ isFinal: true });
  });

  test('tokens that end are renewed in time, and kept before they are used', async () => {
    github.expires = true;
    const connector = connectorOf({ orgs });
    const known = await signIn(connector, asUser(ANNA));
    context.clock.shift(8 * 3_600_000);
    github.override = ({ path }) => (path === '/user' ? { status: 500, json: {} } : undefined);
    const kept: Parameters<typeof refreshed>[2] = [];
    await refusal(refreshed(connector, known, kept));
    github.override = undefined;

    const [data] = kept;
    expect(data?.['refreshToken']).not.toBe(known.connectorData?.['refreshToken']);
    const again = { ...known, connectorData: data ?? {} };
    expect((await refreshed(connector, again)).identity.connectorData).toEqual(data);
  });

  test('a refresh token that is over ends access', async () => {
    github.expires = true;
    const connector = connectorOf({ orgs });
    const known = await signIn(connector, asUser(ANNA));
    context.clock.shift(8 * 3_600_000);
    github.grants.revoke({ refresh: true });

    const error = await refusal(refreshed(connector, known));

    expect(error).toMatchObject({ reason: 'grant-refused', isFinal: true });
    expect(error.message).toContain('bad_refresh_token');
  });
});

// covers: auth.providerA.{hostName,rootCA} auth.connectors[].providerA.{hostName,rootCA}
describe('a server of ones own', () => {
  let enterprise: Github;
  let pem: string;
  let folder: string;

  beforeAll(async () => {
    const { ca, cert, key } = await serverTrust();
    pem = ca;
    folder = mkdtempSync(join(tmpdir(), 'gitplane-roots-'));
    writeFileSync(join(folder, 'ca.crt'), pem);
    enterprise = await startGithub({ cert, key });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await enterprise.close();
  });

  const there = (rootCA?: string) => {
    const { http: _led, ...plain } = fakeContext({});
    const block = { hostName: new URL(enterprise.origin).host, ...(rootCA ? { rootCA } : {}) };
    return connectorOf({ ...block, orgs: [{ name: 'octo', teams: ['T120'] }] }, {
      ...plain,
    } as FakeContext);
  };
  const agree = (user: GithubUser) => (at: URL) => {
    expect(at.origin).toBe(enterprise.origin);
    return enterprise.grants.authorize(at, user);
  };
  const teams = Array.from({ length: 121 }, (_, index) => ({ org: 'octo', name: `T${index}` }));
  const user: GithubUser = {
    ...{ id: 4, login: 'dan', orgs: ['octo'], teams },
    emails: [{ email: 'dan@corp.example', primary: true, verified: false }],
  };

  test.each([
    ['PEM', () => pem],
    ['base64 of PEM', () => Buffer.from(pem).toString('base64')],
    ['a path', () => join(folder, 'ca.crt')],
  ])('is asked below its host, and trusted by %s', async (_, rootCA) => {
    enterprise.seen.splice(0);

    const identity = await signIn(there(rootCA()), agree(user));

    expect(identity).toMatchObject({
      ...{ userId: '4', groups: ['octo:T120'] },
      // Such a server verifies none.
      ...{ email: 'dan@corp.example', emailVerified: true },
    });
    expect(new Set(enterprise.seen.map(({ path }) => path))).toEqual(
      new Set([
        '/login/oauth/access_token',
        '/api/v3/user',
        '/api/v3/user/emails',
        '/api/v3/orgs/octo/members/dan',
        '/api/v3/user/teams',
      ]),
    );
  });

  test('is not trusted without', async () => {
    expect(await refusal(signIn(there(), agree(user)))).toMatchObject({
      reason: 'provider-unreachable',
    });
  });

  test.each([
    ['a file that is not there', () => join(folder, 'none.crt')],
    ['no certificate', () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ])('%s is no trust', async (_, rootCA) => {
    expect(await refusal(signIn(there(rootCA()), agree(user)))).toMatchObject({
      reason: 'ca-unreadable',
      code: 502,
    });
  });

  test('a certificate that changes in its file counts at once', async () => {
    const path = join(folder, 'changing.crt');
    writeFileSync(path, (await serverTrust()).ca);
    const connector = there(path);
    expect(await refusal(signIn(connector, agree(user)))).toMatchObject({ isFinal: false });

    writeFileSync(path, pem);

    expect((await signIn(connector, agree(user))).userId).toBe('4');
  });
});
