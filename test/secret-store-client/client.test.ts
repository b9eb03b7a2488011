/** The client of a store that is in trouble, on a wire that cuts. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { type ClientOptions, StoreClient } from '../../src/secret-store-client/client.ts';
import { membersAt } from '../../src/secret-store-client/json-members.ts';
import { kv2 } from '../../src/secret-store-client/kv2.ts';
import { checkNamespace, detectMount } from '../../src/secret-store-client/mount.ts';
import { TokenKeeper } from '../../src/secret-store-client/token.ts';
import {
  httpTransport,
  type Transport,
  type TransportOptions,
} from '../../src/secret-store-client/transport.ts';
import { StoreError } from '../../src/secrets-merge/ports.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import { errors } from '../support/kv/kv-mount.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';

const SECRET = 'hunter2-the-value';
const READ = { method: 'GET', path: 'secret/data/a' } as const;

describe('requests on the wire', () => {
  let server: KvServer;
  let client: StoreClient;

  beforeEach(async () => {
    server = await startKvServer();
    server.store.mount('secret/').put('a', { key: SECRET });
    client = clientOf(httpTransport({ address: server.address, timeoutMs: 1_500 }));
  });

  afterEach(async () => {
    client.close();
    await server.close();
  });

  function write(): Promise<unknown> {
    const body = JSON.stringify({ options: { cas: 1 }, data: { key: 'new' } });
    return client.call({ method: 'POST', path: 'secret/data/a', body });
  }

  test.each(['cut-before', 'cut-after', 'hang'] as const)(
    'a write that met "%s" may have happened',
    async (fault) => {
      server.faults.push(fault);

      await expect(write()).rejects.toMatchObject({ reason: 'Unreachable', mayHaveHappened: true });
    },
  );

  test('a store that is not there has done nothing', async () => {
    await server.close();

    await expect(write()).rejects.toMatchObject({ reason: 'Unreachable', mayHaveHappened: false });
  });

  test('the token does not follow a redirect to another host', async () => {
    const stranger = await startKvServer();
    server.redirectTo = stranger.address;
    server.faults.push('redirect');

    await expect(client.call(READ)).rejects.toMatchObject({ reason: 'Redirected' });
    expect(stranger.seen).toEqual([]);
    await stranger.close();
  });

  test('a redirect to no URL is an error of the store, which does not quote it', async () => {
    server.redirectTo = `http://[${SECRET}`;
    server.faults.push('redirect');
    const error = (await client.call(READ).catch((e: unknown) => e)) as StoreError;

    expect(error).toMatchObject({ reason: 'Redirected' });
    expect(JSON.stringify({ ...error, text: error.stack, cause: error.cause })).not.toContain(
      SECRET,
    );
  });

  test('a secret with more values than may be parsed is refused', async () => {
    const side = kv2({ client, mount: { path: 'secret/', version: 2 }, path: 'a' });
    const values = (count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, ',[{"\\'.repeat(20)]));
    server.store.mount('secret/').put('a', values(15_000));
    await expect(side.read()).resolves.toBeDefined();
    server.store.mount('secret/').put('a', values(20_001));

    await expect(side.read()).rejects.toMatchObject({ reason: 'TooLarge' });
  });

  test('a redirect to itself is followed', async () => {
    server.redirectTo = server.address;
    server.faults.push('redirect');

    expect((await client.call(READ)).status).toBe(200);
  });

  test('the seen version stays when the answer to a write is lost', async () => {
    const side = kv2({ client, mount: { path: 'secret/', version: 2 }, path: 'a' });
    const seen = await side.read();
    server.faults.push('cut-after');
    const set = new Map([['key', Buffer.from('ours')]]);

    await expect(side.write({ seen, set, remove: [] })).rejects.toThrow(StoreError);
    expect(await side.write({ seen, set, remove: [] })).toEqual({ is: 'outrun' });
  });
});

test('a private authority is trusted when it is given, and certificate checks can be skipped', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'gitplane-store-'));
  const pems = await ensureServerCertificate({ directory, hostnames: [], clock: systemClock });
  const server = await startKvServer({ tls: { cert: pems.certificatePem, key: pems.keyPem } });
  server.store.mount('secret/').put('a', { key: SECRET });
  const status = async (options: Omit<TransportOptions, 'address'>) => {
    const client = clientOf(httpTransport({ address: server.address, ...options }));
    const answer = await client.call(READ).catch((error: StoreError) => error.reason);
    client.close();
    return typeof answer === 'string' ? answer : answer.status;
  };

  expect(await status({})).toBe('Unreachable');
  expect(await status({ tls: { ca: pems.caPem } })).toBe(200);
  expect(await status({ skipTLSVerify: true })).toBe(200);
  await server.close();
  await rm(directory, { recursive: true });
});

test.each(['store:8200', 'ftp://store', 'https://user:pw@store', 'https://store/base?a=b'])(
  'the address %j is refused',
  (address) => {
    expect(() => httpTransport({ address })).toThrow(/address of the secret store/);
  },
);

describe('meaning of a status', () => {
  const store = new KvStore();
  store.token('root');
  const mount = store.mount('secret/');
  mount.put('a', { key: SECRET });

  test.each<[number, string, string, boolean]>([
    [400, 'Upgrading from non-versioned to versioned data', 'Upgrading', false],
    [400, `cannot parse ${SECRET}`, 'Rejected', false],
    [405, 'unsupported operation', 'WrongEngine', false],
    [412, '', 'NotReady', false],
    [413, '', 'TooLarge', false],
    [429, SECRET, 'RateLimited', false],
    [500, `put failed due to value being too large: ${SECRET}`, 'TooLarge', false],
    [500, SECRET, 'StoreFailed', true],
    [501, '', 'NotInitialized', false],
    [502, `<html>${SECRET}</html>`, 'StoreFailed', true],
    [503, 'Vault is sealed', 'Sealed', false],
    [503, 'namespace is sealed', 'Sealed', false],
  ])('%i %j is %s', async (status, text, reason, mayHaveHappened) => {
    const client = clientOf(inMemory(store));
    store.scripted.push({ status, headers: {}, text: JSON.stringify(errors(status, text).body) });

    const error = await client
      .call({ method: 'POST', path: 'secret/data/a', body: '{}' })
      .catch((e: unknown) => e);

    expect(error).toMatchObject({ name: 'StoreError', reason, mayHaveHappened });
    expect(String(error)).not.toContain(SECRET);
    expect(String(error)).not.toContain('root');
  });

  test('an answer that is no JSON is not quoted', async () => {
    const side = kv2({
      client: clientOf(inMemory(store)),
      mount: { path: 'secret/', version: 2 },
      path: 'a',
    });
    store.scripted.push({ status: 200, headers: {}, text: `{"data": ${SECRET}` });

    const error = (await side.read().catch((e: unknown) => e)) as Error;

    expect(error).toBeInstanceOf(StoreError);
    expect(error.stack + String(error.cause)).not.toContain(SECRET);
  });

  test('a missing right is distinguished from a dead token, with and without self look-up', async () => {
    store.token('poor', { denies: () => true });
    store.token('mute', { denies: () => true, hasDefault: false });
    const reasonOf = (token: string) =>
      clientOf(inMemory(store), { token: async () => token })
        .call(READ)
        .then(
          () => 'none',
          (error: StoreError) => error.reason,
        );

    expect(await reasonOf('poor')).toBe('Forbidden');
    expect(await reasonOf('mute')).toBe('Forbidden');
    expect(await reasonOf('dead')).toBe('TokenInvalid');
  });

  test('a token that was replaced is read again at once', async () => {
    const tokens = ['dead', 'root'];
    const client = clientOf(inMemory(store), { token: async () => tokens.shift() ?? 'root' });

    expect((await client.call(READ)).status).toBe(200);
  });

  test('more strings than a store takes are not sent', async () => {
    const side = kv2({
      client: clientOf(inMemory(store)),
      mount: { path: 'secret/', version: 2 },
      path: 'large',
    });
    const many = new Map(Array.from({ length: 600 }, (_, n) => [`k${n}`, Buffer.from('v')]));
    const large = new Map([['k', Buffer.alloc(2 ** 20, 'x')]]);
    const seen = { state: 'absent' } as const;

    expect(await side.write({ seen, set: many, remove: [] })).toMatchObject({ reason: 'TooLarge' });
    expect(await side.write({ seen, set: large, remove: [] })).toMatchObject({
      reason: 'TooLarge',
    });
    expect(mount.keys.has('large')).toBe(false);
  });
});

describe('a store that fails', () => {
  test('is asked once in a while, and again for ever', async () => {
    const store = new KvStore();
    store.token('root');
    store.mount('secret/').put('a', { key: SECRET });
    let now = 0;
    const client = clientOf(inMemory(store), { clock: { now: () => now }, random: () => 1 });
    store.isSealed = true;
    const ask = () =>
      client.call(READ).then(
        () => 'ok',
        (error: StoreError) => error.reason,
      );

    expect([await ask(), await ask(), await ask()]).toEqual([
      'Sealed',
      'Unavailable',
      'Unavailable',
    ]);
    expect(store.requests.length).toBe(1);
    for (let failure = 0; failure < 100; failure += 1) {
      now += 5 * 60_000;
      expect(await ask()).toBe('Sealed');
    }
    store.isSealed = false;
    now += 5 * 60_000;
    expect([await ask(), await ask()]).toEqual(['ok', 'ok']);
  });

  test.each([
    ['7', 7_000],
    [new Date(9_000).toUTCString(), 9_000],
  ])('is left alone for as long as it asks: %s', async (retryAfter, until) => {
    const store = new KvStore();
    store.token('root');
    store.mount('secret/').put('a', { key: SECRET });
    let now = 0;
    const client = clientOf(inMemory(store), { clock: { now: () => now } });
    store.quota = { left: 1, retryAfter };
    await expect(client.call(READ)).rejects.toMatchObject({ reason: 'RateLimited' });

    now = until - 1;
    await expect(client.call(READ)).rejects.toMatchObject({ reason: 'Unavailable' });
    now = until;
    expect((await client.call(READ)).status).toBe(200);
  });
});

describe('namespaces', () => {
  const store = new KvStore();
  store.token('root');
  store.mount('secret/');
  store.mount('secret/', 2, 'team');

  test('namespaces that the store knows are used', async () => {
    const client = clientOf(inMemory(store), { namespace: 'team' });

    await checkNamespace(client, await detectMount(client, 'secret'));
  });

  test('namespaces that the edition ignores are detected before any write', async () => {
    store.ignoresNamespaces = true;
    const client = clientOf(inMemory(store), { namespace: 'team' });
    const mount = await detectMount(client, 'secret');

    await expect(checkNamespace(client, mount)).rejects.toMatchObject({
      reason: 'NamespaceIgnored',
    });
  });
});

describe('a mount that the store does not know', () => {
  test.each([
    ['behind a namespace that is not there', errors(404, 'no handler for route'), '2.4.4'],
    ['at an address with no store', { status: 404, text: '<h1>Not found</h1>' }, undefined],
  ])('%s is not taken for an empty one', async (_where, answer, version) => {
    const client = clientOf(inMemory(scripted(answer, version)));

    await expect(detectMount(client, 'secret')).rejects.toMatchObject({ reason: 'MountMissing' });
  });

  test('a mount of a server without the mount query is KV v1', async () => {
    const client = clientOf(inMemory(scripted(errors(404), '0.9.6')));

    expect(await detectMount(client, 'secret')).toEqual({ path: 'secret/', version: 1 });
  });

  test('is named where the wanted one lies inside it', async () => {
    const store = new KvStore();
    store.token('root');
    store.mount('secret/');

    await expect(detectMount(clientOf(inMemory(store)), 'secret/app')).rejects.toThrow(
      'There is no mount secret/app/ but secret/',
    );
  });

  /** Answers the question for the mount, and then that for the health of the store. */
  function scripted(
    answer: { status: number; body?: unknown; text?: string },
    version: string | undefined,
  ): KvStore {
    const store = new KvStore();
    store.token('root');
    const health = version === undefined ? '<h1>Hello</h1>' : JSON.stringify({ version });
    store.scripted.push(
      { status: answer.status, headers: {}, text: answer.text ?? JSON.stringify(answer.body) },
      { status: 200, headers: {}, text: health },
    );
    return store;
  }
});

