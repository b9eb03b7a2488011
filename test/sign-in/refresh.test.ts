/** What providers take back is gone soon, and what they cannot say now keeps for a day. */
import { beforeAll, describe, expect, test } from 'vitest';
import { valueAt } from '../../src/apimachinery/object.ts';
import { hashPassword } from '../../src/auth/identity/password.ts';
import type { Connector, ProvidedIdentity } from '../../src/sign-in/connector.ts';
import { SignInError } from '../../src/sign-in/sign-in-error.ts';
import { object } from '../support/guarded-platform.ts';
import {
  type Browser,
  openSignInPlatform,
  type SignInPlatform,
} from '../support/sign-in-platform.ts';

const HOUR_MS = 3_600_000;
const ANN: ProvidedIdentity = {
  ...{ userId: '42', username: 'Ann', preferredUsername: 'ann', emailVerified: false },
  groups: ['dev'],
  extraClaims: {},
  connectorData: { refreshToken: 'secret-token-1' },
};

interface Setup {
  readonly platform: SignInPlatform;
  readonly browser: Browser;
  /** Uses the session, and waits for what that begins. */
  use(): Promise<number>;
  spec(): Record<string, unknown> | undefined;
  keys(): string[];
}

/** Signs in with a connector that refreshes as told. */
async function signedIn(refresh: Connector['refresh']): Promise<Setup> {
  const connector: Connector = {
    ...{ id: 'oidc', type: 'oidc', callbackMethod: 'GET' },
    begin: async ({ state }) => ({ kind: 'redirect', url: `https://idp.example/?state=${state}` }),
    complete: async () => ANN,
    ...(refresh === undefined ? {} : { refresh }),
  };
  const platform = await openSignInPlatform({ factories: { oidc: async () => connector } });
  platform.configure({
    auth: { oidc: { issuerUrl: 'https://idp.example' }, disableTeamCreation: true },
  });
  const browser = platform.browser();
  const begun = await browser.get('/auth/oidc/login');
  const state = new URL(String(begun.headers.location)).searchParams.get('state');
  const answer = await browser.get(`/auth/oidc/callback?state=${state}`);
  expect(answer.statusCode, answer.body).toBe(303);
  const { platform: objects } = platform.guarded;
  return {
    platform,
    browser,
    use: async () => {
      const { statusCode } = await browser.get('/who');
      await platform.service.refresher.idle();
      return statusCode;
    },
    spec: () => objects.find('users', 'ann')?.object.spec,
    keys: () => objects.names('ownedaccesskeys'),
  };
}

const transient = (): SignInError => new SignInError('down', { reason: 'down', code: 503 });

// covers: OwnedAccessKey.spec.identity.identityRefresh
test('a provider is asked when the identity is half an hour old and the key is used, and not before', async () => {
  let asked = 0;
  const { platform, use, keys } = await signedIn(async (known) => {
    asked += 1;
    return { ...known, groups: [...known.groups] };
  });
  await use();
  platform.clock.ms += HOUR_MS / 2 - 1000;
  await use();
  expect(asked).toBe(0);
  platform.clock.ms += HOUR_MS;
  expect(asked).toBe(0);
  const before = platform.subjects();
  await use();
  await use();
  expect(asked).toBe(1);
  // Nothing new is nothing to commit; the key knows.
  expect(platform.subjects()).toEqual(before);
  const [key = ''] = keys();
  const spec = platform.guarded.platform.find('ownedaccesskeys', key)?.object.spec;
  const refreshed = valueAt(spec, ['identity', 'identityRefresh']);
  expect(Date.parse(String(refreshed))).toBe(platform.clock.ms);
});

test('groups that the provider took back are gone, and new ones are there', async () => {
  const { platform, use, spec } = await signedIn(async (known) => ({ ...known, groups: ['ops'] }));
  platform.clock.ms += HOUR_MS;
  expect(await use()).toBe(200);
  expect(spec()?.['ssoGroups']).toEqual(['ops']);
});

test('an answer that says nothing of groups brings no old ones back', async () => {
  const { platform, use, spec } = await signedIn(async (known) => ({ ...known }));
  await platform.guarded.platform.patch('users', 'ann', (user) => {
    delete user.spec.ssoGroups;
  });
  platform.clock.ms += HOUR_MS;
  expect(await use()).toBe(200);
  expect(spec()).not.toHaveProperty('ssoGroups');
});

