/** providerD against a server that answers as Microsoft does. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderDConfig } from '../../src/config/sections/auth-provider-d.ts';
import type { Connector } from '../../src/sign-in/connector.ts';
import { createProviderD } from '../../src/sign-in/connectors/provider-d.ts';
import { type FakeContext, fakeContext } from '../support/providers/fake-provider.ts';
import { newIssuer } from '../support/providers/issuer.ts';
import {
  LOGIN,
  type Microsoft,
  type MicrosoftUser,
  microsoftOrigins,
  startMicrosoft,
} from '../support/providers/microsoft.ts';
import {
  comeBack,
  newTransaction,
  refreshed,
  refusal,
  sentTo,
  signIn,
} from '../support/providers/sign-in.ts';

const TENANT = 'aaaaaaaa-0000-4000-8000-000000000001';
const OTHER_TENANT = 'aaaaaaaa-0000-4000-8000-000000000002';
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad';
const ADMINS = 'bbbbbbbb-0000-4000-8000-000000000001';
const STAFF = 'bbbbbbbb-0000-4000-8000-000000000002';
const MAILING = 'bbbbbbbb-0000-4000-8000-000000000003';
const ANNA: MicrosoftUser = {
  ...{ id: 'cccccccc-0000-4000-8000-000000000001', tid: TENANT },
  ...{ displayName: 'Anna Example', userPrincipalName: 'anna@corp.example' },
  groups: [STAFF, MAILING],
};
const CLIENT = { clientId: 'platform', clientSecret: 'client-s3cret' };

let microsoft: Microsoft;
let context: FakeContext;
const open: Connector[] = [];

beforeAll(async () => {
  microsoft = await startMicrosoft();
});
afterAll(() => microsoft.close());

beforeEach(() => {
  context = fakeContext(microsoftOrigins(microsoft));
  microsoft.override = undefined;
  microsoft.claims = {};
  microsoft.signer = microsoft.issuer;
  microsoft.pageSize = 400;
  microsoft.groups.clear();
  for (const group of [
    { id: ADMINS, displayName: 'Admins', isSecurity: true },
    { id: STAFF, displayName: 'Staff', isSecurity: true },
    { id: MAILING, displayName: 'Mailing', isSecurity: false },
  ]) {
    microsoft.groups.set(group.id, group);
  }
  microsoft.seen.splice(0);
});

afterEach(async () => {
  for (const connector of open.splice(0)) await connector.close?.();
});

function connectorOf(block: Partial<ProviderDConfig> = {}): Connector {
  const connector = createProviderD('x', { ...CLIENT, tenant: TENANT, ...block }, context);
  open.push(connector);
  return connector;
}

const asUser = (user: MicrosoftUser) => (at: URL) => microsoft.grants.authorize(at, user);

// covers: auth.providerD auth.providerD.{clientId,clientSecret}
// covers: auth.connectors[].providerD auth.connectors[].providerD.{clientId,clientSecret}
describe('the way there and back', () => {
  test('the browser is sent with state, nonce and PKCE', async () => {
    const transaction = newTransaction();
    const url = await sentTo(connectorOf(), transaction);

    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'platform',
      redirect_uri: 'https://platform.example.com/auth/x/callback',
      scope: 'openid profile offline_access user.read directory.read.all',
      ...{ nonce: transaction.nonce, state: transaction.state, code_challenge_method: 'S256' },
    });
  });

  test('an account comes back as its object id, with an address that nobody verified', async () => {
    const identity = await signIn(connectorOf(), asUser(ANNA));

    expect(identity).toMatchObject({
      ...{ userId: ANNA.id, username: 'Anna Example', preferredUsername: 'anna@corp.example' },
      ...{ email: 'anna@corp.example', emailVerified: false, groups: ['Staff', 'Mailing'] },
    });
    expect(Object.keys(identity.connectorData ?? {}).sort()).toEqual([
      ...['accessToken', 'expiresAt', 'refreshToken', 'tid'],
    ]);
  });

  test('a guest, whose principal name is made up, is one as well', async () => {
    const guest = {
      ...ANNA,
      displayName: '',
      userPrincipalName: 'bo_gmail.com#EXT#@corp.example',
    };

    expect(await signIn(connectorOf(), asUser(guest))).toMatchObject({
      username: guest.userPrincipalName,
      emailVerified: false,
    });
  });

  test('a wrong secret is our mistake, and a code is taken once', async () => {
    const wrong = connectorOf({ clientSecret: 'wrong-s3cret' });
    expect(await refusal(signIn(wrong, asUser(ANNA)))).toMatchObject({ code: 502 });

    const connector = connectorOf();
    const transaction = newTransaction();
    const url = microsoft.grants.authorize(await sentTo(connector, transaction), ANNA);
    await comeBack(connector, transaction, url);
    expect((await refusal(comeBack(connector, transaction, url))).reason).toBe('grant-refused');
  });
});

// covers: auth.providerD.tenant auth.connectors[].providerD.tenant
describe('tenants', () => {
  test.each([
    ['', 'common'],
    ['Common', 'common'],
    ['organizations', 'organizations'],
    ['consumers', 'consumers'],
    [TENANT, TENANT],
    ['corp.onmicrosoft.com', 'corp.onmicrosoft.com'],
  ])('%j is asked at its own address', async (tenant, path) => {
    const url = await sentTo(connectorOf({ tenant }));
    const identity = await signIn(
      connectorOf({ tenant }),
      asUser(path === 'consumers' ? { ...ANNA, tid: PERSONAL } : ANNA),
    );

    expect(url.href).toContain(`${LOGIN}/${path}/oauth2/v2.0/authorize?`);
    expect(microsoft.seen[0]?.path).toBe(`/${path}/oauth2/v2.0/token`);
    expect(identity.username).toBe('Anna Example');
  });

  test.each<[string, string, boolean]>([
    ['common', PERSONAL, true],
    ['common', TENANT, true],
    ['organizations', TENANT, true],
    ['organizations', PERSONAL, false],
    ['consumers', PERSONAL, true],
    ['consumers', TENANT, false],
    [PERSONAL, PERSONAL, true],
    [TENANT, TENANT, true],
    [TENANT.toUpperCase(), TENANT, true],
    [TENANT, OTHER_TENANT, false],
    ['corp.onmicrosoft.com', TENANT, true],
  ])('%s lets in an account of %s: %s', async (tenant, tid, isIn) => {
    const attempt = signIn(connectorOf({ tenant }), asUser({ ...ANNA, tid }));

    if (isIn) expect((await attempt).emailVerified).toBe(false);
    else expect(await refusal(attempt)).toMatchObject({ reason: 'foreign-tenant', code: 403 });
  });

  test('accounts of different tenants with the same id are different people', async () => {
    const connector = connectorOf({ tenant: 'organizations' });
    const here = await signIn(connector, asUser(ANNA));
    const there = await signIn(connector, asUser({ ...ANNA, tid: OTHER_TENANT }));

    expect(here.userId).toBe(`${TENANT}/${ANNA.id}`);
    expect(there.userId).toBe(`${OTHER_TENANT}/${ANNA.id}`);
  });

  test.each(['common', 'organizations', 'consumers', ''])(
    '%j has no groups, and no request is sent for them',
    async (tenant) => {
      const user = { ...ANNA, tid: tenant === 'consumers' ? PERSONAL : TENANT };
      const connector = connectorOf({ tenant });

      expect((await sentTo(connector)).searchParams.get('scope')).not.toContain('directory');
      expect((await signIn(connector, asUser(user))).groups).toEqual([]);
      expect(microsoft.seen.map(({ path }) => path)).not.toContain('/v1.0/me/getMemberGroups');
      expect(context.warnings).toHaveLength(1);
    },
  );

  test('groups that nobody can read admit no user', async () => {
    const connector = connectorOf({ tenant: 'common', groups: ['Staff'] });

    expect((await refusal(signIn(connector, asUser(ANNA)))).reason).toBe('not-a-member');
  });
});

describe('ID tokens', () => {
  test.each<[string, Record<string, unknown>]>([
    ['the issuer of another tenant', { iss: `${LOGIN}/${OTHER_TENANT}/v2.0` }],
    ['another issuer', { iss: `https://evil.example/${TENANT}/v2.0` }],
    ['no tenant', { tid: undefined }],
    ['a tenant that is a path', { tid: '../x', iss: `${LOGIN}/../x/v2.0` }],
    ['another audience', { aud: 'other' }],
    ['another authorized party', { azp: 'other' }],
    ['another nonce', { nonce: 'x' }],
    ['its time over', { exp: 1 }],
    ['a beginning an hour ahead', { iat: Math.floor(Date.now() / 1000) + 3600 }],
    ['the hash of another access token', { at_hash: 'x'.repeat(22) }],
  ])('a token with %s admits no user', async (_, claims) => {
    microsoft.claims = claims;

    expect((await refusal(signIn(connectorOf(), asUser(ANNA)))).reason).toBe('bad-id-token');
  });

  test('a token of another signer admits no user', async () => {
    microsoft.signer = await newIssuer();

    expect((await refusal(signIn(connectorOf(), asUser(ANNA)))).reason).toBe('bad-id-token');
  });
});

// covers: auth.providerD.{groups,onlySecurityGroups,useGroupsAsWhitelist}
// covers: auth.connectors[].providerD.{groups,onlySecurityGroups,useGroupsAsWhitelist}
describe('groups', () => {
  test.each<[string, Partial<ProviderDConfig>, string[] | 'refused']>([
    ['all by their names', {}, ['Staff', 'Mailing']],
    ['security groups alone', { onlySecurityGroups: true }, ['Staff']],
    ['a listed name', { groups: ['Staff', 'Other'] }, ['Staff', 'Mailing']],
    ['no listed name', { groups: ['Admins'] }, 'refused'],
    [
      'a listed group that is none for security',
      { groups: ['Mailing'], onlySecurityGroups: true },
      'refused',
    ],
    ['a listed id, which is its name then', { groups: [STAFF] }, [STAFF, 'Mailing']],
    ['a listed id in capitals', { groups: [STAFF.toUpperCase()] }, [STAFF, 'Mailing']],
    ['no listed id', { groups: [ADMINS] }, 'refused'],
    ['listed ones alone', { groups: ['Staff'], useGroupsAsWhitelist: true }, ['Staff']],
    ['listed ids alone', { groups: [MAILING, ADMINS], useGroupsAsWhitelist: true }, [MAILING]],
    [
      'a list of nothing keeps all',
      { groups: [], useGroupsAsWhitelist: true },
      ['Staff', 'Mailing'],
    ],
    ['none of the listed', { groups: ['Other'], useGroupsAsWhitelist: true }, 'refused'],
  ])('%s', async (_, block, expected) => {
    const attempt = signIn(connectorOf(block), asUser(ANNA));

    if (expected === 'refused') {
      expect(await refusal(attempt)).toMatchObject({ reason: 'not-a-member', code: 403 });
    } else {
      expect((await attempt).groups).toEqual(expected);
    }
  });

  test('a group that is called like the id of another is not taken for it', async () => {
    const impostor = 'bbbbbbbb-0000-4000-8000-00000000000f';
    microsoft.groups.set(impostor, { id: impostor, displayName: ADMINS, isSecurity: true });
    const user = { ...ANNA, groups: [impostor] };

    expect((await signIn(connectorOf(), asUser(user))).groups).toEqual([impostor]);
    expect((await refusal(signIn(connectorOf({ groups: [ADMINS] }), asUser(user)))).reason).toBe(
      'not-a-member',
    );
  });

  test('a group whose name may not be read goes by its id', async () => {
    microsoft.groups.set(STAFF, { id: STAFF, displayName: null });

    expect((await signIn(connectorOf(), asUser(ANNA))).groups).toEqual([STAFF, 'Mailing']);
  });

  test('thousands are asked for in parts, and their pages are followed', async () => {
    const ids = Array.from(
      { length: 2100 },
      (_, index) => `dddddddd-0000-4000-8000-${String(index).padStart(12, '0')}`,
    );
    for (const [index, id] of ids.entries()) {
      microsoft.groups.set(id, { id, displayName: `G${index}`, isSecurity: true });
    }

    const identity = await signIn(connectorOf(), asUser({ ...ANNA, groups: ids }));

    expect(identity.groups).toEqual(ids.map((_, index) => `G${index}`));
    const asked = microsoft.seen.filter(
      ({ method, path }) => method === 'POST' && path.endsWith('getByIds'),
    );
    expect(asked.map(({ body }) => (JSON.parse(body) as { ids: string[] }).ids.length)).toEqual([
      ...[1000, 1000, 100],
    ]);
  });

  test('a user without groups causes no request for names', async () => {
    expect((await signIn(connectorOf(), asUser({ ...ANNA, groups: [] }))).groups).toEqual([]);
    expect(microsoft.seen.map(({ path }) => path)).not.toContain('/v1.0/directoryObjects/getByIds');
  });

  test('more than the provider lists cannot be judged', async () => {
    const groups = Array.from({ length: 11_001 }, (_, index) => String(index));

    expect(await refusal(signIn(connectorOf(), asUser({ ...ANNA, groups })))).toMatchObject({
      ...{ reason: 'too-many-groups', isFinal: false },
    });
  });

  test.each([
    ['/v1.0/me/getMemberGroups', { value: [STAFF], '@odata.nextLink': 'https://evil.example/x' }],
    ['/v1.0/directoryObjects/getByIds', { value: [], '@odata.nextLink': 'https://evil.example/x' }],
  ])('a next page of %s elsewhere is not asked for', async (wanted, json) => {
    microsoft.override = ({ path }) => (path === wanted ? { json } : undefined);

    expect(await refusal(signIn(connectorOf(), asUser(ANNA)))).toMatchObject({
      ...{ reason: 'foreign-link', code: 502 },
    });
    expect([...context.asked]).not.toContain('https://evil.example');
  });

  const withoutConsent = () => {
    microsoft.override = ({ path }) =>
      path.endsWith('getMemberGroups')
        ? { status: 403, json: { error: { code: 'Authorization_RequestDenied' } } }
        : undefined;
  };

  test('a connector with groups admits no user without the admin consent of the directory', async () => {
    withoutConsent();

    expect(await refusal(signIn(connectorOf({ groups: ['Staff'] }), asUser(ANNA)))).toMatchObject({
      ...{ reason: 'no-consent', code: 502, isFinal: false },
    });
  });

  test('a connector without groups to check works without consent, and the log warns', async () => {
    withoutConsent();

    expect((await signIn(connectorOf(), asUser(ANNA))).groups).toEqual([]);
    expect(context.warnings).toEqual([expect.stringContaining('consent')]);
  });
});

describe('a later refresh', () => {
  test('membership is asked for again, with tokens that are renewed and kept first', async () => {
    const connector = connectorOf({ groups: ['Staff'] });
    const known = await signIn(connector, asUser(ANNA));
    context.clock.shift(2 * 3_600_000);

    const { identity, kept } = await refreshed(connector, known);

    expect(identity.groups).toEqual(known.groups);
    expect(identity.connectorData).toEqual(kept[0]);
    expect(kept[0]).toMatchObject({ tid: TENANT });
    expect((await refreshed(connector, identity)).identity.userId).toBe(ANNA.id);
  });

  test.each<[string, Partial<ProviderDConfig>, () => void, object]>([
    [
      'the grant was taken back',
      {},
      () => microsoft.grants.revoke({ access: true, refresh: true }),
      { isFinal: true },
    ],
    [
      'the group is gone',
      { groups: ['Other'] },
      () => undefined,
      { reason: 'not-a-member', isFinal: true },
    ],
    ['the tenant is another', { tenant: OTHER_TENANT }, () => undefined, { isFinal: true }],
    [
      'the provider wants fewer requests',
      {},
      () => {
        microsoft.override = () => ({ status: 429, headers: { 'retry-after': '5' }, json: {} });
      },
      { reason: 'provider-busy', isFinal: false },
    ],
  ])('%s', async (_, block, change, expected) => {
    const known = await signIn(connectorOf(), asUser(ANNA));
    change();

    expect(await refusal(refreshed(connectorOf(block), known))).toMatchObject(expected);
  });
});
