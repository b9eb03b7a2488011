/**
 * Behaviour of a KV store that the sync relies on, through our client. The same cases run against the store of
 * the tests, against each release of OpenBao that is installed, and against the server at BAO_ADDR (with
 * BAO_TOKEN, which may mount engines) where that is set.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, test as anyTest, beforeAll, describe, expect, vi } from 'vitest';
import { StoreClient } from '../../src/secret-store-client/client.ts';
import { kv1 } from '../../src/secret-store-client/kv1.ts';
import { kv2 } from '../../src/secret-store-client/kv2.ts';
import { listVersions } from '../../src/secret-store-client/listing.ts';
import { detectMount } from '../../src/secret-store-client/mount.ts';
import { lookUpToken } from '../../src/secret-store-client/token.ts';
import { httpTransport } from '../../src/secret-store-client/transport.ts';
import type { LiveRead, StoreSide } from '../../src/secrets-merge/ports.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';
import { OPENBAO_RELEASES, OpenBao, warnOfMissingReleases } from '../support/openbao.ts';

const REAL = process.env['BAO_ADDR'] ?? process.env['VAULT_ADDR'];
const REAL_TOKEN = process.env['BAO_TOKEN'] ?? process.env['VAULT_TOKEN'] ?? 'root';

interface Target {
  readonly name: string;
  /** Program of OpenBao. */
  readonly program?: string | undefined;
  readonly isMissing?: boolean;
  readonly address?: string;
}

const targets: readonly Target[] = [
  { name: 'the store of the tests' },
  ...OPENBAO_RELEASES.map(({ release, program }) => ({
    name: `OpenBao ${release}`,
    program,
    isMissing: program === undefined,
  })),
  ...(REAL === undefined ? [] : [{ name: REAL, address: REAL }]),
];
warnOfMissingReleases();