describe('the token', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('a token of 32 days is renewed once in that time, and not in a loop', async () => {
    vi.useFakeTimers();
    const store = new KvStore();
    const days = 32 * 24 * 3600;
    const token = store.token('root', { ttl: days, creationTtl: days });
    const keeper = new TokenKeeper({
      client: clientOf(inMemory(store)),
      onFacts: () => {},
      onFailure: () => {},
    });
    await keeper.start();

    await vi.advanceTimersByTimeAsync(days * 1000 * 0.55);
    expect(token.renewals).toBe(0);
    await vi.advanceTimersByTimeAsync(days * 1000 * 0.12);
    expect(token.renewals).toBe(1);
    keeper.close();
  });

  test('is tried again when its renewal failed', async () => {
    vi.useFakeTimers();
    const store = new KvStore();
    const token = store.token('root', { ttl: 60, creationTtl: 60 });
    const failures: unknown[] = [];
    const keeper = new TokenKeeper({
      client: clientOf(inMemory(store)),
      onFacts: () => {},
      onFailure: (error) => failures.push(error),
    });
    await keeper.start();
    store.scripted.push({ status: 500, headers: {}, text: '' });

    await vi.advanceTimersByTimeAsync(60_000);
    expect(failures.length).toBe(1);
    expect(token.renewals).toBeGreaterThan(0);
    keeper.close();
  });

  test.each([
    [{ numUses: 5 }, 'good for 5 more requests'],
    [{ ttl: 100, creationTtl: 100, type: 'batch' as const }, 'cannot be renewed'],
    [{ ttl: 10, creationTtl: 100 }, 'ends in 10 s'],
  ])('%j is warned about', async (fields, words) => {
    const store = new KvStore();
    store.token('root', fields);
    const warnings: string[] = [];
    const keeper = new TokenKeeper({
      client: clientOf(inMemory(store)),
      onFacts: (facts) => warnings.push(...(facts?.warnings ?? [])),
      onFailure: () => {},
    });
    await keeper.start();
    keeper.close();

    expect(warnings.join()).toContain(words);
  });
});

test('numbers keep their digits, and strings their meaning', () => {
  const text =
    '{ "data" : {"big": 9007199254740993 ,"s":"a\\"}\\u00e9","o":{"x":[1,{"y":"]"}]},"n":null} }';
  const members = membersAt(text, ['data']);

  expect([...(members ?? [])].map(([key, { text: exact }]) => [key, exact])).toEqual([
    ['big', '9007199254740993'],
    ['s', '"a\\"}\\u00e9"'],
    ['o', '{"x":[1,{"y":"]"}]}'],
    ['n', 'null'],
  ]);
  expect(members?.get('s')?.string).toBe('a"}é');
  expect(membersAt('[]', ['data'])).toBeUndefined();
  expect(() => membersAt('{"data":', ['data'])).toThrow(SyntaxError);
});

function clientOf(transport: Transport, more: Partial<ClientOptions> = {}): StoreClient {
  return new StoreClient({
    transport,
    token: async () => 'root',
    clock: { now: () => 0 },
    intervalMs: 60_000,
    random: () => 0,
    ...more,
  });
}

function inMemory(store: KvStore): Transport {
  return {
    origin: 'http://store',
    close: () => {},
    send: async (request) => store.handle(request),
  };
}
