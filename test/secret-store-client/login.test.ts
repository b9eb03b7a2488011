/** The token of a login through its life: renewed, replaced before it ends, revoked. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreClient } from '../../src/secret-store-client/client.ts';
import { LoginSession } from '../../src/secret-store-client/login.ts';
import { appRoleLogin } from '../support/kv/kv-auth.ts';
import { KvStore, type KvToken } from '../support/kv/kv-store.ts';

const TTL = 3600;

interface Opened {
  readonly store: KvStore;
  readonly session: LoginSession;
  readonly client: StoreClient;
  readonly revoked: string[];
  readonly failures: unknown[];
}

let opened: Opened;

function open(token: Partial<KvToken> = {}): Opened {
  const store = new KvStore();
  store.mount('secret/').put('a', { key: 'x' });
  store.logins.set('auth/approle/login', appRoleLogin('r', 's', token));
  const revoked: string[] = [];
  const failures: unknown[] = [];
  const client: StoreClient = new StoreClient({
    transport: {
      origin: 'http://store',
      send: async (request) => store.handle(request),
      close: () => {},
    },
    token: (refused) => session.token(refused),
    clock: { now: () => Date.now() },
    intervalMs: 60_000,
    random: () => 0,
  });
  const session = new LoginSession({
    login: {
      name: 'AppRole at auth/approle',
      path: 'auth/approle/login',
      fields: () => ({ role_id: 'r', secret_id: 's' }),
    },
    client,
    revoke: async (name) => {
      revoked.push(name);
      store.tokens.delete(name);
    },
    onFailure: (error) => failures.push(error),
    random: () => 1,
  });
  opened = { store, session, client, revoked, failures };
  return opened;
}

function logins({ store }: Opened): number {
  return store.requests.filter(({ path }) => path.endsWith('/login')).length;
}

const read = (client: StoreClient): Promise<unknown> =>
  client.call({ method: 'GET', path: 'secret/data/a' });

beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  await opened.session.close();
  vi.useRealTimers();
});

test('many requests at once log in once', async () => {
  const { client } = open();
  await Promise.all(Array.from({ length: 20 }, () => read(client)));

  expect(logins(opened)).toBe(1);
});

test('requests that find the token dead log in once', async () => {
  const { client, store } = open();
  await read(client);
  store.tokens.clear();
  await Promise.all(Array.from({ length: 20 }, () => read(client)));

  expect(logins(opened)).toBe(2);
});

describe('a token near its end', () => {
  test('a renewable token is renewed, again and again, without a login', async () => {
    const { client, store, session } = open();
    await read(client);
    const [token] = store.tokens.values();
    await vi.advanceTimersByTimeAsync(TTL * 1000 * 0.6);
    expect(token?.renewals).toBe(0);
    await vi.advanceTimersByTimeAsync(TTL * 1000 * 0.1);
    expect(token?.renewals).toBe(1);
    await vi.advanceTimersByTimeAsync(TTL * 1000 * 7);
    expect(token?.renewals).toBeGreaterThan(9);
    expect(logins(opened)).toBe(1);
    expect([await session.token()]).toEqual([...store.tokens.keys()]);
  });

  test.each<[string, Partial<KvToken>]>([
    ['that cannot be renewed', { renewable: false }],
    ['that nears its longest life', { renewedTtl: TTL / 10 }],
    ['of the type batch', { type: 'batch' }],
  ])('a token %s is replaced, and revoked', async (_what, fields) => {
    const { client, store, session, revoked } = open(fields);
    await read(client);
    const [first = ''] = store.tokens.keys();
    await vi.advanceTimersByTimeAsync(TTL * 1000 * 0.7);

    expect(logins(opened)).toBe(2);
    expect(await session.token()).not.toBe(first);
    expect(revoked).toEqual([first]);
    await vi.advanceTimersByTimeAsync(TTL * 1000);
    expect(logins(opened)).toBeGreaterThan(2);
    expect(store.tokens.size).toBe(1);
  });

  test('a renewal that the store could not answer is tried again before the end', async () => {
    const { client, store, failures } = open();
    await read(client);
    store.scripted.push({ status: 500, headers: {}, text: '' });
    await vi.advanceTimersByTimeAsync(TTL * 1000 * 0.9);

    expect(failures).toHaveLength(1);
    expect([...store.tokens.values()][0]?.renewals).toBe(1);
    expect(logins(opened)).toBe(1);
  });

  test('a token that is dead when it is to be renewed is replaced by a login', async () => {
    const { client, store, session } = open();
    await read(client);
    store.tokens.clear();
    await vi.advanceTimersByTimeAsync(TTL * 1000 * 0.7);

    expect(logins(opened)).toBe(2);
    expect([await session.token()]).toEqual([...store.tokens.keys()]);
  });
});

test('a session that is closed renews nothing, and has revoked its token', async () => {
  const { client, store, session, revoked } = open();
  await read(client);
  await session.close();
  const before = store.requests.length;
  await vi.advanceTimersByTimeAsync(TTL * 1000 * 5);

  expect(revoked).toHaveLength(1);
  await expect(read(client)).rejects.toMatchObject({ reason: 'Reconfigured' });
  expect(store.requests).toHaveLength(before);
});