describe.each(targets)('$name', ({ program, isMissing = false, address: given }) => {
  const test = anyTest.skipIf(isMissing);
  let server: KvServer | undefined;
  let bao: OpenBao | undefined;
  let client: StoreClient;
  let address = '';
  let rootToken = '';
  const v2 = `t2-${randomBytes(4).toString('hex')}`;
  const v1 = `t1-${randomBytes(4).toString('hex')}`;

  beforeAll(async () => {
    if (program !== undefined) bao = await OpenBao.start({ program });
    else if (given === undefined) server = await startKvServer();
    address = given ?? bao?.address ?? server?.address ?? '';
    rootToken = given === undefined ? (bao?.rootToken ?? 'root') : REAL_TOKEN;
    client = connect(address, { token: rootToken });
    await call('POST', `sys/mounts/${v2}`, { type: 'kv', options: { version: '2' } });
    await call('POST', `sys/mounts/${v1}`, { type: 'kv', options: { version: '1' } });
    // A real server upgrades a new mount for a moment.
    await vi.waitFor(() => kv('ready').read(), { timeout: 10_000, interval: 100 });
  });

  afterAll(async () => {
    await call('DELETE', `sys/mounts/${v2}`);
    await call('DELETE', `sys/mounts/${v1}`);
    client.close();
    await server?.close();
    await bao?.stop();
  });

  function call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) {
    return client.call({ method, path, ...(body && { body: JSON.stringify(body) }) });
  }

  function kv(path: string): StoreSide {
    return kv2({ client, mount: { path: `${v2}/`, version: 2 }, path });
  }

  async function live(side: StoreSide, version?: number): Promise<LiveRead> {
    const read = await side.read(version);
    if (read.state !== 'live') throw new Error(`expected something live, found ${read.state}`);
    return read;
  }

  async function write(side: StoreSide, values: Readonly<Record<string, string>>) {
    const set = new Map(Object.entries(values).map(([key, value]) => [key, Buffer.from(value)]));
    return await side.write({ seen: await side.read(), set, remove: [] });
  }

  function texts({ values }: LiveRead): Record<string, string> {
    return Object.fromEntries(
      [...values].map(([key, value]) => [key, Buffer.from(value).toString()]),
    );
  }

  test('a key that never was is absent, and is written as version 1', async () => {
    const side = kv('new/with space');

    expect(await side.read()).toEqual({ state: 'absent' });
    expect(await side.keyHistory()).toBeUndefined();
    expect(await write(side, { a: '1' })).toMatchObject({ is: 'written', at: { version: 1 } });
    expect(texts(await live(side))).toEqual({ a: '1' });
  });

  test('a write over something that was not seen changes nothing', async () => {
    const side = kv('outrun');
    const seen = await side.read();
    await write(side, { a: 'theirs' });

    const outcome = await side.write({
      seen,
      set: new Map([['a', Buffer.from('ours')]]),
      remove: [],
    });

    expect(outcome).toEqual({ is: 'outrun' });
    expect(texts(await live(side))).toEqual({ a: 'theirs' });
  });

  test('a soft-deleted version is a tombstone with its number, which the next write needs', async () => {
    const side = kv('deleted');
    await write(side, { a: '1' });
    await side.deleteVersion(1);

    expect(await side.read()).toMatchObject({ state: 'deleted', at: { version: 1 } });
    expect(await write(side, { a: '2' })).toMatchObject({ is: 'written', at: { version: 2 } });
  });

  test('deleting a version leaves the one after it', async () => {
    const side = kv('delete-by-version');
    await write(side, { a: '1' });
    await write(side, { a: '2' });
    await side.deleteVersion(1);

    expect(texts(await live(side))).toEqual({ a: '2' });
    expect((await side.read(1)).state).toBe('deleted');
  });

  test('a deletion that hit a key made again is taken back', async () => {
    const side = kv('hit-by-mistake');
    await write(side, { a: '1' });
    const { at } = await live(side);
    await call('DELETE', `${v2}/metadata/hit-by-mistake`);
    await write(side, { a: '2' });
    await side.deleteVersion(1, at.createdTime);

    expect(texts(await live(side))).toEqual({ a: '2' });
  });

  test('numbers begin again after a removal, times do not', async () => {
    const side = kv('anew');
    await write(side, { a: '1' });
    const before = await live(side);
    await call('DELETE', `${v2}/metadata/anew`);

    expect(await side.read()).toEqual({ state: 'absent' });
    await write(side, { a: '2' });
    const after = await live(side);
    expect(after.at.version).toBe(before.at.version);
    expect(after.at.createdTime > before.at.createdTime).toBe(true);
  });

  test('the history of a key has its versions with the times that reads show', async () => {
    const side = kv('history');
    await write(side, { a: '1' });
    await write(side, { a: '2' });
    const first = await live(side, 1);
    const second = await live(side);

    const history = await side.keyHistory();

    expect(history?.currentVersion).toBe(2);
    expect(history?.maxVersions).toBe(10);
    expect(history?.versions).toEqual(
      new Map([first, second].map(({ at }) => [at.version, at.createdTime])),
    );
    expect(texts(first)).toEqual({ a: '1' });
  });

  test('bytes that are no text survive, and so does text that looks encoded', async () => {
    const side = kv('bytes');
    const values = new Map([
      ['binary', Buffer.from([0xff, 0, 0xfe])],
      ['marked', Buffer.from('base64:QUJD')],
    ]);
    await side.write({ seen: await side.read(), set: values, remove: [] });

    expect((await live(side)).values).toEqual(values);
  });

  test('values that are no strings are read as they are written, and survive a write of others', async () => {
    const side = kv('typed');
    const data = { flag: true, list: [1, 'two'], text: 'x', number: 12.5 };
    await call('POST', `${v2}/data/typed`, { data });
    const seen = await live(side);

    expect([...seen.typed].sort()).toEqual(['flag', 'list', 'number']);
    expect(await write(side, { text: 'y' })).toMatchObject({ is: 'written' });
    const { data: after } = JSON.parse((await call('GET', `${v2}/data/typed`)).text);
    expect(after.data).toEqual({ ...data, text: 'y' });
  });

  test('keys that no secret can have stay, and are named', async () => {
    const side = kv('foreign');
    await call('POST', `${v2}/data/foreign`, { data: { 'with space': 'kept', a: '1' } });

    expect((await live(side)).otherKeys).toEqual(['with space']);
    await write(side, { a: '2' });
    const { data: after } = JSON.parse((await call('GET', `${v2}/data/foreign`)).text);
    expect(after.data).toEqual({ 'with space': 'kept', a: '2' });
  });

  test('the marker stands beside what others wrote there', async () => {
    const side = kv('marked');
    await write(side, { a: '1' });
    await call('POST', `${v2}/metadata/marked`, { custom_metadata: { team: 'green' } });
    await side.mark({ owner: 'us', whole: 'w', version: 1 });

    expect((await live(side)).marker).toEqual({ owner: 'us', whole: 'w', version: 1 });
    const { data } = JSON.parse((await call('GET', `${v2}/metadata/marked`)).text);
    expect(data.custom_metadata.team).toBe('green');
  });

  test('a listing of versions, where there is one, marks the live ones', async () => {
    for (const name of ['a', 'b', 'gone']) await write(kv(`listed/${name}`), { v: '1' });
    await write(kv('listed/b'), { v: '2' });
    await kv('listed/gone').deleteVersion(1);
    await write(kv('listed/below/c'), { v: '1' });
    const mount = { path: `${v2}/`, version: 2 } as const;
    const listing = await listVersions(client, mount, 'listed');
    // Vault has none.
    if (listing === undefined) return;

    const [a, b] = [await live(kv('listed/a')), await live(kv('listed/b'))];
    expect(Object.fromEntries(listing)).toEqual({ a: a.at, b: b.at });
    expect(await listVersions(client, mount, 'nothing-here')).toBeUndefined();
  });

  test('engines are distinguished', async () => {
    expect(await detectMount(client, v2)).toMatchObject({ path: `${v2}/`, version: 2 });
    expect(await detectMount(client, v1)).toMatchObject({ path: `${v1}/`, version: 1 });
    await expect(detectMount(client, 'nothing-here')).rejects.toMatchObject({
      reason: 'MountMissing',
    });
  });

  test('KV v1 is written when it holds what was seen, and never empty', async () => {
    const side = kv1({ client, mount: { path: `${v1}/`, version: 1 }, path: 'a/b' });
    const none = await side.read();
    const set = new Map([['a', Buffer.from('1')]]);

    expect(none).toEqual({ state: 'absent' });
    expect(await side.write({ seen: none, set, remove: [] })).toMatchObject({ is: 'written' });
    expect(await side.write({ seen: none, set, remove: [] })).toEqual({ is: 'outrun' });
    const seen = await side.read();
    const emptied = await side.write({ seen, set: new Map(), remove: ['a'] });
    expect(emptied).toMatchObject({ is: 'refused', reason: 'UnsupportedValue' });
  });

  test('a KV v1 mount that is taken for v2 is found out at the first write', async () => {
    const side = kv2({ client, mount: { path: `${v1}/`, version: 2 }, path: 'x' });
    const seen = { state: 'absent' } as const;

    await expect(
      side.write({ seen, set: new Map([['a', Buffer.from('1')]]), remove: [] }),
    ).rejects.toMatchObject({
      reason: 'WrongEngine',
    });
  });

  test('a version of null is one that holds nothing', async () => {
    const side = kv('null');
    await call('POST', `${v2}/data/null`, { data: null });

    expect(await live(side)).toMatchObject({ at: { version: 1 }, values: new Map() });
    expect(await write(side, { a: '1' })).toMatchObject({ is: 'written', at: { version: 2 } });
  });

  test('keeps as many versions as the key says, and the history shows it', async () => {
    const side = kv('short');
    await call('POST', `${v2}/metadata/short`, { max_versions: 2 });
    for (const a of ['1', '2', '3']) await write(side, { a });

    expect(await side.read(1)).toEqual({ state: 'absent' });
    const history = await side.keyHistory();
    expect(history).toMatchObject({ maxVersions: 2, currentVersion: 3 });
    expect([...(history?.versions.keys() ?? [])]).toEqual([2, 3]);
  });

  test('a deletion that is taken back shows in the history, and is no new version', async () => {
    const side = kv('restored');
    await write(side, { a: '1' });
    await side.deleteVersion(1);
    expect((await side.keyHistory())?.undeleted).toEqual(new Set());
    await call('POST', `${v2}/undelete/restored`, { versions: [1] });

    expect((await side.keyHistory())?.undeleted).toEqual(new Set([1]));
    expect((await live(side)).at.version).toBe(1);
  });

  test('more strings than the store accepts are too many, for both sides', async () => {
    const data = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`k${n}`, 'v']));

    await expect(call('POST', `${v2}/data/many`, { data })).rejects.toMatchObject({
      reason: 'TooLarge',
    });
  });

  test('a namespace that is not there is no empty mount', async () => {
    const elsewhere = connect(address, { token: rootToken, namespace: 'not-there' });

    await expect(detectMount(elsewhere, v2)).rejects.toMatchObject({ reason: 'MountMissing' });
  });

  test('a token without the default policy that may do nothing here is alive', async () => {
    const mute = connect(address, { token: await muteToken() });

    for (const path of [`${v2}/data/a`, `sys/internal/ui/mounts/${v2}`]) {
      await expect(mute.call({ method: 'GET', path })).rejects.toMatchObject({
        reason: 'Forbidden',
      });
    }
    await expect(detectMount(mute, v2)).rejects.toMatchObject({ reason: 'MountMissing' });
  });

  async function muteToken(): Promise<string> {
    server?.store.token('mute', { denies: () => true, hasDefault: false });
    if (server !== undefined) return 'mute';
    const body = { policies: ['nothing'], no_default_policy: true, ttl: '5m' };
    const { auth } = JSON.parse((await call('POST', 'auth/token/create', body)).text);
    return auth.client_token;
  }

  test('an unknown token is distinguished from one that lacks a right', async () => {
    const stranger = connect(address, { token: 'no-such-token' });

    await expect(stranger.call({ method: 'GET', path: `${v2}/data/a` })).rejects.toMatchObject({
      reason: 'TokenInvalid',
    });
    expect(await lookUpToken(client)).toMatchObject({ warnings: [] });
  });
});

function connect(
  address: string,
  { token, namespace }: { token: string; namespace?: string },
): StoreClient {
  return new StoreClient({
    transport: httpTransport({ address }),
    token: async () => token,
    ...(namespace !== undefined && { namespace }),
    clock: { now: () => 0 },
    intervalMs: 60_000,
    random: () => 0,
  });
}
