/** One user floods a real daemon; what that costs the others is bounded, and so is the memory. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

const MIB = 1024 * 1024;
const LARGE = 10;
/** Its lists as YAML take the daemon much longer than they take us. */
const SLOW_LIST = `${API}/namespaces/slow/sharedsecrets`;
const LARGE_LIST = `${API}/namespaces/large/sharedsecrets`;

let daemon: Daemon;
let ca: string;
/** Bob floods; what admin does is measured. */
let bob: string;
const open: TLSSocket[] = [];

async function make(path: string, body: object, token = daemon.token): Promise<string> {
  const answer = await daemon.call('POST', path, { body, token });
  expect(answer.code, answer.text.slice(0, 500)).toBe(201);
  return answer.text;
}

beforeAll(async () => {
  daemon = await startDaemon();
  ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
  await make(`${API}/users`, { metadata: { name: 'bob' }, spec: {} });
  const key = { metadata: { name: 'bob' }, spec: { user: 'bob' } };
  bob = JSON.parse(await make(`${API}/ownedaccesskeys`, key)).spec.key;
  const [apiGroups, apiGroup] = [['management.gitplane.dev'], 'rbac.authorization.k8s.io'];
  const rules = [{ apiGroups, resources: ['sharedsecrets'], verbs: ['get', 'list', 'create'] }];
  await make(`${RBAC}/clusterroles`, { metadata: { name: 'bob' }, rules });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'bob' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'bob' },
    subjects: [{ apiGroup, kind: 'User', name: 'bob' }],
  });
  const data = Object.fromEntries(
    Array.from({ length: 250 }, (_, i) => [`key-${i}`, Buffer.alloc(60, i).toString('base64')]),
  );
  await make(SLOW_LIST, { metadata: { name: 'slow' }, spec: { data } });
  for (let i = 0; i < LARGE; i++) {
    const description = String(i).repeat(MIB);
    await make(LARGE_LIST, { metadata: { name: `large-${i}` }, spec: { description } });
  }
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});
afterAll(async () => {
  await daemon.stop();
});

/** Asks on a connection of its own, and reads nothing of the answer until told to. */
async function ask(lines: readonly string[]): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: daemon.port, ca });
  open.push(socket);
  await once(socket, 'secureConnect');
  const head = [...lines, 'host: 127.0.0.1', `authorization: Bearer ${bob}`];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return socket;
}

async function head(socket: TLSSocket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString('latin1').split('\r\n\r\n')[0] ?? '';
}

async function metric(name: string): Promise<number> {
  const { text } = await daemon.call('GET', '/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

const lists = (state: string): Promise<number> =>
  metric(`gitplane_fair_queue_requests{level="lists",state="${state}"}`);

/** The least that every user may expect: a list, a write, and reading it. */
async function works(name: string): Promise<void> {
  const teams = await daemon.call('GET', `${API}/teams`);
  expect(teams.code).toBe(200);
  const place = `${API}/namespaces/small/sharedsecrets`;
  await make(place, { metadata: { name }, spec: {} });
  expect((await daemon.call('GET', `${place}/${name}`)).code).toBe(200);
}

test('a small request waits for few lists of a flood', async () => {
  const flooding = 40;
  const agent = new Agent({ ca, keepAlive: true, maxSockets: flooding });
  const headers = { authorization: `Bearer ${bob}`, accept: 'application/yaml' };
  let answered = 0;
  let isOver = false;
  const list = (): Promise<void> =>
    new Promise((resolve, reject) => {
      request({ port: daemon.port, path: SLOW_LIST, agent, headers }, (response) => {
        response.resume().once('end', () => {
          expect(response.statusCode).toBe(200);
          answered++;
          resolve();
        });
      })
        .once('error', reject)
        .end();
    });
  const flood = Array.from({ length: flooding }, async () => {
    while (!isOver) await list();
  });
  // The connection is there, and the flood has begun.
  expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
  await vi.waitFor(() => expect(answered).toBeGreaterThan(flooding / 2));
  const before = answered;
  const asked = 5;
  for (let i = 0; i < asked; i++) {
    expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
  }
  const meanwhile = answered - before;
  isOver = true;
  await Promise.all(flood);
  agent.destroy();
  // Without turns each would have waited for all that were there before it.
  expect(meanwhile).toBeLessThan((asked * flooding) / 2);
});

test('unread lists wait with their user, take little memory, and delay no other user', async () => {
  const before = await metric('process_resident_memory_bytes');
  // Lists of 9 MiB that have nothing in common.
  const unread = await Promise.all(
    Array.from({ length: 100 }, () => ask([`GET ${LARGE_LIST}?limit=${LARGE - 1} HTTP/1.1`])),
  );
  await vi.waitFor(async () => expect(await lists('waiting')).toBeGreaterThan(60));
  await works('beside-unread');
  const whole = await daemon.call('GET', LARGE_LIST);
  expect(whole.json().items).toHaveLength(LARGE);
  const grown = (await metric('process_resident_memory_bytes')) - before;
  expect(grown).toBeLessThan(450 * MIB);
  // They go on when there is room again.
  for (const socket of unread) socket.destroy();
  await vi.waitFor(async () => expect(await lists('held')).toBe(0));
  const last = await ask([`GET ${API}/sharedsecrets?limit=1 HTTP/1.1`]);
  expect(await head(last)).toContain(' 200 ');
});

test('a flood of writes gets Retry-After, and only its user does', async () => {
  const withheld = [`POST ${LARGE_LIST} HTTP/1.1`, 'content-type: application/json'];
  await Promise.all(
    Array.from({ length: 60 }, () => ask([...withheld, `content-length: ${3 * MIB}`])),
  );
  const refused = 'gitplane_fair_queue_refused_total{level="writes"}';
  await vi.waitFor(async () => expect(await metric(refused)).toBeGreaterThan(10));
  await works('beside-withheld');
  const one = await ask([...withheld, `content-length: ${3 * MIB}`]);
  const told = await head(one);
  expect(told).toContain(' 429 ');
  expect(told.toLowerCase()).toContain('retry-after: 1');
});

test('a large list is compressed on request, and is the same list', async () => {
  const headers = { authorization: `Bearer ${daemon.token}`, 'accept-encoding': 'gzip' };
  const [response] = await once(
    request({ port: daemon.port, ca, path: LARGE_LIST, headers }).end(),
    'response',
  );
  expect(response.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
  const chunks: Buffer[] = await response.toArray();
  const plain = await daemon.call('GET', LARGE_LIST);
  const [packed, all] = [gunzipSync(Buffer.concat(chunks)).toString(), plain.text];
  expect(JSON.parse(packed).items).toEqual(JSON.parse(all).items);
});
