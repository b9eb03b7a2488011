/** providerB against a server that answers as GitLab does. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import type { ProviderBConfig } from '../../src/config/sections/auth-provider-b.ts';
import type { Connector } from '../../src/sign-in/connector.ts';
import { createProviderB } from '../../src/sign-in/connectors/provider-b.ts';
import { type FakeContext, fakeContext } from '../support/providers/fake-provider.ts';
import { type Gitlab, type GitlabUser, startGitlab } from '../support/providers/gitlab.ts';
import {
  comeBack,
  newTransaction,
  refreshed,
  refusal,
  sentTo,
  signIn,
} from '../support/providers/sign-in.ts';

const ANNA: GitlabUser = {
  ...{ id: 42, username: 'anna', name: 'Anna Example', email: 'anna@example.com' },
  groups: ['eng', 'eng/backend', 'docs'],
};
const CLIENT = { clientId: 'platform', clientSecret: 'client-s3cret' };

let gitlab: Gitlab;
let context: FakeContext;
const open: Connector[] = [];

beforeAll(async () => {
  gitlab = await startGitlab();
});
afterAll(() => gitlab.close());

beforeEach(() => {
  context = fakeContext({ 'https://gitlab.com': gitlab.origin, [gitlab.origin]: gitlab.origin });
  gitlab.override = undefined;
  gitlab.seen.splice(0);
});

afterEach(async () => {
  for (const connector of open.splice(0)) await connector.close?.();
});

function connectorOf(block: ProviderBConfig = {}): Connector {
  const connector = createProviderB('x', { ...CLIENT, ...block }, context);
  open.push(connector);
  return connector;
}

const asUser = (user: GitlabUser) => (at: URL) => gitlab.grants.authorize(at, user);

// covers: auth.providerB auth.providerB.{clientId,clientSecret,baseURL}
// covers: auth.connectors[].providerB auth.connectors[].providerB.{clientId,clientSecret,baseURL}
describe('the way there and back', () => {
  test('the browser is sent to the public address, with PKCE', async () => {
    const url = await sentTo(connectorOf());

    expect(url.origin + url.pathname).toBe('https://gitlab.com/oauth/authorize');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'platform',
      redirect_uri: 'https://platform.example.com/auth/x/callback',
      scope: 'read_user openid',
      code_challenge_method: 'S256',
    });
  });

  test.each([
    ['', ''],
    ['with a slash', '/'],
    ['with many', '///'],
    ['below a path', '/code'],
    ['below a path with a slash', '/code/'],
  ])('a server of ones own is asked at its address: %s', async (_, path) => {
    const base = (gitlab.origin + path).replace(/\/+$/, '');

    const identity = await signIn(connectorOf({ baseURL: gitlab.origin + path }), (at) => {
      expect(at.href).toContain(`${base}/oauth/authorize?`);
      return gitlab.grants.authorize(at, ANNA);
    });

    expect(identity.userId).toBe('42');
    expect([...context.asked]).toEqual([gitlab.origin]);
  });

  test('a server without TLS is told of', () => {
    connectorOf({ baseURL: gitlab.origin });

    expect(context.warnings[0]).toContain('has no TLS');
  });

  test('an account comes back as its number, with everything that is known of it', async () => {
    const identity = await signIn(connectorOf(), asUser(ANNA));

    expect(identity).toMatchObject({
      ...{ userId: '42', username: 'Anna Example', preferredUsername: 'anna' },
      ...{ email: 'anna@example.com', emailVerified: true },
      groups: ['eng', 'eng/backend', 'docs'],
    });
    expect(Object.keys(identity.connectorData ?? {}).sort()).toEqual([
      ...['accessToken', 'expiresAt', 'refreshToken'],
    ]);
  });

  test.each<[string, Partial<GitlabUser>, object]>([
    ['no name: the address', { name: '' }, { username: 'anna@example.com' }],
    ['no confirmation', { confirmed_at: null }, { emailVerified: false }],
    ['no address', { email: '', confirmed_at: '2020-01-01' }, { emailVerified: false }],
  ])('%s', async (_, change, expected) => {
    expect(await signIn(connectorOf(), asUser({ ...ANNA, ...change }))).toMatchObject(expected);
  });

  test.each(['blocked', 'deactivated'] as const)(
    'an account that is %s does not get in',
    async (state) => {
      expect(await refusal(signIn(connectorOf(), asUser({ ...ANNA, state })))).toMatchObject({
        ...{ reason: 'not-active', code: 403, isFinal: true },
      });
    },
  );

  test('a wrong secret is our mistake, and a code is taken once', async () => {
    const wrong = connectorOf({ clientSecret: 'wrong-s3cret' });
    expect(await refusal(signIn(wrong, asUser(ANNA)))).toMatchObject({ code: 502, isFinal: false });

    const connector = connectorOf();
    const transaction = newTransaction();
    const url = gitlab.grants.authorize(await sentTo(connector, transaction), ANNA);
    await comeBack(connector, transaction, url);
    expect(await refusal(comeBack(connector, transaction, url))).toMatchObject({
      ...{ reason: 'grant-refused', code: 400 },
    });
  });
});

// covers: auth.providerB.groups auth.connectors[].providerB.groups
describe('groups', () => {
  test.each<[string, string[] | undefined, string[] | 'refused']>([
    ['none listed: all', undefined, ['eng', 'eng/backend', 'docs']],
    ['an empty list: all', [], ['eng', 'eng/backend', 'docs']],
    ['those that are listed', ['docs', 'eng/backend', 'other'], ['eng/backend', 'docs']],
    ['no member', ['other'], 'refused'],
    ['the name of a path is no path', ['backend'], 'refused'],
  ])('%s', async (_, groups, expected) => {
    const attempt = signIn(connectorOf(groups === undefined ? {} : { groups }), asUser(ANNA));

    if (expected === 'refused') {
      expect(await refusal(attempt)).toMatchObject({ reason: 'not-a-member', isFinal: true });
    } else {
      expect((await attempt).groups).toEqual(expected);
    }
  });

  test.each<[string, unknown, string]>([
    ['none at all', { sub: '42' }, 'not-a-member'],
    ['those of somebody else', { sub: '43', groups: ['docs'] }, 'unexpected-answer'],
    ['no list', { sub: '42', groups: 'docs' }, 'unexpected-answer'],
  ])('an answer with %s admits no user', async (_, json, reason) => {
    gitlab.override = ({ path }) => (path === '/oauth/userinfo' ? { json } : undefined);

    const error = await refusal(signIn(connectorOf({ groups: ['docs'] }), asUser(ANNA)));

    expect(error.reason).toBe(reason);
  });

  test('a connector without groups admits every user, and the log warns', () => {
    connectorOf();
    connectorOf({ groups: ['eng'] });

    expect(context.warnings).toEqual([expect.stringContaining('every user with an account')]);
  });
});

describe('a later refresh', () => {
  test('tokens that are taken once are kept before anything is asked with them', async () => {
    const connector = connectorOf();
    const known = await signIn(connector, asUser(ANNA));
    context.clock.shift(2 * 3_600_000);
    const order: string[] = [];
    const kept: JsonObject[] = [];
    gitlab.override = ({ path }) => {
      order.push(`${path} after ${kept.length} kept`);
      return undefined;
    };

    const { identity } = await refreshed(connector, known, kept);

    expect(order).toEqual([
      '/oauth/token after 0 kept',
      '/api/v4/user after 1 kept',
      '/oauth/userinfo after 1 kept',
    ]);
    expect(identity.connectorData).toEqual(kept[0]);
    // The old one is void, and the new one goes on.
    expect(await refusal(refreshed(connector, known))).toMatchObject({ isFinal: true });
    expect((await refreshed(connector, identity)).identity.userId).toBe('42');
  });

  test('a token that is good is used as it is', async () => {
    const connector = connectorOf();
    const known = await signIn(connector, asUser(ANNA));
    gitlab.seen.splice(0);

    const { identity, kept } = await refreshed(connector, known);

    expect(identity.connectorData).toEqual(known.connectorData);
    expect(kept).toEqual([]);
    expect(gitlab.seen.map(({ path }) => path)).not.toContain('/oauth/token');
  });

  test('a token that is not taken is renewed once, whatever the clock says', async () => {
    const connector = connectorOf();
    const known = await signIn(connector, asUser(ANNA));
    gitlab.grants.revoke({ access: true });

    const { identity, kept } = await refreshed(connector, known);

    expect(identity.userId).toBe('42');
    expect(kept).toHaveLength(1);
  });

  test('a token that is not taken after its renewal ends access', async () => {
    const connector = connectorOf();
    const known = await signIn(connector, asUser(ANNA));
    gitlab.override = ({ path }) =>
      path === '/api/v4/user' ? { status: 401, json: { error: 'invalid_token' } } : undefined;

    expect(await refusal(refreshed(connector, known))).toMatchObject({ isFinal: true });
    expect(gitlab.seen.filter(({ path }) => path === '/oauth/token')).toHaveLength(2);
  });

  test.each<[string, () => void, object]>([
    [
      'was taken back',
      () => gitlab.grants.revoke({ access: true, refresh: true }),
      { isFinal: true },
    ],
    [
      'is asked for too often',
      () => {
        gitlab.override = () => ({ status: 429, json: {} });
      },
      { isFinal: false, code: 503 },
    ],
    [
      'cannot be asked for',
      () => {
        gitlab.override = () => ({ status: 502, text: 'GitLab is not responding' });
      },
      { isFinal: false, code: 502 },
    ],
  ])('access that %s', async (_, change, expected) => {
    const connector = connectorOf();
    const known = await signIn(connector, asUser(ANNA));
    change();

    expect(await refusal(refreshed(connector, known))).toMatchObject(expected);
  });

  test('a user who left the last listed group is out', async () => {
    const known = await signIn(connectorOf(), asUser(ANNA));

    const error = await refusal(refreshed(connectorOf({ groups: ['other'] }), known));

    expect(error).toMatchObject({ reason: 'not-a-member', isFinal: true });
  });
});
