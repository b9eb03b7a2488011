/** The front of a replica: reads from what it follows, everything else from the leader. */
import { once } from 'node:events';
import { get, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { EndpointTokens } from '../../../src/auth/endpoint-tokens/endpoint-tokens.ts';
import { Revocations } from '../../../src/auth/endpoint-tokens/revocations.ts';
import { openSigningKey } from '../../../src/auth/signing-keys/signing-key.ts';
import { startAccessControl } from '../../../src/daemon/access/access-control.ts';
import { revocationStore } from '../../../src/daemon/access/revocation-store.ts';
import { cookieName } from '../../../src/sign-in/cookies.ts';
import { openStore } from '../../../src/state/open-store.ts';
import {
  ask,
  bodyOf,
  EagerEngine,
  openFronts,
  openTestFront,
  type Play,
  TEAMS,
  type TestFronts,
} from '../../support/fronts.ts';
import { kinds, stateCodec } from '../../support/platform.ts';
import { RecordedHistory } from '../../support/recorded-engine.ts';

function unexpected(error: unknown): never {
  throw error;
}

interface Ready extends TestFronts {
  readonly a: string;
  readonly b: string;
}

async function ready(of: { timeoutMs?: number } = {}): Promise<Ready> {
  const opened = await openFronts(2, of.timeoutMs);
  const [a = '', b = ''] = opened.fronts.map(({ url }) => url);
  return { ...opened, a, b };
}

/** Creates teams as the leader does, and nothing else. */
function creating({ platform }: TestFronts, told: () => { version: number }): Play {
  return async (req, res) => {
    const text = await bodyOf(req);
    if (req.method !== 'POST') return void res.writeHead(404).end();
    const { object } = await platform.create('teams', JSON.parse(text));
    told().version = platform.store.resourceVersion;
    res.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(object));
  };
}

function team(name: string): string {
  return JSON.stringify({
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'Team',
    metadata: { name },
  });
}

test('a write through one replica is read through any other at once', async () => {
  const of = await ready();
  const { a, b, token, election } = of;
  const leader = await election.elect(creating(of, () => leader));
  for (let i = 0; i < 24; i++) {
    const [to, from] = i % 2 === 0 ? [a, b] : [b, a];
    const made = await ask(to + TEAMS, { method: 'POST', token, body: team(`t${i}`) });
    expect(made.code).toBe(201);
    expect(made.headers['gitplane-state-version']).toBeUndefined();
    const read = await ask(`${from}${TEAMS}/t${i}`, { token });
    // The leader of this test answers with what is stored, without the derived condition.
    const { status: _derived, ...seen } = JSON.parse(read.text);
    const { status: _stored, ...written } = JSON.parse(made.text);
    expect([i, read.code, seen]).toEqual([i, 200, written]);
    const old = await ask(`${to}${TEAMS}/t${i}?resourceVersion=0`, { token });
    expect(old.code).toBe(200);
  }
});

test('a state that the first leader has not filled yet is shown to no client', async () => {
  const history = new RecordedHistory();
  const engine = new EagerEngine(history);
  const store = await openStore({ engine, codec: stateCodec, followed: true, onError: unexpected });
  const { url, store: following } = await openTestFront({ history });
  await following.ready();
  expect((await ask(`${url}/readyz`)).code).toBe(500);
  expect((await ask(url + TEAMS, { token: 'of somebody' })).code).toBe(503);
  store.apply([], { catalog: { revision: 'x' } });
  await store.flush();
  await expect.poll(async () => (await ask(`${url}/readyz`)).code).toBe(200);
  expect((await ask(url + TEAMS, { token: 'of nobody' })).code).toBe(401);
  await store.close();
});

test('reads ask no other replica; unauthenticated clients are refused where they ask', async () => {
  const of = await ready();
  const asked: string[] = [];
  await of.election.elect((req, res) => {
    asked.push(req.url ?? '');
    res.end('the leader');
  });
  const { a, token } = of;
  const paths = [TEAMS, `${TEAMS}/none`, '/readyz', '/version', '/metrics'];
  const discovery = ['/kubernetes/management/apis', '/kubernetes/management/openapi/v3'];
  const codes = await Promise.all(
    [...paths, ...discovery].map(async (path) => (await ask(a + path, { token })).code),
  );
  expect(codes).toEqual([200, 404, 200, 200, 200, 200, 200]);
  expect((await ask(a + TEAMS)).code).toBe(401);
  expect((await ask(a + TEAMS, { token: 'wrong' })).code).toBe(401);
  expect(asked).toEqual([]);

  const past = `${TEAMS}?atRevision=abc`;
  const elsewhere = [past, '/sync', '/auth/x/login', '/kubernetes/management/api/v1/namespaces'];
  for (const path of elsewhere) expect((await ask(a + path, { token })).text).toBe('the leader');
  expect(asked).toEqual(elsewhere);
});

