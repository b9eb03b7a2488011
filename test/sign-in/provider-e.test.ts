/** providerE against a server that answers as Rancher does. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createProviderE, type ProviderEConfig } from '../../src/sign-in/connectors/provider-e.ts';
import { type FakeContext, fakeContext } from '../support/providers/fake-provider.ts';
import { type Rancher, startRancher } from '../support/providers/rancher.ts';
import { serverTrust } from '../support/providers/server-trust.ts';
import { refreshed, refusal } from '../support/providers/sign-in.ts';

const TOKEN = 'token-abcde:anna-s3cret';
const OWN = 'token-platform:own-s3cret';
const HOST = 'rancher.example.com';
const never = new AbortController().signal;

let rancher: Rancher;
let context: FakeContext;
const open: ReturnType<typeof createProviderE>[] = [];

beforeAll(async () => {
  rancher = await startRancher();
});
afterAll(() => rancher.close());

beforeEach(() => {
  context = fakeContext({ [`https://${HOST}`]: rancher.origin });
  rancher.override = undefined;
  rancher.pageSize = 1000;
  rancher.publicHost = HOST;
  rancher.seen.splice(0);
  rancher.users.clear();
  rancher.users.set(TOKEN, {
    ...{ id: 'u-anna', username: 'anna', name: 'Anna Example', enabled: true },
    groups: ['github_team://1', 'activedirectory_group://CN=dev,DC=corp'],
  });
  rancher.users.set(OWN, { id: 'user-robot', isAdmin: true });
});

afterEach(async () => {
  for (const connector of open.splice(0)) await connector.close?.();
});

function connectorOf(block: ProviderEConfig = {}) {
  const connector = createProviderE('providerE', { host: HOST, ...block }, context);
  open.push(connector);
  return connector;
}

// covers: auth.providerE.host
test('a token says whose it is, and is forgotten', async () => {
  const identity = await connectorOf({ bearerToken: OWN }).verify(TOKEN, never);

  expect(identity).toEqual({
    ...{ userId: 'u-anna', username: 'Anna Example', preferredUsername: 'anna' },
    emailVerified: false,
    groups: ['github_team://1', 'activedirectory_group://CN=dev,DC=corp'],
    extraClaims: {},
  });
  expect(rancher.seen.map(({ path, query }) => `${path}?${query.toString()}`)).toEqual([
    ...['/v3/users?me=true', '/v3/principals?'],
  ]);
  for (const { headers } of rancher.seen) expect(headers['authorization']).toBe(`Bearer ${TOKEN}`);
  expect([...context.asked]).toEqual([`https://${HOST}`]);
});

test('principals on later pages count', async () => {
  rancher.pageSize = 1;

  const identity = await connectorOf().verify(TOKEN, never);

  expect(identity.groups).toHaveLength(2);
  expect(rancher.seen.filter(({ path }) => path === '/v3/principals')).toHaveLength(3);
});

test('groups that one is not in are none of ones own', async () => {
  rancher.override = ({ path }) =>
    path === '/v3/principals'
      ? {
          json: {
            data: [
              { id: 'github_team://9', principalType: 'group' },
              { id: 'github_team://10', principalType: 'group', memberOf: false },
              { id: 'github_user://1', principalType: 'user', memberOf: true },
            ],
          },
        }
      : undefined;

  expect((await connectorOf().verify(TOKEN, never)).groups).toEqual(['github_team://9']);
});

test('a token goes to no other host than the configured one', async () => {
  rancher.override = ({ path }) =>
    path === '/v3/principals'
      ? { json: { data: [], pagination: { next: 'https://evil.example/v3/principals' } } }
      : undefined;

  expect(await refusal(connectorOf().verify(TOKEN, never))).toMatchObject({
    reason: 'foreign-link',
  });
  rancher.override = () => ({ status: 302, headers: { location: 'https://evil.example' } });
  await refusal(connectorOf().verify(TOKEN, never));

  expect([...context.asked]).toEqual([`https://${HOST}`]);
});

test.each([
  ['that nobody knows', 'token-x:unknown-s3cret', 'bad-token'],
  ['that is empty', '', 'bad-token'],
  ['with a line break', 'token-abcde:anna-s3cret\r\nhost: evil', 'bad-token'],
  ['that has no end', 'a'.repeat(100_000), 'bad-token'],
])('a token %s admits no user', async (_, token, reason) => {
  expect(await refusal(connectorOf().verify(token, never))).toMatchObject({ reason, code: 403 });
});

test.each<[string, object, string]>([
  ['nobody', { data: [] }, 'unexpected-answer'],
  ['more than one', { data: [{ id: 'u-1', me: true }, { id: 'u-2' }] }, 'unexpected-answer'],
  ['somebody else', { data: [{ id: 'u-1', me: false }] }, 'unexpected-answer'],
  ['somebody without an id', { data: [{ username: 'x' }] }, 'unexpected-answer'],
  ['somebody who is disabled', { data: [{ id: 'u-1', enabled: false }] }, 'not-active'],
])('an answer about %s admits no user', async (_, json, reason) => {
  rancher.override = ({ path }) => (path === '/v3/users' ? { json } : undefined);

  expect((await refusal(connectorOf().verify(TOKEN, never))).reason).toBe(reason);
});

test('a connector without a host sends no request', async () => {
  const error = await refusal(connectorOf({ host: '' }).verify(TOKEN, never));

  expect(error.reason).toBe('not-configured');
  expect(rancher.seen).toEqual([]);
});

// covers: auth.providerE.bearerToken
test('the key of the platform asks in the background whether an account is still there', async () => {
  const connector = connectorOf({ bearerToken: OWN });
  const known = await connector.verify(TOKEN, never);
  rancher.seen.splice(0);

  const { identity } = await refreshed(connector, known);

  expect(identity).toEqual(known);
  expect(rancher.seen.map(({ path }) => path)).toEqual(['/v3/users/u-anna']);
  expect(rancher.seen[0]?.headers['authorization']).toBe(`Bearer ${OWN}`);
});

test.each<[string, () => unknown, object]>([
  [
    'was disabled',
    () => rancher.users.set(TOKEN, { id: 'u-anna', enabled: false }),
    { reason: 'not-active', isFinal: true },
  ],
  ['is gone', () => rancher.users.delete(TOKEN), { reason: 'not-active', isFinal: true }],
  [
    'may not be asked about',
    () => rancher.users.set(OWN, { id: 'user-robot' }),
    { reason: 'client-refused', isFinal: false },
  ],
  ['is asked about with a key that ended', () => rancher.users.delete(OWN), { isFinal: false }],
])('an account that %s', async (_, change, expected) => {
  const connector = connectorOf({ bearerToken: OWN });
  const known = await connector.verify(TOKEN, never);
  change();

  expect(await refusal(refreshed(connector, known))).toMatchObject(expected);
});

test('a connector without a key of the platform sends no request', () => {
  expect(connectorOf().refresh).toBeUndefined();
});

// covers: auth.providerE.insecure
test.each([
  [true, 'u-anna'],
  [false, 'provider-unreachable'],
])(
  'a certificate nobody signed is taken where the endpoint is insecure: %s',
  async (insecure, expected) => {
    const trust = await serverTrust();
    const secure = await startRancher(trust);
    secure.users.set(TOKEN, { id: 'u-anna' });
    const { http: _led, ...plain } = context;
    const host = new URL(secure.origin).host;
    const connector = createProviderE('providerE', { host, insecure }, plain);
    open.push(connector);
    try {
      const attempt = connector.verify(TOKEN, never);
      if (insecure) expect((await attempt).userId).toBe(expected);
      else expect((await refusal(attempt)).reason).toBe(expected);
      expect(context.warnings).toHaveLength(insecure ? 1 : 0);
    } finally {
      await secure.close();
    }
  },
);
