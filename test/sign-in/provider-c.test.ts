/** providerC against a server that answers as Google does. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ProviderCConfig } from '../../src/config/sections/auth-provider-c.ts';
import type { Connector, ProvidedIdentity } from '../../src/sign-in/connector.ts';
import { createProviderC } from '../../src/sign-in/connectors/provider-c.ts';
import { type FakeContext, fakeContext } from '../support/providers/fake-provider.ts';
import {
  type Google,
  type GoogleUser,
  googleOrigins,
  startGoogle,
} from '../support/providers/google.ts';
import { newIssuer } from '../support/providers/issuer.ts';
import {
  comeBack,
  newTransaction,
  refreshed,
  refusal,
  sentTo,
  signIn,
} from '../support/providers/sign-in.ts';

const ANNA: GoogleUser = {
  ...{ sub: '1093', email: 'anna@corp.example', email_verified: true },
  ...{ name: 'Anna Example', hd: 'corp.example' },
};
const CLIENT = { clientId: 'platform', clientSecret: 'client-s3cret' };

let google: Google;
let context: FakeContext;
let folder: string;
let account: string;
const open: Connector[] = [];

beforeAll(async () => {
  google = await startGoogle();
  folder = mkdtempSync(join(tmpdir(), 'gitplane-google-'));
  account = join(folder, 'account.json');
  writeFileSync(account, JSON.stringify(google.serviceAccount));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await google.close();
});

beforeEach(() => {
  context = fakeContext(googleOrigins(google));
  google.override = undefined;
  google.claims = {};
  google.signer = google.issuer;
  google.leavesOut = [];
  google.directory.clear();
  google.directory.set('anna@corp.example', ['eng@corp.example', 'all@corp.example']);
  google.seen.splice(0);
});

afterEach(async () => {
  for (const connector of open.splice(0)) await connector.close?.();
});

function connectorOf(block: Partial<ProviderCConfig> = {}): Connector {
  const config = { ...CLIENT, scopes: ['profile', 'email'], ...block };
  const connector = createProviderC('x', config, context);
  open.push(connector);
  return connector;
}

const withDirectory = (): Partial<ProviderCConfig> => ({
  serviceAccountFilePath: account,
  adminEmail: google.adminEmail,
});
const asUser = (user: GoogleUser) => (at: URL) => google.grants.authorize(at, user);

// covers: auth.providerC auth.providerC.{clientId,clientSecret,scopes}
// covers: auth.connectors[].providerC auth.connectors[].providerC.{clientId,clientSecret,scopes}
describe('the way there and back', () => {
  test('the browser is sent with state, nonce and PKCE, and asked for a refresh token', async () => {
    const transaction = newTransaction();
    const url = await sentTo(connectorOf(), transaction);

    expect(url.origin).toBe('https://accounts.google.com');
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'platform',
      redirect_uri: 'https://platform.example.com/auth/x/callback',
      scope: 'openid profile email',
      nonce: transaction.nonce,
      access_type: 'offline',
      prompt: 'consent',
      code_challenge_method: 'S256',
    });
    expect(url.searchParams.has('hd')).toBe(false);
  });

  test.each<[string, Partial<ProviderCConfig>, string]>([
    ['are those of the configuration', { scopes: ['profile'] }, 'openid profile'],
    [
      'have the address where the directory is asked',
      { scopes: [], adminEmail: 'a@b' },
      'openid email',
    ],
  ])('scopes %s', async (_, block, expected) => {
    const directory = block.adminEmail === undefined ? {} : withDirectory();
    const url = await sentTo(connectorOf({ ...block, ...directory }));

    expect(url.searchParams.get('scope')).toBe(expected);
  });

  test('an account comes back as its subject', async () => {
    const identity = await signIn(connectorOf(), asUser(ANNA));

    expect(identity).toMatchObject({
      ...{ userId: '1093', username: 'Anna Example' },
      ...{ email: 'anna@corp.example', emailVerified: true, groups: [] },
    });
    expect(JSON.stringify(identity.connectorData)).not.toContain('id_token');
  });

  test('a wrong secret is our mistake, and a code is taken once', async () => {
    const wrong = connectorOf({ clientSecret: 'wrong-s3cret' });
    expect(await refusal(signIn(wrong, asUser(ANNA)))).toMatchObject({ code: 502 });

    const connector = connectorOf();
    const transaction = newTransaction();
    const url = google.grants.authorize(await sentTo(connector, transaction), ANNA);
    await comeBack(connector, transaction, url);
    expect((await refusal(comeBack(connector, transaction, url))).reason).toBe('grant-refused');
  });
});

describe('ID tokens', () => {
  const past = Math.floor(Date.now() / 1000) - 7200;

  test.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'other' }],
    ['several audiences', { aud: ['platform', 'other'] }],
    ['another authorized party', { azp: 'other' }],
    ['another nonce', { nonce: 'x' }],
    ['its time over', { exp: past }],
    ['no end', { exp: undefined }],
    ['a beginning an hour ahead', { iat: past + 3 * 3600, exp: past + 4 * 3600 }],
    ['the hash of another access token', { at_hash: 'x'.repeat(22) }],
    ['no subject', { sub: undefined }],
  ])('a token with %s admits no user', async (_, claims) => {
    google.claims = claims;

    expect(await refusal(signIn(connectorOf(), asUser(ANNA)))).toMatchObject({
      ...{ reason: 'bad-id-token', code: 502 },
    });
  });

  test('a token with the other name of the issuer is good', async () => {
    google.claims = { iss: 'accounts.google.com' };

    expect((await signIn(connectorOf(), asUser(ANNA))).userId).toBe('1093');
  });

  test.each([
    ['another key of the same name', () => newIssuer('key-1')],
    ['a key that nobody published', () => newIssuer('key-2')],
  ])('a token signed with %s admits no user', async (_, make) => {
    google.signer = await make();

    expect((await refusal(signIn(connectorOf(), asUser(ANNA)))).reason).toBe('bad-id-token');
  });

  test.each(['ES256', 'PS256'])(
    'a token signed with %s admits no user, even with a key of the provider',
    async (alg) => {
      const signer = await newIssuer('key-1', alg);
      google.signer = signer;
      google.override = ({ path }) =>
        path === '/oauth2/v3/certs' ? { json: signer.jwks } : undefined;

      expect((await refusal(signIn(connectorOf(), asUser(ANNA)))).reason).toBe('bad-id-token');
    },
  );

  test.each([
    ['no signature', 'e30.e30.'],
    ['no token', ''],
    ['nonsense', 'nonsense-s3cret'],
    [
      'the algorithm none',
      `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"1"}').toString('base64url')}.`,
    ],
  ])('%s admits no user', async (_, idToken) => {
    google.override = ({ path }) =>
      path === '/token'
        ? { json: { access_token: 'x-s3cret', token_type: 'Bearer', id_token: idToken } }
        : undefined;

    expect((await refusal(signIn(connectorOf(), asUser(ANNA)))).reason).toBe('bad-id-token');
  });

  test('keys that cannot be had now are the fault of the provider', async () => {
    google.override = ({ path }) =>
      path === '/oauth2/v3/certs' ? { status: 503, json: {} } : undefined;

    expect(await refusal(signIn(connectorOf(), asUser(ANNA)))).toMatchObject({ code: 502 });
  });
});

// covers: auth.providerC.hostedDomains auth.connectors[].providerC.hostedDomains
describe('hosted domains', () => {
  test.each<[string[], string | null]>([
    [['corp.example'], 'corp.example'],
    [['corp.example', 'other.example'], '*'],
    [[], null],
  ])('%s are a hint to the page of the provider: %s', async (hostedDomains, hint) => {
    const url = await sentTo(connectorOf({ hostedDomains }));

    expect(url.searchParams.get('hd')).toBe(hint);
  });

  test.each<[string, Partial<GoogleUser>, boolean]>([
    ['of the domain', {}, true],
    ['of the domain, however it is written', { hd: 'Corp.Example' }, true],
    ['of another domain', { hd: 'evil.example' }, false],
    ['of none, with an address of the domain', { hd: undefined as never }, false],
    ['of a domain below', { hd: 'sub.corp.example' }, false],
  ])('an account %s', async (_, change, isIn) => {
    const connector = connectorOf({ hostedDomains: ['other.example', 'corp.example'] });
    const attempt = signIn(connector, asUser({ ...ANNA, ...change }));

    if (isIn) expect((await attempt).userId).toBe('1093');
    else expect(await refusal(attempt)).toMatchObject({ reason: 'foreign-domain', code: 403 });
  });

  test.each<[Partial<ProviderCConfig>, number]>([
    [{}, 1],
    [{ hostedDomains: ['corp.example'] }, 0],
    [{ groups: ['eng@corp.example'] }, 0],
  ])('%j is told of %i times', (block, times) => {
    connectorOf(block);

    expect(context.warnings).toHaveLength(times);
  });
});

// covers: auth.providerC.{groups,serviceAccountFilePath,adminEmail}
// covers: auth.connectors[].providerC.{groups,serviceAccountFilePath,adminEmail}
describe('groups of the directory', () => {
  test('are read by the service account as the administrator, at the address of the provider', async () => {
    const identity = await signIn(connectorOf(withDirectory()), asUser(ANNA));

    expect(identity.groups).toEqual(['eng@corp.example', 'all@corp.example']);
    expect([...context.asked]).not.toContain('https://evil.example');
    const asked = google.seen.find(({ path }) => path.startsWith('/admin'));
    expect(asked?.query.get('userKey')).toBe('anna@corp.example');
  });

  test('are not asked for without one', async () => {
    expect((await signIn(connectorOf(), asUser(ANNA))).groups).toEqual([]);
    expect(google.seen.map(({ path }) => path)).not.toContain('/admin/directory/v1/groups');
  });

  test('are all there, on whatever page, with one token for all who sign in', async () => {
    const many = Array.from({ length: 450 }, (_, index) => `g${index}@corp.example`);
    google.directory.set('anna@corp.example', many);
    const connector = connectorOf(withDirectory());

    const [first, second] = [
      await signIn(connector, asUser(ANNA)),
      await signIn(connector, asUser(ANNA)),
    ];

    expect(first.groups).toEqual(many);
    expect(second.groups).toEqual(many);
    expect(google.seen.filter(({ body }) => body.includes('jwt-bearer'))).toHaveLength(1);
  });

  test.each<[string, string[], boolean]>([
    ['a member', ['other@corp.example', 'eng@corp.example'], true],
    ['however it is written', ['ENG@corp.example'], true],
    ['no member', ['other@corp.example'], false],
  ])('let in who is in a listed one: %s', async (_, groups, isIn) => {
    const attempt = signIn(connectorOf({ ...withDirectory(), groups }), asUser(ANNA));

    // The list is who gets in, not what is kept.
    if (isIn) expect((await attempt).groups).toEqual(['eng@corp.example', 'all@corp.example']);
    else expect(await refusal(attempt)).toMatchObject({ reason: 'not-a-member', code: 403 });
  });

  test('admit no user where they cannot be read', async () => {
    const error = await refusal(
      signIn(connectorOf({ groups: ['eng@corp.example'] }), asUser(ANNA)),
    );

    expect(error.reason).toBe('not-a-member');
  });

  test.each<[string, Partial<GoogleUser>]>([
    ['a private account with an address of the domain', { hd: undefined as never }],
    ['an address that is not verified', { email_verified: false }],
    ['an address that says nothing of it', { email_verified: undefined as never }],
    ['no address', { email: undefined as never }],
    ['an address that the directory does not know', { email: 'bo@corp.example' }],
  ])('are none for %s', async (_, change) => {
    const connector = connectorOf(withDirectory());

    expect((await signIn(connector, asUser({ ...ANNA, ...change }))).groups).toEqual([]);
  });

  test('are those of a private account that is in them by its own address', async () => {
    google.directory.set('bo@gmail.com', ['guests@corp.example']);
    const user = { sub: '5', email: 'bo@gmail.com', email_verified: true };

    expect((await signIn(connectorOf(withDirectory()), asUser(user))).groups).toEqual([
      'guests@corp.example',
    ]);
  });

  test.each<[string, () => Partial<ProviderCConfig>]>([
    ['another administrator', () => ({ adminEmail: 'other@corp.example' })],
    ['a file that is not there', () => ({ serviceAccountFilePath: join(folder, 'none.json') })],
    [
      'a file that is no JSON',
      () => {
        const path = join(folder, 'broken.json');
        writeFileSync(path, 'private key s3cret');
        return { serviceAccountFilePath: path };
      },
    ],
    [
      'a key that is none',
      () => {
        const path = join(folder, 'no-key.json');
        writeFileSync(path, JSON.stringify({ ...google.serviceAccount, private_key: 's3cret' }));
        return { serviceAccountFilePath: path };
      },
    ],
  ])('cannot be read with %s, which ends no session', async (_, change) => {
    const connector = connectorOf({ ...withDirectory(), ...change() });

    expect(await refusal(signIn(connector, asUser(ANNA)))).toMatchObject({
      ...{ reason: 'directory-refused', code: 502, isFinal: false },
    });
  });

  test.each([401, 403])(
    'cannot be read where the directory answers %i, until it does not',
    async (status) => {
      const connector = connectorOf(withDirectory());
      google.override = ({ path }) =>
        path.startsWith('/admin') ? { status, json: { error: { code: status } } } : undefined;
      expect(await refusal(signIn(connector, asUser(ANNA)))).toMatchObject({ isFinal: false });
      google.override = undefined;

      expect((await signIn(connector, asUser(ANNA))).groups).toHaveLength(2);
    },
  );
});

describe('a later refresh', () => {
  const signedIn = async (block: Partial<ProviderCConfig> = {}) => {
    const connector = connectorOf(block);
    return { connector, known: await signIn(connector, asUser(ANNA)) };
  };

  test('the grant is renewed and the groups are read again', async () => {
    const { connector, known } = await signedIn(withDirectory());
    google.directory.set('anna@corp.example', ['all@corp.example']);

    const { identity, kept } = await refreshed(connector, known);

    expect(identity.groups).toEqual(['all@corp.example']);
    expect(kept[0]?.['refreshToken']).not.toBe(known.connectorData?.['refreshToken']);
    expect(identity.connectorData).toEqual(kept[0]);
  });

  test('a claim that is not repeated stays as it was', async () => {
    const { connector, known } = await signedIn({
      ...withDirectory(),
      hostedDomains: ['corp.example'],
    });
    google.leavesOut = ['name', 'email', 'email_verified', 'hd'];

    const { identity } = await refreshed(connector, known);

    expect({ ...identity, connectorData: {} }).toEqual({ ...known, connectorData: {} });
  });

  test.each<[string, (known: ProvidedIdentity) => void, object]>([
    ['the grant was taken back', () => google.grants.revoke({ refresh: true }), { isFinal: true }],
    [
      'it is about another account',
      () => {
        google.claims = { sub: '2' };
      },
      { reason: 'another-account', isFinal: true },
    ],
    [
      'the provider fails',
      () => {
        google.override = () => ({ status: 500, json: {} });
      },
      { isFinal: false },
    ],
  ])('%s', async (_, change, expected) => {
    const { connector, known } = await signedIn();
    change(known);

    expect(await refusal(refreshed(connector, known))).toMatchObject(expected);
  });

  test('a domain that is no longer let in is out', async () => {
    const { known } = await signedIn();
    google.leavesOut = ['hd'];

    const error = await refusal(refreshed(connectorOf({ hostedDomains: ['new.example'] }), known));

    expect(error).toMatchObject({ reason: 'foreign-domain', isFinal: true });
  });
});