test('a proxy records the requests that it refuses, and not those that it forwards', async () => {
  const recorded: unknown[] = [];
  const begin: Parameters<typeof openFronts>[2] = {
    isOn: true,
    relay: () => true,
    find: async () => [] as never,
    begin: ({ user, route: { path, verb } }) => ({
      level: 'Metadata',
      received: () => undefined,
      started: () => undefined,
      ended: ({ code, reason }) => void recorded.push([user.name, verb, path, code, reason]),
    }),
  };
  const { fronts, token, election } = await openFronts(1, 50, begin);
  const url = fronts[0]?.url ?? '';
  const post = { method: 'POST', token, body: team('x') };
  const refused = await ask(url + TEAMS, post);
  expect([refused.code, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(refused.headers['audit-id']).toBeDefined();
  const stranger = await ask(url + TEAMS, { ...post, token: 'of nobody' });
  expect(stranger.code).toBe(503);
  const huge = { 'content-length': String(2 ** 30) };
  const large = await ask(url + TEAMS, { method: 'POST', token, headers: huge, body: '{' });
  expect([large.code, large.headers.connection]).toEqual([413, 'close']);
  await election.elect((_req, res) => void res.writeHead(409).end('the leader says so'));
  expect((await ask(url + TEAMS, post)).code).toBe(409);
  const path = '/apis/management.gitplane.dev/v1/teams';
  expect(recorded).toEqual([
    ['admin', 'create', path, 503, 'ServiceUnavailable'],
    ['system:anonymous', 'create', path, 503, 'ServiceUnavailable'],
    ['admin', 'create', path, 413, 'RequestEntityTooLarge'],
  ]);
});

test('headers for the next hop stay behind, and nobody says where another comes from', async () => {
  const { a, election } = await ready();
  await election.elect((req, res) => {
    res.setHeader('keep-alive', 'timeout=1');
    res.setHeader('gitplane-commit', 'abc');
    res.end(JSON.stringify(req.headers));
  });
  const { headers, text } = await ask(`${a}/sync`, {
    method: 'POST',
    headers: {
      connection: 'x-secret',
      'x-secret': 'for the front only',
      'x-forwarded-host': 'evil',
      'gitplane-state-version': '9',
      te: 'trailers',
      'idempotency-key': 'mine',
      'user-agent': 'a test',
    },
  });
  const seen = JSON.parse(text) as Record<string, string>;
  expect(seen).toMatchObject({
    'x-forwarded-for': '127.0.0.1',
    'idempotency-key': 'mine',
    'user-agent': 'a test',
    host: a.slice('http://'.length),
  });
  for (const name of ['x-secret', 'x-forwarded-host', 'gitplane-state-version', 'te']) {
    expect(seen[name]).toBeUndefined();
  }
  expect(headers['gitplane-commit']).toBe('abc');
  expect(headers['keep-alive']).not.toBe('timeout=1');
});

test('a write whose leader dies is sent to the next one, once, with the same key', async () => {
  const { a, election } = await ready({ timeoutMs: 20_000 });
  const sent: unknown[] = [];
  const first = await election.elect(async (req) => {
    sent.push([req.headers['idempotency-key'], await bodyOf(req)]);
    election.vacate();
    first.end();
  });
  const answer = ask(a + TEAMS, { method: 'POST', body: 'a body' });
  await expect.poll(() => election.leader).toBeUndefined();
  await election.elect(async (req, res) => {
    sent.push([req.headers['idempotency-key'], await bodyOf(req)]);
    res.writeHead(201).end('done');
  });
  expect(await answer).toMatchObject({ code: 201, text: 'done' });
  expect(sent).toHaveLength(2);
  expect(sent[0]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), 'a body']);
  expect(sent[1]).toEqual(sent[0]);
});

