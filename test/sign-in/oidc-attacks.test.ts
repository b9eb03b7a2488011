/**
 * What must not sign anybody in through an OpenID provider (reference: identity, sections 0, 1.1, 1.8
 * and 7), and claims that are not as they should be.
 */
import { createHash, createHmac, createPublicKey, type webcrypto } from 'node:crypto';
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { type Claims, identityOf, mergedClaims } from '../../src/sign-in/connectors/oidc-claims.ts';
import { ROGUE_CLIENT, type RogueProvider, startRogueProvider } from '../support/rogue-provider.ts';
import {
  type Browser,
  openSignInPlatform,
  type SignInPlatform,
} from '../support/sign-in-platform.ts';

interface Setup {
  readonly platform: SignInPlatform;
  readonly provider: RogueProvider;
  configure(oidc?: object): void;
}

async function open(oidc: object = {}): Promise<Setup> {
  const provider = await startRogueProvider();
  const platform = await openSignInPlatform();
  const configure = (changes: object = {}): void => {
    const { issuer: issuerUrl } = provider;
    const block = { issuerUrl, clientId: ROGUE_CLIENT, clientSecret: 's', ...changes };
    platform.configure({ auth: { oidc: block, disableTeamCreation: true } });
  };
  configure(oidc);
  return { platform, provider, configure };
}

/** Begins, and comes back with changes of the query. */
async function attempt(
  { platform, provider }: Setup,
  changes: Record<string, string | undefined> = {},
  browser = platform.browser(),
): Promise<{ code: number; browser: Browser; body: string; user: string | undefined }> {
  const begun = await browser.get('/auth/oidc/login');
  expect(begun.statusCode, begun.body).toBe(303);
  const url = provider.callback(String(begun.headers.location), changes);
  const answer = await browser.get(url);
  const session = browser.session === undefined ? undefined : await browser.get('/auth/session');
  return { code: answer.statusCode, browser, body: answer.body, user: session?.json().user };
}

/** Nothing came of it: no session, no user, no key. */
function expectNothing({ platform }: Setup, browser: Browser, what?: string): void {
  expect(browser.session, what).toBeUndefined();
  expect(platform.guarded.platform.names('users'), what).toEqual([]);
  expect(platform.guarded.platform.names('ownedaccesskeys'), what).toEqual([]);
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a token that is right signs in, so that those below are refused for what is wrong with them', async () => {
  const setup = await open();
  expect(await attempt(setup)).toMatchObject({ code: 303, user: 'ann' });
});

