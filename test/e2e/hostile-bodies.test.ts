/** Bodies made to break the reader: each is refused with a reason, and nothing of it is kept. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

const REVIEWS = '/kubernetes/management/apis/authorization.k8s.io/v1';
const CORE = '/kubernetes/management/api/v1';
const DEPTH = 6000;
const DEEP_MAP = `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`;
const DEEP_LIST = `${'['.repeat(DEPTH)}1${']'.repeat(DEPTH)}`;

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

test('a body that breaks off is one line of the log, without a stack', async () => {
  const path = `${API}/teams?brokenOff=1`;
  await new Promise<void>((resolve) => {
    const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
    const headers = { authorization: `Bearer ${daemon.token}`, 'content-length': '5000' };
    const sent = request(`${daemon.url}${path}`, { method: 'POST', headers, ca });
    sent.on('error', () => resolve());
    sent.write('{"a":', () => setImmediate(() => sent.destroy(new Error('broken off'))));
  });
  const lines = () =>
    daemon
      .output()
      .split('\n')
      .filter((line) => line.includes('"POST"'));
  await expect.poll(() => lines().length).toBe(1);
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
    level: 'info',
    path: `${API}/teams`,
    msg: 'Request broken off by the client',
  });
  expect(daemon.output()).not.toContain('abortIncoming');
});

function team(name: string, spec: string): string {
  return `{"apiVersion":"management.gitplane.dev/v1","kind":"Team","metadata":{"name":"${name}"},"spec":${spec}}`;
}

async function record(level: string): Promise<void> {
  const path = `${API}/config/platform`;
  const raw = stringify({
    audit: { enabled: true, path: 'all.log', policy: { rules: [{ level }] } },
  });
  const answer = await daemon.call('PATCH', path, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  expect(answer.code, answer.text).toBe(200);
}

describe.each(['None', 'RequestResponse'])('nested 6,000 levels deep, audited at %s', (level) => {
  beforeAll(async () => await record(level));

  const PATCH = ['json-patch+json', 'merge-patch+json', 'apply-patch+yaml'];
  test.each<[string, string, string, string]>([
    ['POST', `${API}/teams`, 'application/json', team('deep', DEEP_MAP)],
    ['POST', `${API}/teams`, 'application/yaml', team('deep', DEEP_MAP)],
    ['POST', `${API}/teams`, 'application/json', team('deep', `{"users":${DEEP_LIST}}`)],
    ['POST', `${API}/teams`, 'application/json', DEEP_MAP],
    ['POST', `${API}/teams`, 'application/json', DEEP_LIST],
    ['PUT', `${API}/teams/platform`, 'application/json', team('platform', DEEP_MAP)],
    ['PATCH', `${API}/teams/platform`, `application/${PATCH[0]}`, DEEP_LIST],
    [
      'PATCH',
      `${API}/teams/platform`,
      `application/${PATCH[0]}`,
      `[{"op":"add","path":"/spec/x","value":${DEEP_MAP}}]`,
    ],
    ['PATCH', `${API}/teams/platform`, `application/${PATCH[1]}`, `{"spec":${DEEP_MAP}}`],
    [
      'PATCH',
      `${API}/teams/platform?fieldManager=deep`,
      `application/${PATCH[2]}`,
      team('platform', DEEP_MAP),
    ],
    ['DELETE', `${API}/teams/platform`, 'application/json', DEEP_MAP],
    ['DELETE', `${API}/teams`, 'application/json', DEEP_MAP],
    ['POST', `${REVIEWS}/selfsubjectaccessreviews`, 'application/json', DEEP_MAP],
    ['POST', `${REVIEWS}/selfsubjectrulesreviews`, 'application/json', DEEP_LIST],
    ['POST', `${RBAC}/clusterroles`, 'application/json', DEEP_MAP],
    ['POST', `${CORE}/namespaces/default/events`, 'application/json', DEEP_MAP],
    ['POST', `${API}/teams/platform/rollback`, 'application/json', DEEP_MAP],
    ['POST', `${API}/directclusterendpointtokens`, 'application/json', DEEP_MAP],
    ['POST', '/audit/events', 'application/json', DEEP_MAP],
  ])('%s %s as %s is refused', async (method, path, type, body) => {
    const answer = await daemon.call(method, path, { body, type });
    expect(answer.code, answer.text.slice(0, 300)).toBeGreaterThanOrEqual(400);
    expect(answer.code, answer.text.slice(0, 300)).toBeLessThan(500);
  });

  const chain = JSON.parse(`${'{"a":'.repeat(90)}{}${'}'.repeat(90)}`) as unknown;
  const deeper = (i: number): string => `/metadata/annotations${'/a'.repeat(90 * i)}/a`;
  test.each<[string, (i: number) => object]>([
    ['add', (i) => ({ op: 'add', path: deeper(i), value: chain })],
    ['copy', (i) => ({ op: 'copy', from: '/metadata/annotations', path: `${deeper(i)}/b` })],
  ])('a patch with %s operations, none of them deep by itself, is refused', async (_op, step) => {
    const operations = Array.from({ length: 80 }, (_, i) => step(i));
    const answer = await daemon.call('PATCH', `${API}/teams/platform`, {
      body: [{ op: 'add', path: '/metadata/annotations', value: {} }, ...operations],
      type: 'application/json-patch+json',
    });
    expect(answer.code, answer.text.slice(0, 300)).toBe(422);
  });

  test('a patch with 20,000 values keeps no other request waiting', async () => {
    const operations = Array.from({ length: 20_000 }, (_, i) => {
      return { op: 'add', path: `/spec/data/k${i}`, value: `value-${i}` };
    });
    const type = 'application/json-patch+json';
    const answer = await daemon.call('PATCH', `${API}/teams/platform`, { body: operations, type });
    expect(answer.code, answer.text.slice(0, 300)).toBeGreaterThanOrEqual(400);
    // The record of the audit log is made after the answer.
    expect((await daemon.call('GET', '/livez')).code).toBe(200);
  });

  test('fields with the name of the wildcard, nested 85 levels deep, keep no other request waiting', async () => {
    const deep = `${'{"*":'.repeat(85)}"x"${'}'.repeat(85)}`;
    const body = `{"spec":{"data":${deep},"users":7}}`;
    const type = 'application/merge-patch+json';
    const answer = await daemon.call('PATCH', `${API}/teams/platform`, { body, type });
    expect(answer.code, answer.text.slice(0, 300)).toBe(422);
    expect((await daemon.call('GET', '/livez')).code).toBe(200);
  });

  test('leaves no failure in the log', () => {
    expect(daemon.output()).not.toContain('Request failed');
  });
});

describe('a body with a content encoding', () => {
  const json = 'application/json';
  test.each<[string, string, string, string]>([
    ['POST', `${API}/teams`, json, 'gzip'],
    ['POST', `${API}/teams`, 'application/yaml', 'GZIP, identity'],
    ['PUT', `${API}/teams/platform`, json, 'deflate'],
    ['PATCH', `${API}/teams/platform`, 'application/merge-patch+json', 'br'],
    ['DELETE', `${API}/teams/none`, json, 'zstd'],
    ['POST', `${REVIEWS}/selfsubjectaccessreviews`, json, 'x-gzip'],
    ['POST', '/plan', json, 'gzip'],
  ])('%s %s as %s in %s is refused with the remedy', async (method, path, type, encoding) => {
    const body = gzipSync(team('packed', '{}'));
    const headers = { 'content-encoding': encoding };
    const answer = await daemon.call(method, path, { body, type, headers });
    expect(answer.code, answer.text).toBe(415);
    expect(answer.json()).toMatchObject({
      kind: 'Status',
      reason: 'UnsupportedMediaType',
      message: expect.stringContaining('send the body without Content-Encoding'),
    });
  });

  test('is not read before the key', async () => {
    const headers = { 'content-encoding': 'gzip' };
    const answer = await daemon.call('POST', `${API}/teams`, { body: 'x', headers, token: null });
    expect(answer.code).toBe(401);
  });

  test.each([
    ['POST', `${API}/teams`, 'identity', team('plain', '{}'), 201],
    ['GET', `${API}/teams/platform`, 'gzip', undefined, 200],
    ['DELETE', `${API}/teams/plain`, 'gzip', undefined, 200],
  ])(
    '%s %s with %s and nothing to unpack is answered',
    async (method, path, encoding, body, code) => {
      const headers = { 'content-encoding': encoding };
      const type = 'application/json';
      const answer = await daemon.call(method, path, { headers, ...(body && { body, type }) });
      expect(answer.code, answer.text).toBe(code);
    },
  );
});

describe('half of a surrogate pair', () => {
  const LONE = '\\ud800 lone';
  test.each<[string, string, string, string]>([
    ['POST', 'teams', 'application/json', team('lone', `{"displayName":"${LONE}"}`)],
    ['POST', 'teams', 'application/yaml', team('lone', `{"displayName":"${LONE}"}`)],
    ['POST', 'teams', 'application/json', team('lone', `{"\\udfff":"x"}`)],
    [
      'PATCH',
      'teams/platform',
      'application/merge-patch+json',
      `{"metadata":{"labels":{"a":"${LONE}"}}}`,
    ],
    [
      'PATCH',
      'teams/platform',
      'application/json-patch+json',
      `[{"op":"replace","path":"/spec/displayName","value":"${LONE}"}]`,
    ],
  ])('%s %s as %s is refused with its place', async (method, path, type, body) => {
    const answer = await daemon.call(method, `${API}/${path}`, { body, type });
    expect(answer.code, answer.text).toBe(400);
    expect(answer.json().message).toMatch(/1:\d+: .*surrogate pair/);
  });

  test('is refused in a push with its place', async () => {
    const clone = await daemon.clone();
    writeFileSync(join(clone, 'teams/lone.yaml'), team('lone', `{"displayName":"${LONE}"}`));
    await daemon.git(['add', '.'], clone);
    await daemon.git(['commit', '-qm', 'lone'], clone);
    const pushed = await daemon.git(['push', '-q'], clone);
    expect(pushed.code).not.toBe(0);
    expect(pushed.stderr).toMatch(/teams\/lone\.yaml:1:\d+: .*surrogate pair/);
  });

  test('is not a reason to refuse a whole pair', async () => {
    const body = team('whole', '{"displayName":"\\ud83d\\ude00"}');
    const answer = await daemon.call('POST', `${API}/teams`, { body, type: 'application/json' });
    expect(answer.code, answer.text).toBe(201);
    expect(answer.json().spec.displayName).toBe('😀');
  });
});

describe('bodies without an announced length', () => {
  /** Sends all but the end, and resolves with the status code once the end was sent. */
  function chunked(body: string, token = daemon.token): { end(): void; code: Promise<number> } {
    const sent = request(`${daemon.url}${API}/teams`, {
      method: 'POST',
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    const code = new Promise<number>((resolve, reject) => {
      sent.on('response', (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject);
    });
    sent.write(body);
    return { end: () => sent.end(), code };
  }

  test('bodies of 128 concurrent writes are all accepted by an idle daemon', async () => {
    const writes = Array.from({ length: 128 }, (_, i) =>
      chunked(team(`chunked-${i}`, '{"displayName":"one"}')),
    );
    for (const { end } of writes) end();
    const codes = await Promise.all(writes.map(({ code }) => code));
    expect(codes.filter((code) => code !== 201)).toEqual([]);
  });

  test('are refused when they grow larger than any body may be', async () => {
    const large = chunked(team('large', `{"displayName":"${'x'.repeat(4 * 1024 * 1024)}"}`));
    large.end();
    expect(await large.code.catch(() => 413)).toBe(413);
  });

  test('share the memory for bodies: a request without memory gets Retry-After', async () => {
    // Together they hold more than the 256 MiB that there is room for, and none of them ends.
    const filler = ' '.repeat(3 * 1024 * 1024 - 1024);
    const held = Array.from({ length: 60 }, () => chunked(filler));
    const refused = await Promise.race(held.map(({ code }) => code));
    expect(refused).toBe(429);
    for (const { end } of held) end();
    await Promise.allSettled(held.map(({ code }) => code));
  });
});