test.each([
  ['a refusal', 'DELETE', `${TEAMS}/x`, 404],
  ['a conflict', 'PUT', `${TEAMS}/x`, 409],
  ['a read that only leaders answer', 'GET', '/api/v1/namespaces', 200],
])('%s that was decided before a pause and told after the term is not handed on', async (...of) => {
  const [, method, path, code] = of;
  const { a, election } = await ready({ timeoutMs: 20_000 });
  const first = await election.elect((_req, res) => {
    first.held = false;
    election.vacate();
    res.writeHead(code).end('how things were');
  });
  const answer = ask(`${a}${path}`, { method });
  await expect.poll(() => election.leader).toBeUndefined();
  await election.elect((_req, res) => void res.end('how things are'));
  expect((await answer).text).toBe('how things are');
});

test('an answer that says that its maker does not lead any more is not handed on', async () => {
  const { a, election } = await ready({ timeoutMs: 20_000 });
  const first = await election.elect((_req, res) => {
    first.held = false;
    election.vacate();
    res.writeHead(500).end('the platform is closed');
  });
  const answer = ask(`${a}${TEAMS}/x`, { method: 'DELETE' });
  await expect.poll(() => election.leader).toBeUndefined();
  await election.elect((_req, res) => void res.end('the next leader'));
  expect((await answer).text).toBe('the next leader');
});

test('a request lost with its leader is sent to the next one, with the same key', async () => {
  const { a, election, platform } = await ready({ timeoutMs: 20_000 });
  const keys: unknown[] = [];
  const first = await election.elect((req, res) => {
    keys.push(req.headers['idempotency-key']);
    // It died before etcd had what it answered.
    first.version = platform.store.resourceVersion + 500;
    res.writeHead(201).end('a version that never was');
  });
  const answer = ask(a + TEAMS, { method: 'POST', body: 'a body' });
  await expect.poll(() => keys.length).toBe(1);
  await election.elect((req, res) => {
    keys.push(req.headers['idempotency-key']);
    res.writeHead(200).end('what there is');
  });
  expect(await answer).toMatchObject({ code: 200, text: 'what there is' });
  expect(keys[1]).toBe(keys[0]);
});

test('a replica that would not hear of another leader waits for none', async () => {
  const { a, election, token } = await ready({ timeoutMs: 120_000 });
  const post = { method: 'POST', token, body: team('x') };
  const waiting = ask(a + TEAMS, post);
  election.silentMs = 1000;
  const refused = [await waiting, await ask(a + TEAMS, post)];
  for (const { code, headers, text } of refused) {
    expect([code, headers['retry-after']]).toEqual([503, '1']);
    expect(JSON.parse(text).message).toContain('does not reach etcd');
  }
  // One that has just lost its lease may get another in a moment.
  election.silentMs = 1;
  const patient = ask(a + TEAMS, post);
  await election.elect((_req, res) => void res.writeHead(201).end('made'));
  expect(await patient).toMatchObject({ code: 201, text: 'made' });
});

