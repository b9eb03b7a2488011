/** Signing in through an OpenID provider that is not our code, from the click to the key. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { authorityCertificate, newKeyPem, serverCertificate } from '../../src/tls/certificates.ts';
import { object } from '../support/guarded-platform.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type OidcPeer,
  REDIRECT_URI,
  startOidcPeer,
} from '../support/oidc-peer.ts';
import {
  type Browser,
  openSignInPlatform,
  type SignInPlatform,
} from '../support/sign-in-platform.ts';

const ANN = {
  id: 'ann-1',
  claims: {
    name: 'Ann Example',
    preferred_username: 'ann',
    email: 'ann@example.com',
    email_verified: true,
    groups: ['dev', 'system:masters'],
  },
};

const client = (peer: OidcPeer, changes: object = {}): object => ({
  issuerUrl: peer.issuer,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  ...changes,
});

/** Signs in with a fresh browser. */
async function signIn(
  platform: SignInPlatform,
  peer: OidcPeer,
  of: { id?: string; returnTo?: string } = {},
): Promise<{ browser: Browser; answer: Awaited<ReturnType<Browser['get']>>; sent: URL }> {
  const { id = 'oidc', returnTo = '/teams' } = of;
  const browser = platform.browser();
  const begun = await browser.get(`/auth/${id}/login?returnTo=${encodeURIComponent(returnTo)}`);
  expect(begun.statusCode, begun.body).toBe(303);
  const sent = new URL(String(begun.headers.location));
  const back = await peer.signIn(sent.href);
  return { browser, sent, answer: await browser.get(back.pathname + back.search) };
}

async function open(oidc: object = {}, auth: object = {}): Promise<[SignInPlatform, OidcPeer]> {
  const peer = await startOidcPeer();
  peer.account = ANN;
  const platform = await openSignInPlatform();
  platform.configure({ auth: { oidc: client(peer, oidc), ...auth } });
  return [platform, peer];
}

function userSpec(platform: SignInPlatform, name = 'ann'): Record<string, unknown> | undefined {
  return platform.guarded.platform.find('users', name)?.object.spec;
}

function loginKeys(platform: SignInPlatform): object[] {
  const { platform: objects } = platform.guarded;
  return objects.names('ownedaccesskeys').map((name) => {
    const stored = objects.find('ownedaccesskeys', name);
    return { ...stored?.object };
  });
}

// covers: auth.oidc auth.oidc.issuerUrl auth.oidc.clientId auth.oidc.clientSecret auth.oidc.redirectURI
// covers:
// covers: OwnedAccessKey.spec.identity{,.userId,.username,.preferredUsername,.email,.emailVerified,.groups,.connector,.identityRefresh}
test('a first login makes a user, teams for its groups, and a key; the next one only a key', async () => {
  const [platform, peer] = await open({
    groupsClaim: 'groups',
    scopes: ['email', 'profile', 'groups'],
    redirectURI: REDIRECT_URI,
  });
  const { browser, answer, sent } = await signIn(platform, peer);
  expect(answer.statusCode, answer.body).toBe(303);
  expect(answer.headers.location).toBe('/teams');
  expect(sent.searchParams.get('redirect_uri')).toBe(REDIRECT_URI);
  expect(sent.searchParams.get('code_challenge_method')).toBe('S256');
  expect(sent.searchParams.get('nonce')).toMatch(/^[\w-]{43}$/);
  const [, basic = ''] = (peer.tokenRequests[0]?.authorization ?? '').split(' ');
  expect(decodeURIComponent(Buffer.from(basic, 'base64').toString())).toBe(
    `${CLIENT_ID}:${CLIENT_SECRET}`,
  );
  expect(userSpec(platform)).toMatchObject({
    displayName: 'ann',
    username: 'ann',
    email: 'ann@example.com',
    connector: 'oidc',
    subject: 'ann-1',
    ssoGroups: ['dev'],
  });
  const [team = ''] = platform.guarded.platform.names('teams');
  expect(platform.guarded.platform.find('teams', team)?.object.spec).toMatchObject({
    groups: ['dev'],
  });
  const who = (await browser.get('/auth/session')).json();
  expect(who).toMatchObject({
    user: 'ann',
    groups: expect.arrayContaining([`gitplane:team:${team}`]),
  });
  expect(who.groups).not.toContain('system:masters');
  const commits = platform.subjects();
  expect(commits.slice(0, 2)).toEqual([`create Team "${team}"`, 'create User "ann"']);
  const again = await signIn(platform, peer);
  expect(again.answer.statusCode).toBe(303);
  expect(platform.subjects()).toEqual(commits);
  const [one, two, ...more] = loginKeys(platform);
  expect(more).toEqual([]);
  for (const key of [one, two]) {
    expect(key).toMatchObject({
      spec: {
        type: 'Login',
        user: 'ann',
        identity: {
          userId: 'ann-1',
          username: 'Ann Example',
          preferredUsername: 'ann',
          email: 'ann@example.com',
          emailVerified: true,
          groups: ['dev'],
          connector: 'oidc',
          identityRefresh: '2026-03-01T12:00:00Z',
        },
      },
    });
    expect(JSON.stringify(key)).not.toContain('connectorData');
  }
  expect(platform.log.join('')).toContain('"connector":"oidc","user":"ann"');
});