describe('a provider that says that it is over', () => {
  test.each<[string, Connector['refresh']]>([
    [
      'refuses',
      () => Promise.reject(new SignInError('no', { reason: 'token-refused', code: 403 })),
    ],
    ['tells of somebody else', async (known) => ({ ...known, userId: '43', groups: [] })],
    [
      'tells of a name of the platform',
      async (known) => ({ ...known, username: 'system:x', groups: [] }),
    ],
  ])('a session ends with its groups because it %s', async (_why, refresh) => {
    const { platform, use, spec, keys } = await signedIn(refresh);
    platform.clock.ms += HOUR_MS;
    await use();
    expect(keys()).toEqual([]);
    expect(spec()).not.toHaveProperty('ssoGroups');
    expect(await use()).toBe(401);
  });
});

test('a provider that cannot be asked is asked again, less and less often, and given up after a day', async () => {
  let asked = 0;
  const { platform, use, keys, spec } = await signedIn(async () => {
    asked += 1;
    throw transient();
  });
  platform.clock.ms += HOUR_MS;
  for (let minute = 0; minute < 60; minute++) {
    expect(await use()).toBe(200);
    platform.clock.ms += 60_000;
  }
  expect(asked).toBeGreaterThanOrEqual(3);
  expect(asked).toBeLessThan(12);
  expect(spec()?.['ssoGroups']).toEqual(['dev']);
  platform.clock.ms += 24 * HOUR_MS;
  await use();
  expect(keys()).toEqual([]);
  expect(spec()).not.toHaveProperty('ssoGroups');
});

test('a token that the provider replaced is kept, even where the rest of the refresh fails', async () => {
  const seen: unknown[] = [];
  const { platform, use } = await signedIn(async (known, _signal, keep) => {
    seen.push(known.connectorData?.['refreshToken']);
    await keep({ refreshToken: `secret-token-${seen.length + 1}` });
    throw transient();
  });
  for (let i = 0; i < 3; i++) {
    platform.clock.ms += HOUR_MS;
    await use();
  }
  expect(seen).toEqual(['secret-token-1', 'secret-token-2', 'secret-token-3']);
  expect(platform.log.join('')).not.toContain('secret-token');
});

test('many uses at once are one question', async () => {
  let asked = 0;
  const { platform, browser } = await signedIn(async (known) => {
    asked += 1;
    await new Promise((resolve) => setImmediate(resolve));
    return known;
  });
  platform.clock.ms += HOUR_MS;
  await Promise.all(Array.from({ length: 20 }, () => browser.get('/who')));
  await platform.service.refresher.idle();
  expect(asked).toBe(1);
});

test('a key that people made for themselves has its groups from their newest login', async () => {
  const { platform, spec } = await signedIn(async (known) => ({ ...known, groups: ['ops'] }));
  const token = await platform.guarded.giveKey('mine', { user: 'ann', type: 'User' });
  const bearer = { authorization: `Bearer ${token}` };
  await platform.browser().get('/who', bearer);
  platform.clock.ms += HOUR_MS;
  await platform.browser().get('/who', bearer);
  await platform.service.refresher.idle();
  expect(spec()?.['ssoGroups']).toEqual(['ops']);
});

// covers: OwnedAccessKey.spec.identity.connectorData
test('data of a connector is in no answer, list, log or commit', async () => {
  const { platform, keys, browser } = await signedIn(undefined);
  const [key = ''] = keys();
  const stored = platform.guarded.platform.find('ownedaccesskeys', key);
  expect(stored?.json().toString()).not.toContain('secret-token');
  expect(stored?.json().toString()).not.toContain('connectorData');
  expect(JSON.stringify(stored?.hidden)).toContain('secret-token-1');
  expect((await browser.get('/auth/session')).body).not.toContain('secret-token');
  expect(platform.log.join('')).not.toContain('secret-token');
});