test('an ID token with anything wrong signs no user in', async () => {
  const setup = await open();
  const { provider } = setup;
  const { privateKey: foreign, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const foreignJwk = await exportJWK(publicKey);
  const spki = await exportSPKI(
    (await importJWK(provider.publicJwk, 'RS256')) as webcrypto.CryptoKey,
  );
  const now = Math.floor(Date.now() / 1000);
  const sign =
    (header: object, key = provider.key) =>
    async (claims: object) =>
      await new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', ...header }).sign(key);
  const hmac = (secret: string) => (claims: object) => {
    const text = `${encoded({ alg: 'HS256', kid: 'k1' })}.${encoded(claims)}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const cases: Record<string, { claims?: object; make?: RogueProvider['makeToken'] }> = {
    'no signature': { make: (claims) => `${encoded({ alg: 'none' })}.${encoded(claims)}.` },
    'no signature, by another spelling': {
      make: (claims) => `${encoded({ alg: 'None', kid: 'k1' })}.${encoded(claims)}.`,
    },
    'a MAC with the public key': { make: hmac(spki) },
    'a MAC with the client secret': { make: hmac('s') },
    'the key of somebody else': { make: sign({ kid: 'k1' }, foreign) },
    'a key that it brings along': { make: sign({ jwk: foreignJwk }, foreign) },
    'a key that it says where to find': {
      make: sign({ jku: 'http://127.0.0.1:1/jwks', kid: 'k1' }, foreign),
    },
    'another text than was signed': {
      make: async (claims) => {
        const [head, , signature] = (await sign({ kid: 'k1' })(claims)).split('.');
        return `${head}.${encoded({ ...claims, sub: 'admin' })}.${signature}`;
      },
    },
    'another issuer': { claims: { iss: 'https://evil.example' } },
    'the issuer with a slash more': { claims: { iss: `${provider.issuer}/x` } },
    'another audience': { claims: { aud: 'other-client' } },
    'no audience': { claims: { aud: undefined } },
    'several audiences and no authorized party': { claims: { aud: [ROGUE_CLIENT, 'other'] } },
    'another authorized party': { claims: { azp: 'other-client' } },
    'us among several, asked for by another': {
      claims: { aud: [ROGUE_CLIENT, 'other'], azp: 'other' },
    },
    'another nonce': { claims: { nonce: 'another' } },
    'no nonce': { claims: { nonce: undefined } },
    'a past': { claims: { iat: now - 7200, exp: now - 3600 } },
    'a future': { claims: { nbf: now + 3600 } },
    'a beginning an hour ahead': { claims: { iat: now + 3600, exp: now + 7200 } },
    'a beginning two minutes ahead': { claims: { iat: now + 120 } },
    'no beginning': { claims: { iat: undefined } },
    'the hash of another access token': { claims: { at_hash: 'x'.repeat(22) } },
    'an empty hash of the access token': { claims: { at_hash: '' } },
    'a hash that is no text': { claims: { at_hash: { a: 1 } } },
    'no end': { claims: { exp: undefined } },
    'no subject': { claims: { sub: undefined } },
    'a subject of the platform': { claims: { sub: 'gitplane:user:admin' } },
    'a subject of the system': { claims: { sub: 'system:admin' } },
    'a name of the system': { claims: { name: 'system:admin' } },
  };
  for (const [what, { claims = {}, make }] of Object.entries(cases)) {
    provider.claims = { sub: 'ann-1', name: 'ann', ...claims };
    provider.makeToken = make;
    const { code, browser, body } = await attempt(setup);
    expect(code, what).toBeGreaterThanOrEqual(400);
    expect(body, what).not.toContain('evil.example');
    expectNothing(setup, browser, what);
  }
  expect(createPublicKey(spki).asymmetricKeyType).toBe('rsa');
});

test('a token from a clock that is half a minute ahead, with the right hash, signs in', async () => {
  const setup = await open();
  const digest = createHash('sha256').update('an-access-token').digest();
  setup.provider.claims = {
    sub: 'ann-1',
    name: 'ann',
    iat: Math.floor(Date.now() / 1000) + 30,
    at_hash: digest.subarray(0, 16).toString('base64url'),
  };
  expect(await attempt(setup)).toMatchObject({ code: 303, user: 'ann' });
});

test('a key that the provider withdrew verifies nothing after a minute', async () => {
  const setup = await open();
  const { platform, provider } = setup;
  const fetched = () => provider.requests.filter((path) => path.includes('/jwks')).length;
  for (let i = 0; i < 3; i++) expect((await attempt(setup)).code).toBe(303);
  expect(fetched()).toBe(1);
  const { publicKey } = await generateKeyPair('RS256', { extractable: true });
  provider.keys = [{ ...(await exportJWK(publicKey)), kid: 'k2', alg: 'RS256' }];
  platform.clock.ms += 60_000;
  const { code, browser } = await attempt(setup);
  expect(code).toBeGreaterThanOrEqual(400);
  expect(browser.session).toBeUndefined();
});

test('a token for several that names us as who asked signs in', async () => {
  const setup = await open();
  setup.provider.claims = {
    sub: 'ann-1',
    name: 'ann',
    aud: [ROGUE_CLIENT, 'x'],
    azp: ROGUE_CLIENT,
  };
  expect(await attempt(setup)).toMatchObject({ code: 303, user: 'ann' });
});

test('a callback that is not the answer to what this browser asked signs no user in', async () => {
  const setup = await open();
  const { platform, provider } = setup;
  for (const changes of [
    { state: undefined },
    { state: 'x'.repeat(43) },
    { state: '' },
    { code: undefined },
    { error: 'access_denied', code: undefined },
    { iss: 'https://evil.example' },
  ] as Record<string, string | undefined>[]) {
    const { code, browser } = await attempt(setup, changes);
    expect(code, JSON.stringify(changes)).toBeGreaterThanOrEqual(400);
    expectNothing(setup, browser, JSON.stringify(changes));
  }
  const victim = platform.browser();
  const attacker = platform.browser();
  const begun = await attacker.get('/auth/oidc/login');
  const callback = provider.callback(String(begun.headers.location));
  await victim.get('/auth/oidc/login');
  // Login CSRF: somebody is signed in as the attacker, with a link.
  expect((await victim.get(callback)).statusCode).toBe(400);
  expectNothing(setup, victim);
  // It was taken by that: the attacker's own browser cannot use it any more either.
  expect((await attacker.get(callback)).statusCode).toBe(400);
  expectNothing(setup, attacker);
});

test('a callback is used once, for ten minutes, and at its own connector', async () => {
  const setup = await open();
  const { platform, provider, configure } = setup;
  const browser = platform.browser();
  const begun = await browser.get('/auth/oidc/login');
  const callback = provider.callback(String(begun.headers.location));
  expect((await browser.get(callback)).statusCode).toBe(303);
  expect((await browser.get(callback)).statusCode).toBe(400);
  const late = platform.browser();
  const second = await late.get('/auth/oidc/login');
  platform.clock.ms += 10 * 60_000;
  expect((await late.get(provider.callback(String(second.headers.location)))).statusCode).toBe(400);
  const issuerUrl = provider.issuer;
  const block = { issuerUrl, clientId: ROGUE_CLIENT, clientSecret: 's' };
  platform.configure({ auth: { oidc: block, connectors: [{ id: 'other', oidc: block }] } });
  const mixed = platform.browser();
  const third = await mixed.get('/auth/other/login');
  const elsewhere = provider.callback(String(third.headers.location)).replace('other', 'oidc');
  expect((await mixed.get(elsewhere)).statusCode).toBe(400);
  expect(mixed.session).toBeUndefined();
  // What was begun with another configuration is begun anew.
  const old = platform.browser();
  const fourth = await old.get('/auth/oidc/login');
  configure({ groupsClaim: 'groups', groups: ['staff'] });
  expect((await old.get(provider.callback(String(fourth.headers.location)))).statusCode).toBe(400);
  expect(old.session).toBeUndefined();
});

test('the callback accepts only the method of its connector, and no post', async () => {
  const { platform, provider } = await open();
  const browser = platform.browser();
  const begun = await browser.get('/auth/oidc/login');
  const url = new URL(provider.callback(String(begun.headers.location)), 'https://x.example');
  const posted = await browser.post(url.pathname, Object.fromEntries(url.searchParams));
  expect(posted.statusCode).toBe(405);
  expect((await browser.get(url.pathname + url.search)).statusCode).toBe(400);
  expect(browser.session).toBeUndefined();
});

test('an issuer that says it is in every answer must be in it, and be the right one', async () => {
  const setup = await open();
  const { provider, configure } = setup;
  provider.metadata['authorization_response_iss_parameter_supported'] = true;
  configure({ type: 'again' });
  for (const iss of [undefined, 'https://evil.example']) {
    const { browser, code } = await attempt(setup, { iss });
    expect(code).toBeGreaterThanOrEqual(400);
    expectNothing(setup, browser);
  }
  expect(await attempt(setup, { iss: provider.issuer })).toMatchObject({ code: 303 });
});

test('UserInfo of another user, or about the token, changes no user', async () => {
  const setup = await open({ getUserInfo: true });
  const { provider } = setup;
  provider.userInfo = { sub: 'admin', name: 'admin' };
  const other = await attempt(setup);
  expect(other.code).toBeGreaterThanOrEqual(400);
  expectNothing(setup, other.browser);
  const about = { iss: 'x', aud: 'y', azp: 'z', nonce: 'n', nickname: 'annie' };
  provider.userInfo = { sub: 'ann-1', name: 'Ann of UserInfo', ...about };
  expect(await attempt(setup)).toMatchObject({ code: 303, user: 'ann-of-userinfo' });
});

test('nothing of a request comes back in an answer', async () => {
  const setup = await open();
  const script = '<script>alert(1)</script>';
  const { body, browser } = await attempt(setup, { error: script, error_description: script });
  expect(body).not.toContain('<script>alert');
  expect(body).toContain('request-1');
  const strange = await browser.get(`/auth/${encodeURIComponent(script)}/login`);
  expect(strange.body).not.toContain('<script>alert');
  expect(setup.platform.log.join('')).not.toContain('a-code');
});

describe('a provider', () => {
  const login = async ({ platform }: Setup) =>
    (await platform.browser().get('/auth/oidc/login')).statusCode;

  test('a provider in an unexpected state is not used, and the platform goes on', async () => {
    const setup = await open();
    const { provider, platform } = setup;
    const metadata = { ...provider.metadata };
    const cases: [string, (p: RogueProvider) => void][] = [
      [
        'leads elsewhere',
        (p) => {
          p.intercept = (_request, response) => {
            response.writeHead(302, { location: `${p.issuer}/elsewhere` }).end();
            return true;
          };
        },
      ],
      [
        'says it is somebody else',
        (p) => {
          p.metadata['issuer'] = 'https://evil.example';
        },
      ],
      [
        'says no end of things',
        (p) => {
          p.metadata['extra'] = 'x'.repeat(2 * 1024 * 1024);
        },
      ],
      [
        'takes no algorithm that proves anything',
        (p) => {
          p.metadata['id_token_signing_alg_values_supported'] = ['none', 'HS256'];
        },
      ],
      [
        'answers with an error',
        (p) => {
          p.intercept = (_request, response) => {
            response.writeHead(500).end('<script>alert(1)</script>');
            return true;
          };
        },
      ],
      [
        'answers with something else',
        (p) => {
          p.intercept = (_request, response) => {
            response.writeHead(200, { 'content-type': 'text/html' }).end('hello');
            return true;
          };
        },
      ],
    ];
    for (const [what, change] of cases) {
      Object.assign(provider.metadata, metadata, { extra: undefined });
      provider.intercept = () => false;
      change(provider);
      setup.configure({ type: what });
      expect(await login(setup), what).toBe(503);
      expect((await platform.browser().get('/auth/session')).statusCode).toBe(401);
    }
    expect(platform.log.join('')).toContain('cannot be used');
  });

  test('is not asked in plaintext, unless it is on this machine', async () => {
    const setup = await open();
    setup.configure({ issuerUrl: 'http://idp.example.com' });
    expect(await login(setup)).toBe(503);
    expect(setup.platform.log.join('')).toContain('HTTPS');
  });

  test('a provider whose token endpoint refuses, or answers nonsense, signs no user in', async () => {
    const setup = await open();
    const answers: [number, string, string][] = [
      [400, 'application/json', '{"error":"invalid_grant","error_description":"<b>secret</b>"}'],
      [500, 'application/json', '{}'],
      [200, 'application/json', '{"access_token":"x","token_type":"bearer"}'],
      [200, 'application/json', '[]'],
      [200, 'text/html', 'x'],
      [302, 'text/html', ''],
    ];
    for (const [status, type, body] of answers) {
      setup.provider.intercept = (request, response) => {
        if (!request.url?.startsWith('/token')) return false;
        response.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(body);
        return true;
      };
      const { code, browser, body: shown } = await attempt(setup);
      expect(code, body).toBeGreaterThanOrEqual(400);
      expect(shown).not.toContain('<b>');
      expectNothing(setup, browser);
    }
    expect(setup.platform.log.join('')).not.toContain('secret');
  });
});

describe('claims', () => {
  // covers: auth.oidc.groups auth.oidc.groupsClaim auth.connectors[].oidc.groups
  test('membership is required, in any form of the claim', async () => {
    const setup = await open({ groupsClaim: 'roles', groups: ['staff', 'ops'] });
    const verdicts: [unknown, boolean][] = [
      ['staff', true],
      [['x', 'ops'], true],
      [[{ name: 'ops' }], true],
      ['x', false],
      [['Staff'], false],
      [[], false],
      [undefined, false],
      [null, false],
      [['staff', 5], false],
      [{ staff: true }, false],
      ['staff,ops', false],
    ];
    for (const [roles, isIn] of verdicts) {
      setup.provider.claims = { sub: 'ann-1', name: 'ann', roles };
      const { browser } = await attempt(setup);
      expect(browser.session !== undefined, JSON.stringify(roles)).toBe(isIn);
    }
    setup.provider.claims = {
      ...{ sub: 'ann-1', _claim_names: { roles: 'src1' } },
      _claim_sources: { src1: { endpoint: `${setup.provider.issuer}/ssrf` } },
    };
    const { browser } = await attempt(setup);
    expect(browser.session).toBeUndefined();
    expect(setup.provider.requests.join()).not.toContain('ssrf');
    expect(setup.platform.log.join('')).toContain('too many groups');
  });

  // covers: auth.oidc.usernameClaim auth.connectors[].oidc.usernameClaim
  test('users are known by the claim that the configuration names, and an address only when it was verified', async () => {
    const setup = await open({ usernameClaim: 'email' });
    const verdicts: [object, boolean][] = [
      [{ email: 'a@b.example', email_verified: true }, true],
      [{ email: 'a@b.example', email_verified: false }, false],
      [{ email: 'a@b.example', email_verified: 'true' }, false],
      [{ email: 'a@b.example' }, false],
      [{ email_verified: true }, false],
    ];
    for (const [claims, isIn] of verdicts) {
      setup.provider.claims = { sub: 'ann-1', name: 'ann', ...claims };
      const { browser } = await attempt(setup);
      expect(browser.session !== undefined, JSON.stringify(claims)).toBe(isIn);
    }
    const spec = () => setup.platform.guarded.platform.find('users', 'ann')?.object.spec;
    expect(spec()?.['subject']).toBe('a@b.example');
    setup.configure({ usernameClaim: 'oid' });
    setup.provider.claims = { sub: 'ann-1', name: 'Other', oid: 4711 };
    expect((await attempt(setup)).user).toBe('other');
    expect(setup.platform.guarded.platform.find('users', 'other')?.object.spec?.['subject']).toBe(
      '4711',
    );
  });

  // covers: auth.oidc.preferredUsername auth.oidc.platformUsernameClaim auth.oidc.emailClaim auth.oidc.usernamePrefix auth.oidc.groupsPrefix auth.oidc.allowedExtraClaims
  // covers: auth.connectors[].oidc.{preferredUsername,platformUsernameClaim,emailClaim,allowedExtraClaims,redirectURI}
  // covers: OwnedAccessKey.spec.identity.extraClaims
  test('names, addresses and further claims come from where the configuration says', async () => {
    const setup = await open({
      ...{ preferredUsername: 'nick', platformUsernameClaim: 'login', emailClaim: 'mail' },
      ...{ usernamePrefix: 'idp:', groupsPrefix: 'idp:', groupsClaim: 'groups' },
      allowedExtraClaims: ['dept', 'level', 'tags', 'iss', 'address', 'absent', '__proto__'],
    });
    setup.provider.claims = {
      ...{ sub: 'ann-1', name: 'Ann', preferred_username: 'standard', nick: 'Annie' },
      ...{ login: 'ann.e', mail: 'ann@mail.example', email: 'x@x.example', email_verified: true },
      ...{ dept: 'ops', level: 3, tags: ['a'], address: { street: 'x' }, groups: ['g'] },
    };
    expect((await attempt(setup)).user).toBe('idp-ann-e');
    const { object: user } = setup.platform.guarded.platform.find('users', 'idp-ann-e') ?? {};
    expect(user?.spec).toEqual({
      displayName: 'idp:Annie',
      username: 'idp:ann.e',
      connector: 'oidc',
      subject: 'ann-1',
      email: 'ann@mail.example',
      ssoGroups: ['idp:g'],
      extraClaims: { dept: 'ops', level: 3, tags: ['a'] },
    });
    const [key = ''] = setup.platform.guarded.platform.names('ownedaccesskeys');
    const stored = setup.platform.guarded.platform.find('ownedaccesskeys', key);
    expect(stored?.object.spec?.['identity']).toMatchObject({
      username: 'idp:Ann',
      preferredUsername: 'idp:Annie',
      email: 'ann@mail.example',
      emailVerified: true,
    });
    setup.provider.claims = { sub: 'bob-1', name: 'Bob' };
    expect((await attempt(setup)).code).toBe(403);
  });

  test.each<[string, object, boolean]>([
    ['by email_verified', { email_verified: true }, true],
    ['by a claim of its own', { mail_verified: true }, true],
    ['not against a claim of its own', { mail_verified: false, email_verified: true }, false],
    ['not by a text', { email_verified: 'true' }, false],
    ['not by silence', {}, false],
  ])('an address of another claim is verified %s', async (_title, claims, isVerified) => {
    const setup = await open({ emailClaim: 'mail' });
    setup.provider.claims = { sub: 'ann-1', name: 'ann', mail: 'ann@mail.example', ...claims };
    await attempt(setup);
    const spec = setup.platform.guarded.platform.find('users', 'ann')?.object.spec;

    expect(spec?.['email']).toBe(isVerified ? 'ann@mail.example' : undefined);
  });

  // covers: auth.oidc.scopes auth.connectors[].oidc.scopes
  test('the scopes are those of the configuration, and the one that makes it OpenID', async () => {
    const setup = await open();
    const cases: [object, string, string | null][] = [
      [{}, 'openid email profile', null],
      [{ scopes: [] }, 'openid email profile', null],
      [{ scopes: ['groups'] }, 'openid groups', null],
      [{ scopes: ['openid', 'offline_access'] }, 'openid offline_access', 'consent'],
    ];
    for (const [oidc, scope, prompt] of cases) {
      setup.configure(oidc);
      const begun = await setup.platform.browser().get('/auth/oidc/login');
      const { searchParams } = new URL(String(begun.headers.location));
      expect(searchParams.get('scope')).toBe(scope);
      expect(searchParams.get('prompt')).toBe(prompt);
    }
  });
});

describe('a discovery document of an issuer on the loopback', () => {
  const ENDPOINTS = [
    'authorization_endpoint',
    'token_endpoint',
    'userinfo_endpoint',
    'jwks_uri',
    'end_session_endpoint',
  ];
  const BAD = [
    'http://idp.example/x',
    'http://10.0.0.1/x',
    'http://127.0.0.1.example/x',
    'http://2130706433.example/x',
    'https://169.254.169.254/x',
    'https://[::ffff:169.254.169.254]/x',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '/x',
    '',
  ];
  test.each(ENDPOINTS)(
    'a discovery document whose %s leads elsewhere signs no user in',
    async (name) => {
      const setup = await open({ clientSecret: 'first' });
      const own = setup.provider.metadata[name];
      for (const [i, url] of BAD.entries()) {
        setup.provider.metadata[name] = url;
        setup.configure({ clientSecret: `s${i}` });
        const begun = await setup.platform.browser().get('/auth/oidc/login');
        expect([url, begun.statusCode]).toEqual([url, 503]);
      }
      setup.provider.metadata[name] = own ?? 'https://idp.example/end';
      setup.configure();
      expect((await attempt(setup)).code).toBe(303);
    },
  );
});

describe('a provider that gives too much', () => {
  test.each<[string, unknown]>([
    ['names of algorithms', ['\u001b]0;pwn\u0007'.repeat(50_000)]],
    ['algorithms that are no list', { filter: 'pwn' }],
  ])('leaves %s out of the log of each attempt', async (_what, algorithms) => {
    const setup = await open({ clientSecret: 'first' });
    setup.provider.metadata['id_token_signing_alg_values_supported'] = algorithms;
    setup.configure({ clientSecret: 'second' });
    const begun = await setup.platform.browser().get('/auth/oidc/login');
    expect(begun.statusCode).toBe(503);
    const { log } = setup.platform;
    expect(log.join()).toContain('offers no signature that it alone can make');
    expect(log.join()).not.toContain('pwn');
    expect(Math.max(...log.map((line) => line.length))).toBeLessThan(1000);
  });

  test('an endpoint that is no text, or a long one, is a fault of the provider', async () => {
    const setup = await open({ clientSecret: 'first' });
    const { issuer, metadata } = setup.provider;
    const bad = [[`${issuer}/authorize`], `${issuer}/authorize?${'x'.repeat(900_000)}`];
    for (const [i, endpoint] of bad.entries()) {
      metadata['authorization_endpoint'] = endpoint;
      setup.configure({ clientSecret: `s${i}` });
      const begun = await setup.platform.browser().get('/auth/oidc/login');
      expect(begun.statusCode).toBe(503);
    }
  });

  test('signs no user in with too many groups', async () => {
    const setup = await open({ groupsClaim: 'groups' });
    const groups = Array.from({ length: 20_001 }, (_, at) => `g${at}`);
    setup.provider.claims = { sub: 'ann-1', name: 'ann', groups };
    const { code, browser } = await attempt(setup);
    expect(code).toBe(502);
    expectNothing(setup, browser);
  });

  test('leaves no key with tokens that are too large', async () => {
    const setup = await open();
    setup.provider.tokens = { refresh_token: 'r'.repeat(900_000) };
    const { code, browser } = await attempt(setup);
    expect([code, browser.session]).toEqual([502, undefined]);
    expect(setup.platform.guarded.platform.names('ownedaccesskeys')).toEqual([]);
  });
});

test('an ID token verifies no other address of UserInfo', () => {
  const idToken = { sub: 'ann-1', email: 'ann@x.example', email_verified: true };
  const verified = (userInfo: Claims) =>
    identityOf(mergedClaims(idToken, userInfo), {}, () => undefined).emailVerified;
  expect(verified({ email: 'ann@x.example' })).toBe(true);
  expect(verified({ email: 'root@x.example' })).toBe(false);
  expect(verified({ email: 'root@x.example', email_verified: true })).toBe(true);
});

test('an ID token verifies its address in the letters of UserInfo, and no letter that looks alike', () => {
  const idToken = { sub: 'kim-1', email: 'Kim@X.example', email_verified: true };
  const identity = (email: string) =>
    identityOf(mergedClaims(idToken, { email }), { usernameClaim: 'email' }, () => undefined);
  expect(identity('kim@x.example')).toMatchObject({ emailVerified: true, userId: 'kim@x.example' });
  expect(() => identity('\u212aim@x.example')).toThrow('did not verify');
});

test('an ID token verifies no other address of UserInfo in the claim of the configuration', () => {
  const rules = { emailClaim: 'mail' };
  const verified = (idToken: Claims, userInfo: Claims) =>
    identityOf(mergedClaims(idToken, userInfo, rules.emailClaim), rules, () => undefined)
      .emailVerified;
  const idToken = { sub: 'ann-1', mail: 'ann@x.example', email_verified: true };
  expect(verified(idToken, { mail: 'ann@x.example' })).toBe(true);
  expect(verified(idToken, { mail: 'root@x.example' })).toBe(false);
  expect(verified(idToken, { mail: 'root@x.example', mail_verified: true })).toBe(true);
  expect(verified({ sub: 'ann-1', email_verified: true }, { mail: 'ann@x.example' })).toBe(true);
});

test('a provider that answers neither a discovery nor a login delays no end of the platform', async () => {
  for (const path of ['/.well-known/', '/token']) {
    const setup = await open({ clientSecret: 'first' });
    const asked = new Promise<void>((resolve) => {
      setup.provider.intercept = ({ url = '' }) => {
        if (url.startsWith(path)) resolve();
        return url.startsWith(path);
      };
    });
    setup.configure({ clientSecret: 'second' });
    const login = path === '/token' ? attempt(setup) : undefined;
    await asked;
    const before = performance.now();
    await setup.platform.service.close();
    expect(performance.now() - before).toBeLessThan(7000);
    if (login !== undefined) expect((await login).code).toBe(502);
  }
});