test('reads go on without a leader, and writes are refused', async () => {
  const { a, token } = await ready({ timeoutMs: 50 });
  const refused = await ask(a + TEAMS, { method: 'POST', token, body: team('x') });
  expect([refused.code, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(refused.text)).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable' });
  expect((await ask(a + TEAMS, { token })).code).toBe(200);
});

test('bodies of git go through as they come, both ways, and are not sent twice', async () => {
  const { a, election } = await ready({ timeoutMs: 500 });
  let times = 0;
  await election.elect((req, res) => {
    times++;
    res.writeHead(200);
    req.on('data', (part: Buffer) => res.write(part.toString().toUpperCase()));
    req.on('end', () => res.end('END'));
  });
  const push = request(`${a}/git/platform.git/git-receive-pack`, { method: 'POST', agent: false });
  push.write('one');
  const [answer] = await once(push, 'response');
  const [echo] = await once(answer, 'data');
  expect(String(echo)).toBe('ONE');
  push.end('two');
  let rest = '';
  for await (const part of answer) rest += String(part);
  expect(rest).toBe('TWOEND');

  const failing = await election.elect((req) => {
    times++;
    req.socket.destroy();
  });
  const cut = await ask(`${a}/git/platform.git/git-receive-pack`, { method: 'POST', body: 'x' });
  expect(cut.code).toBe(503);
  expect(times).toBe(2);
  failing.end();
});

test('a client that goes takes its request at the leader with it, and a cut answer does not look whole', async () => {
  const { a, election } = await ready();
  let gone = false;
  const leader = await election.elect((req, res) => {
    res.writeHead(200, { 'content-type': 'text/plain' });
    res.write('begun');
    req.socket.once('close', () => {
      gone = true;
    });
  });
  const asked = get(`${a}/sync`, { agent: false });
  const [answer] = await once(asked, 'response');
  await once(answer, 'data');
  asked.destroy();
  await expect.poll(() => gone).toBe(true);
  const cut = get(`${a}/sync`, { agent: false });
  const [whole] = await once(cut, 'response');
  await once(whole, 'data');
  leader.server.closeAllConnections();
  await expect(once(whole, 'end')).rejects.toThrow();
});

test('an answer waits until what it says can be read where it was asked for', async () => {
  const { a, fronts, election, platform } = await ready();
  const [front] = fronts;
  if (front === undefined) throw new Error('no front');
  front.feed.limit = 0;
  const leader = await election.elect((_req, res) => {
    leader.version = platform.store.resourceVersion;
    res.end('done');
  });
  await platform.create('teams', JSON.parse(team('x')));
  const shown: number[] = [];
  const answer = ask(`${a}/sync`, { method: 'POST' }).then(() =>
    shown.push(front.store.resourceVersion),
  );
  front.feed.limit = Number.POSITIVE_INFINITY;
  await answer;
  expect(shown[0]).toBeGreaterThanOrEqual(platform.store.resourceVersion);
});

test('a watch that begins at one replica goes on at another', async () => {
  const of = await ready();
  const { a, b, token, platform } = of;
  const list = JSON.parse((await ask(a + TEAMS, { token })).text) as {
    metadata: { resourceVersion: string };
  };
  let since = list.metadata.resourceVersion;
  const seen: string[] = [];
  for (let i = 0; i < 10; i++) {
    await platform.create('teams', JSON.parse(team(`w${i}`)));
    const url = `${i % 2 === 0 ? a : b}${TEAMS}?watch=1&resourceVersion=${since}`;
    const asked = get(url, { agent: false, headers: { authorization: `Bearer ${token}` } });
    const [answer] = await once(asked, 'response');
    const [line] = await once(answer, 'data');
    const event = JSON.parse(String(line).split('\n')[0] ?? '');
    seen.push(`${event.type} ${event.object.metadata.name}`);
    since = event.object.metadata.resourceVersion;
    asked.destroy();
  }
  expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => `ADDED w${i}`));
});

test('uses of access keys are told to the leader', async () => {
  const { a, fronts, token, election } = await ready();
  const leader = await election.elect((_req, res) => void res.end());
  expect((await ask(a + TEAMS, { token })).code).toBe(200);
  await fronts[0]?.close();
  expect(leader.uses).toHaveLength(1);
});

test('a request that no later leader could know is not sent again when it may have been done', async () => {
  const { a, election } = await ready({ timeoutMs: 300 });
  let times = 0;
  const leader = await election.elect((req) => {
    times++;
    req.socket.destroy();
  });
  expect((await ask(`${a}/sync`, { method: 'POST', body: '{}' })).code).toBe(503);
  expect(times).toBe(1);
  leader.held = false;
  expect((await ask(`${a}/sync`, { method: 'POST', body: '{}' })).code).toBe(503);
  expect(times).toBe(1);
});

test('a body that is too large is refused where it comes in', async () => {
  const { a, election } = await ready();
  const asked: unknown[] = [];
  await election.elect((req, res) => {
    asked.push(req.url);
    res.end();
  });
  const large = 'x'.repeat(3 * 1024 * 1024 + 1);
  const headers = { 'transfer-encoding': 'chunked' };
  const refused = await ask(a + TEAMS, { method: 'POST', body: large, headers }).catch(
    () => undefined,
  );
  // The connection may be cut before the answer is read.
  expect([undefined, 413]).toContain(refused?.code);
  expect(asked).toEqual([]);
});

/** Returns what ends the requests. */
async function fillRoomOfStrangers(url: string, shown: readonly object[]): Promise<() => void> {
  const codes: number[] = [];
  const begun = Array.from({ length: 42 }, (_, i) => {
    const headers = { ...shown[i % shown.length], 'content-length': String(3 * 1024 * 1024) };
    const path = i % 2 === 0 ? TEAMS : '/auth/local/login';
    const sent = request(url + path, { method: 'POST', agent: false, headers });
    sent.once('response', (answer) => codes.push(answer.resume().statusCode ?? 0));
    sent.on('error', () => undefined);
    sent.flushHeaders();
    return sent;
  });
  const end = () => begun.forEach((sent) => void sent.destroy());
  onTestFinished(end);
  // Ten fit.
  await expect.poll(() => codes.length).toBe(32);
  expect(new Set(codes)).toEqual(new Set([429]));
  return end;
}