describe('a key of a login, though it is in no commit', () => {
  test('is changed and deleted like any other', async () => {
    const { platform, keys, use } = await signedIn(undefined);
    const [key = ''] = keys();
    const before = platform.subjects();
    const { platform: objects } = platform.guarded;
    await objects.patch('ownedaccesskeys', key, ({ spec }) => {
      spec.displayName = 'My laptop';
    });
    expect(objects.find('ownedaccesskeys', key)?.object.spec?.['displayName']).toBe('My laptop');
    expect(await use()).toBe(200);
    await objects.patch('ownedaccesskeys', key, ({ spec }) => {
      spec.disabled = true;
    });
    expect(await use()).toBe(401);
    await objects.delete('ownedaccesskeys', key);
    expect(keys()).toEqual([]);
    expect(platform.subjects()).toEqual(before);
  });

  test('outlives a restart, and nothing else of the sign-in is lost with it', async () => {
    const { platform, keys, browser } = await signedIn(undefined);
    const [key = ''] = keys();
    await platform.guarded.access.close();
    const again = await platform.guarded.platform.restart();
    expect(again.names('ownedaccesskeys')).toEqual([key]);
    expect(again.find('ownedaccesskeys', key)?.hidden?.['spec.key']).toMatch(/^sha256:/);
    expect(browser.session).toMatch(/^gpl_/);
    // Other rules read all of git again, and take away what is no part of it; a login is none of it.
    const anew = await again.restart({ rules: 'other rules' });
    expect(anew.names('ownedaccesskeys')).toEqual([key]);
  });
});

describe('a new password', () => {
  let hash = '';

  beforeAll(async () => {
    hash = await hashPassword('another password');
  });

  test('ends every session of the user, and no other session', async () => {
    const { platform, keys, use } = await signedIn(undefined);
    const { guarded } = platform;
    await guarded.give(object('User', 'bob', { spec: {} }));
    const other = await platform.service.signIn.accounts.mint({ user: 'bob', displayName: 'x' });
    await guarded.platform.patch('users', 'ann', ({ spec }) => {
      spec.passwordHash = hash;
    });
    await platform.service.settled();
    expect(keys()).toEqual([other.name]);
    expect(await use()).toBe(401);
    const fresh = await platform.service.signIn.accounts.mint({ user: 'ann', displayName: 'x' });
    await guarded.platform.patch('users', 'ann', ({ spec }) => {
      spec.displayName = 'Ann';
    });
    await platform.service.settled();
    expect(keys().sort()).toEqual([fresh.name, other.name].sort());
  });
});

describe('the key of a program', () => {
  /** Signed in a program; both keys are used at the same time. */
  async function withProgram(
    refresh: Connector['refresh'],
  ): Promise<Setup & { both(): Promise<number[]> }> {
    const setup = await signedIn(refresh);
    const { platform, browser, keys } = setup;
    const [keyName = ''] = keys();
    const of = { user: 'ann', displayName: 'gitplane on laptop', requestId: 'r' };
    const { key } = await platform.service.signIn.keyFor(keyName, of);
    const program = platform.browser();
    const both = async (): Promise<number[]> => {
      const answers = await Promise.all([
        browser.get('/who'),
        program.get('/who', { authorization: `Bearer ${key}` }),
      ]);
      await platform.service.refresher.idle();
      return answers.map(({ statusCode }) => statusCode);
    };
    return { ...setup, both };
  }

  test('takes no token that the browser has used: a provider is given each once', async () => {
    const used: unknown[] = [];
    const { platform, both, keys } = await withProgram(async (known, _signal, keep) => {
      const token = known.connectorData?.['refreshToken'];
      if (used.includes(token))
        throw new SignInError('used', { reason: 'token-refused', code: 403 });
      used.push(token);
      const connectorData = { refreshToken: `secret-token-${used.length + 1}` };
      await keep(connectorData);
      return { ...known, groups: ['dev'], connectorData };
    });
    for (let times = 0; times < 4; times += 1) {
      platform.clock.ms += HOUR_MS;
      expect(await both()).toEqual([200, 200]);
    }
    expect(keys()).toHaveLength(2);
    expect(used.slice(0, 4)).toEqual([1, 2, 3, 4].map((number) => `secret-token-${number}`));
  });

  test('ends when the provider takes back what it was made with', async () => {
    const { platform, both, keys } = await withProgram(() =>
      Promise.reject(new SignInError('no', { reason: 'token-refused', code: 403 })),
    );
    platform.clock.ms += HOUR_MS;
    await both();
    expect(keys()).toEqual([]);
    expect(await both()).toEqual([401, 401]);
  });
});