test('a group that the provider takes back is gone with the next login, and others stay', async () => {
  const oidc = { groupsClaim: 'groups', scopes: ['profile', 'groups'] };
  const [platform, peer] = await open(oidc, { disableTeamCreation: true });
  await signIn(platform, peer);
  await platform.guarded.platform.patch('users', 'ann', ({ spec }) => {
    spec.groups = ['by-hand'];
  });
  peer.account = { ...ANN, claims: { ...ANN.claims, groups: ['ops'] } };
  await signIn(platform, peer);
  expect(userSpec(platform)).toMatchObject({ ssoGroups: ['ops'], groups: ['by-hand'] });
  peer.account = { ...ANN, claims: { ...ANN.claims, groups: [] } };
  await signIn(platform, peer);
  expect(userSpec(platform)).toMatchObject({ groups: ['by-hand'] });
  expect(userSpec(platform)).not.toHaveProperty('ssoGroups');
});

describe('admission of users, and their names', () => {
  // covers: auth.disableTeamCreation auth.disableUserCreation
  test('nothing is made that the configuration does not want', async () => {
    const [platform, peer] = await open(
      { groupsClaim: 'groups', scopes: ['groups'] },
      { disableUserCreation: true, disableTeamCreation: true },
    );
    const refused = await signIn(platform, peer);
    expect(refused.answer.statusCode).toBe(403);
    expect(refused.browser.session).toBeUndefined();
    expect(platform.guarded.platform.names('users')).toEqual([]);
    await platform.guarded.give(
      object('User', 'somebody', { spec: { connector: 'oidc', subject: 'ann-1' } }),
    );
    const { browser } = await signIn(platform, peer);
    expect((await browser.get('/auth/session')).json()).toMatchObject({ user: 'somebody' });
    expect(platform.guarded.platform.names('teams')).toEqual([]);
    expect(platform.log.join('')).toContain('user-creation-disabled');
  });

  test('a name or a mail address of another user takes nothing over', async () => {
    const [platform, peer] = await open();
    await platform.guarded.give(
      object('User', 'ann', { spec: { email: 'ann@example.com', groups: ['admins'] } }),
      object('User', 'other', { spec: { connector: 'saml', subject: 'ann-1' } }),
    );
    const { browser } = await signIn(platform, peer);
    const { user, groups } = (await browser.get('/auth/session')).json();
    expect(user).toMatch(/^ann-[0-9a-f]{32}$/);
    expect(groups).not.toContain('admins');
  });

  test('a name that something is granted to is no user’s to take', async () => {
    const [platform, peer] = await open();
    const rbac = 'rbac.authorization.k8s.io';
    await platform.guarded.give(
      object('ClusterRole', 'all', {
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      }),
      object('ClusterRoleBinding', 'all', {
        roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'all' },
        subjects: [{ apiGroup: rbac, kind: 'User', name: 'ann' }],
      }),
    );
    const { browser } = await signIn(platform, peer);
    expect((await browser.get('/auth/session')).json().user).toMatch(/^ann-/);
  });

  test('a member that a team names already is no user’s to become', async () => {
    const [platform, peer] = await open();
    await platform.guarded.give(object('Team', 'ops', { spec: { users: ['ann'] } }));
    const { browser } = await signIn(platform, peer);
    expect((await browser.get('/auth/session')).json().user).toMatch(/^ann-/);
  });

  test('a user that is disabled does not get in, and nothing is written for it', async () => {
    const [platform, peer] = await open({ groupsClaim: 'groups', scopes: ['groups'] });
    await platform.guarded.give(
      object('User', 'ann', { spec: { connector: 'oidc', subject: 'ann-1', disabled: true } }),
    );
    const before = platform.subjects();
    const { answer } = await signIn(platform, peer);
    expect(answer.statusCode).toBe(403);
    expect(platform.subjects()).toEqual(before);
    expect(loginKeys(platform)).toEqual([]);
  });

  test('two users with one subject are a mistake that admits no user', async () => {
    const [platform, peer] = await open();
    const spec = { connector: 'oidc', subject: 'ann-1' };
    await platform.guarded.give(object('User', 'a', { spec }), object('User', 'b', { spec }));
    expect((await signIn(platform, peer)).answer.statusCode).toBe(403);
  });

  test('a team of the name is not taken over for a group', async () => {
    const [platform, peer] = await open({ groupsClaim: 'groups', scopes: ['groups'] });
    await signIn(platform, peer);
    const [name = ''] = platform.guarded.platform.names('teams');
    await platform.guarded.platform.patch('teams', name, ({ spec }) => {
      spec.groups = ['another'];
    });
    const { browser } = await signIn(platform, peer);
    const { groups } = (await browser.get('/auth/session')).json();
    expect(groups).not.toContain(`gitplane:team:${name}`);
  });

  // covers: auth.groupsFilters
  test('groups that no filter wants are not saved, and keep no user out', async () => {
    const oidc = { groupsClaim: 'groups', scopes: ['profile', 'groups'], groups: ['dev'] };
    const [platform, peer] = await open(oidc, { groupsFilters: ['^ops-', '(?i)^QA$'] });
    const claims = { ...ANN.claims, groups: ['dev', 'ops-eu', 'qa', 'devops-x'] };
    peer.account = { ...ANN, claims };
    const { answer } = await signIn(platform, peer);
    expect(answer.statusCode).toBe(303);
    expect(userSpec(platform)?.['ssoGroups']).toEqual(['ops-eu', 'qa']);
  });
});