test('anonymous clients fill only their own share, and a client with a key has another', async () => {
  const { a, election, token } = await ready({ timeoutMs: 20_000 });
  await election.elect(async (req, res) => {
    await bodyOf(req);
    res.end('done');
  });
  const basic = (key: string) => ({
    authorization: `Basic ${Buffer.from(`git:${key}`).toString('base64')}`,
  });
  const wrong = [{}, { authorization: 'Bearer wrong' }, basic('wrong')];
  const end = await fillRoomOfStrangers(a, wrong);

  // More than the 2 MiB that are left, counted as it arrives.
  const chunked = { 'transfer-encoding': 'chunked' };
  const body = 'x'.repeat(2.5 * 1024 * 1024);
  const write = async (headers: Record<string, string>, path = TEAMS) =>
    await ask(a + path, { method: 'POST', body, headers: { ...headers, ...chunked } });
  // The connection may be cut before the answer is read.
  const refusal = async (headers: Record<string, string>) =>
    (await write(headers).catch(() => undefined))?.code ?? 429;
  for (const headers of wrong) expect(await refusal(headers)).toBe(429);
  const small = { method: 'POST', body: 'x', headers: chunked };
  expect((await ask(a + TEAMS, small)).text).toBe('done');
  const git = '/git/platform.git/git-receive-pack';
  const session = cookieName('session', 'http://front');
  expect((await write({ authorization: `Bearer ${token}` })).text).toBe('done');
  expect((await write(basic(token), git)).text).toBe('done');
  expect((await write({ cookie: `${session}=${token}` })).text).toBe('done');
  expect(await refusal({ cookie: `${session}=wrong` })).toBe(429);

  end();
  await expect.poll(async () => (await write({})).text).toBe('done');
});

test('the holder of an endpoint token that works is no stranger', async () => {
  const { a, election, token, platform, signingKey } = await ready({ timeoutMs: 20_000 });
  await election.elect(async (req, res) => {
    await bodyOf(req);
    res.end('done');
  });
  const { tokens, issue } = await endpointTokens({ platform, token, signingKey });
  const [works, revoked, forged] = [await issue(), await issue(), `${await issue()}x`];
  const revocations = new Revocations(revocationStore(platform.store), Date);
  const { jti = '', exp = 0 } = await tokens.verify(revoked);
  await revocations.revoke({ id: jti, expiresAt: exp * 1000 });
  await fillRoomOfStrangers(a, [{ authorization: `Bearer ${forged}` }]);

  const path = '/kubernetes/virtualcluster/blue/api/v1/namespaces/default/services';
  const write = async (shown: string): Promise<number> => {
    const body = 'x'.repeat(2.5 * 1024 * 1024);
    const headers = { 'transfer-encoding': 'chunked' };
    const sent = ask(a + path, { method: 'POST', token: shown, body, headers });
    // The connection may be cut before the answer is read.
    return (await sent.catch(() => undefined))?.code ?? 429;
  };
  expect(await write(works)).toBe(200);
  await expect.poll(() => write(revoked)).toBe(429);
  expect(await write(forged)).toBe(429);
  await platform.delete('users', 'admin');
  await expect.poll(() => write(works)).toBe(429);
});

async function endpointTokens({
  platform,
  token,
  signingKey,
}: Pick<TestFronts, 'platform' | 'token' | 'signingKey'>) {
  const access = startAccessControl({
    ...{ kinds, store: platform.store, clock: Date, onError: unexpected },
    ...{ limits: () => ({}), projectPrefix: () => 'p-', saveUses: async () => undefined },
  });
  onTestFinished(() => access.close());
  const holder = access.authenticate(token);
  const session = 'user' in holder ? access.session(holder.user) : undefined;
  if (session === undefined) throw new Error('the key of the administrator does not work');
  const key = await openSigningKey(signingKey);
  const keys = { current: () => key, published: () => [key] };
  const tokens = new EndpointTokens({ keys, issuer: 'https://leader', clock: Date });
  const issue = async (): Promise<string> => {
    const issued = await tokens.issue(session);
    return 'token' in issued ? issued.token : '';
  };
  return { tokens, issue };
}