// covers: auth.connectors auth.connectors[].id auth.connectors[].oidc auth.connectors[].oidc.{issuerUrl,clientId,clientSecret,groupsClaim,groupsPrefix,scopes,usernamePrefix}
test('a second connector is another provider with users of its own', async () => {
  const [platform, peer] = await open();
  const second = {
    groupsClaim: 'groups',
    groupsPrefix: 'two:',
    usernamePrefix: 'two:',
    scopes: ['profile', 'groups'],
  };
  platform.configure({
    auth: { oidc: client(peer), connectors: [{ id: 'second', oidc: client(peer, second) }] },
  });
  const [one, two] = [await signIn(platform, peer), await signIn(platform, peer, { id: 'second' })];
  expect((await one.browser.get('/auth/session')).json().user).toBe('ann');
  expect((await two.browser.get('/auth/session')).json().user).toBe('two-ann');
  expect(userSpec(platform, 'two-ann')).toMatchObject({
    connector: 'second',
    ssoGroups: ['two:dev', 'two:system:masters'],
  });
  expect(two.sent.searchParams.get('redirect_uri')).toBe(
    'https://platform.example/auth/second/callback',
  );
});

// covers: auth.oidc.getUserInfo auth.connectors[].oidc.getUserInfo
test('claims that are not in the ID token come from UserInfo', async () => {
  const peer = await startOidcPeer({ configuration: { conformIdTokenClaims: true } });
  peer.account = ANN;
  const platform = await openSignInPlatform();
  const oidc = { groupsClaim: 'groups', scopes: ['email', 'profile', 'groups'] };
  platform.configure({ auth: { oidc: client(peer, oidc) } });
  await signIn(platform, peer);
  expect(userSpec(platform, 'ann-1')).not.toHaveProperty('ssoGroups');
  platform.configure({ auth: { oidc: client(peer, { ...oidc, getUserInfo: true }) } });
  await signIn(platform, peer);
  expect(userSpec(platform, 'ann-1')).toMatchObject({ ssoGroups: ['dev'] });
});

// covers: auth.oidc.postLogoutRedirectURI auth.connectors[].oidc.postLogoutRedirectURI
test('signing out ends the session here, and goes on to the provider', async () => {
  const [platform, peer] = await open({ postLogoutRedirectURI: 'https://platform.example/bye' });
  const { browser } = await signIn(platform, peer);
  const answer = await browser.get('/auth/oidc/logout', { 'sec-fetch-site': 'same-origin' });
  const url = new URL(String(answer.headers.location));
  expect(url.origin).toBe(peer.issuer);
  expect(url.searchParams.get('post_logout_redirect_uri')).toBe('https://platform.example/bye');
  expect(url.searchParams.get('id_token_hint')).toMatch(/^eyJ/);
  expect(loginKeys(platform)).toEqual([]);
  platform.configure({ auth: { oidc: client(peer) } });
  const stranger = await platform.browser().get('/auth/oidc/logout');
  expect(stranger.headers.location).toMatch(/^\/login(\?|$)/);
});

// covers: auth.oidc.resource auth.connectors[].oidc.resource
test('the resource goes to the token endpoint', async () => {
  const [platform, peer] = await open({ resource: 'https://api.example/' });
  const browser = platform.browser();
  const begun = await browser.get('/auth/oidc/login');
  const back = await peer.signIn(String(begun.headers.location));
  await browser.get(back.pathname + back.search);
  expect(peer.tokenRequests[0]?.body.get('resource')).toBe('https://api.example/');
});

test('a public client has no secret, and a provider that wants it in the form gets it there', async () => {
  const publicPeer = await startOidcPeer({
    client: { token_endpoint_auth_method: 'none', client_secret: undefined },
  });
  publicPeer.account = ANN;
  const platform = await openSignInPlatform();
  platform.configure({ auth: { oidc: client(publicPeer, { clientSecret: '' }) } });
  expect((await signIn(platform, publicPeer)).answer.statusCode).toBe(303);
  expect(publicPeer.tokenRequests[0]?.authorization).toBe('');
  const formPeer = await startOidcPeer({
    client: { token_endpoint_auth_method: 'client_secret_post' },
    configuration: { clientAuthMethods: ['client_secret_post'] },
  });
  formPeer.account = ANN;
  platform.configure({ auth: { oidc: client(formPeer) } });
  expect((await signIn(platform, formPeer)).answer.statusCode).toBe(303);
  expect(formPeer.tokenRequests[0]?.body.get('client_secret')).toBe(CLIENT_SECRET);
});

describe('certificates', () => {
  let authority = { keyPem: '', certificatePem: '' };
  let other = '';
  let tls = { key: '', cert: '' };

  beforeAll(async () => {
    const validity = { from: Date.now() - 60_000, until: Date.now() + 3_600_000 };
    const keyPem = await newKeyPem();
    authority = { keyPem, certificatePem: await authorityCertificate(keyPem, 'CA', validity) };
    other = await authorityCertificate(await newKeyPem(), 'Other CA', validity);
    const key = await newKeyPem();
    const request = { keyPem: key, names: ['127.0.0.1'], validity };
    tls = { key, cert: await serverCertificate(authority, request) };
  });

  // covers: auth.oidc.caFile auth.connectors[].oidc.caFile auth.oidc.insecureCa auth.connectors[].oidc.insecureCa
  test('a provider with a certificate of its own is trusted by its file, which is read again, or not at all', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gitplane-ca-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, authority.certificatePem);
    const peer = await startOidcPeer({ tls });
    peer.account = ANN;
    const platform = await openSignInPlatform();
    const login = async (oidc: object) => {
      platform.configure({ auth: { oidc: client(peer, oidc) } });
      return await platform.browser().get('/auth/oidc/login');
    };
    expect((await login({})).statusCode).toBe(503);
    expect((await login({ caFile: join(folder, 'missing.pem') })).statusCode).toBe(503);
    expect((await login({ caFile })).statusCode).toBe(303);
    expect((await signIn(platform, peer)).answer.statusCode).toBe(303);
    const browser = platform.browser();
    const begun = await browser.get('/auth/oidc/login');
    const back = await peer.signIn(String(begun.headers.location));
    writeFileSync(caFile, `${other}\n`);
    expect((await browser.get(back.pathname + back.search)).statusCode).toBe(502);
    expect(platform.log.join('')).not.toContain('insecureCa');
    expect((await login({ insecureCa: true })).statusCode).toBe(303);
    expect((await signIn(platform, peer)).answer.statusCode).toBe(303);
    expect(platform.log.join('')).toContain('insecureCa');
  });
});
