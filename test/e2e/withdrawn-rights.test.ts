/** Rights that end during a push, a fetch or a write: a slow client sends its body for minutes. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HttpClient } from '../fuzz/http-client.ts';
import { type Moment, push } from '../fuzz/push-client.ts';
import { API, type Daemon, RBAC, run, scratchDir, startDaemon } from '../support/daemon.ts';

const GROUP = 'management.gitplane.dev';
const apiGroup = 'rbac.authorization.k8s.io';

let daemon: Daemon;
let client: HttpClient;

async function made(path: string, body: object): Promise<ReturnType<typeof JSON.parse>> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer.json();
}

async function granted(name: string, subject: object, rules: readonly object[]): Promise<void> {
  const metadata = { name };
  await made(`${RBAC}/clusterroles`, { metadata, rules });
  const roleRef = { apiGroup, kind: 'ClusterRole', name };
  const subjects = [{ apiGroup, ...subject }];
  await made(`${RBAC}/clusterrolebindings`, { metadata, roleRef, subjects });
}

/** A user who pushes by a right of his own, and makes teams as a member of a team. */
async function pusher(name: string): Promise<string> {
  const push = { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] };
  const makes = { apiGroups: [GROUP], resources: ['teams'], verbs: ['create'] };
  await made(`${API}/users`, { metadata: { name }, spec: {} });
  await made(`${API}/teams`, { metadata: { name }, spec: { users: [name] } });
  await granted(`${name}-pushes`, { kind: 'User', name }, [push]);
  await granted(`${name}-makes`, { kind: 'Group', name: `gitplane:team:${name}` }, [makes]);
  const key = await made(`${API}/ownedaccesskeys`, { metadata: { name }, spec: { user: name } });
  return key.spec.key;
}

/** `path → blob` of the branch, which has no folder with many files. */
async function branch(): Promise<Moment> {
  const gitDir = join(daemon.dataDir, 'repo.git');
  const { stdout: head } = await run('git', ['-C', gitDir, 'rev-parse', 'main']);
  const { stdout } = await run('git', ['-C', gitDir, 'ls-tree', '-r', head.trim()]);
  const files = new Map<string, string>();
  for (const line of stdout.trim().split('\n')) {
    const [, , id = '', path = ''] = line.split(/[ \t]/);
    files.set(path, id);
  }
  return { head: head.trim(), files };
}

/** Pushes a team. `meanwhile` ends before the body is sent. */
async function pushSlowly(token: string, team: string, meanwhile: () => Promise<unknown>) {
  const manifest = `apiVersion: ${GROUP}/v1\nkind: Team\nmetadata:\n  name: ${team}\n`;
  const commits = [{ [`teams/${team}.yaml`]: manifest }];
  return await push(client, { base: await branch(), token, open: true, commits, meanwhile });
}

async function done(method: string, path: string, body?: object): Promise<void> {
  const type = 'application/merge-patch+json';
  const answer = await daemon.call(method, path, body === undefined ? {} : { body, type });
  expect(answer.code, answer.text).toBe(200);
}

beforeAll(async () => {
  daemon = await startDaemon({ dataDir: join(scratchDir(), 'withdrawn'), seed: undefined });
  client = new HttpClient(daemon);
});

afterAll(async () => {
  client?.close();
  await daemon?.stop();
});

const ends: [string, (name: string) => Promise<void>][] = [
  ['the key of the pusher', (name) => done('DELETE', `${API}/ownedaccesskeys/${name}`)],
  ['the pusher, who is shut out', (name) => done('PATCH', `${API}/users/${name}`, OUT)],
  ['the membership that gave the right', (name) => done('PATCH', `${API}/teams/${name}`, NOBODY)],
  ['the right to push', (name) => done('DELETE', `${RBAC}/clusterrolebindings/${name}-pushes`)],
  ['the right to make it', (name) => done('DELETE', `${RBAC}/clusterrolebindings/${name}-makes`)],
];
const OUT = { spec: { disabled: true } };
const ANOTHER = { spec: { displayName: 'Another' } };
const NOBODY = { spec: { users: [] } };

test('a push lands while other objects change', async () => {
  const token = await pusher('kept');
  const answer = await pushSlowly(token, 'by-kept', () =>
    done('PATCH', `${API}/teams/kept`, ANOTHER),
  );
  expect(answer.code, answer.text).toBe(200);
});

test.each(ends)('a push lands no more when it ends meanwhile: %s', async (what, end) => {
  const name = `gone${ends.findIndex(([one]) => one === what)}`;
  const token = await pusher(name);
  const answer = await pushSlowly(token, `by-${name}`, () => end(name));
  expect(answer.code, answer.text).not.toBe(200);
  expect(answer.text).toMatch(/Forbidden|no longer/);
  expect((await daemon.call('GET', `${API}/teams/by-${name}`)).code).toBe(404);
});

/** Asks for the refs. `meanwhile` ends before the rest of the request is sent. */
async function fetched(
  token: string,
  meanwhile: () => Promise<unknown> = async () => undefined,
  rest = '00010000',
): Promise<{ code: number | undefined; text: string }> {
  const asked = request({
    ...{ host: '127.0.0.1', port: daemon.port, method: 'POST', agent: false },
    path: '/git/platform.git/git-upload-pack',
    ca: readFileSync(join(daemon.dataDir, 'tls/ca.crt')),
    headers: {
      authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}`,
      'content-type': 'application/x-git-upload-pack-request',
      'git-protocol': 'version=2',
      expect: '100-continue',
    },
  });
  const answered = once(asked, 'response');
  asked.flushHeaders();
  await once(asked, 'continue');
  asked.write('0014command=ls-refs\n');
  await meanwhile();
  if (rest !== '') asked.end(rest);
  const [answer] = (await answered) as [IncomingMessage];
  const text = (await answer.setEncoding('utf8').toArray()).join('');
  asked.destroy();
  return { code: answer.statusCode, text };
}

const READ_ENDS = ends.filter(([what]) => !/make it|membership/.test(what));

test.each(READ_ENDS)('a fetch gets no refs when it ends meanwhile: %s', async (what, end) => {
  const name = `read${READ_ENDS.findIndex(([one]) => one === what)}`;
  const token = await pusher(name);
  const before = await fetched(token);
  expect(before.code, before.text).toBe(200);
  expect(before.text).toContain('refs/heads/main');
  const answer = await fetched(token, () => end(name));
  expect(answer.code, answer.text).toBe(403);
  expect(answer.text).toContain('ended during this fetch');
});

test('a fetch ends after its key, though its client sends nothing more', async () => {
  const token = await pusher('silent');
  const end = (): Promise<void> => done('DELETE', `${API}/ownedaccesskeys/silent`);
  const answer = await fetched(token, end, '');
  expect(answer.code, answer.text).toBe(403);
}, 60_000);

test.each(ends.filter(([what]) => what !== 'the right to push'))(
  'a write is refused when it ends meanwhile: %s',
  async (what, end) => {
    const name = `late${ends.findIndex(([one]) => one === what)}`;
    const token = await pusher(name);
    const body = { metadata: { name: `by-${name}` } };
    const meanwhile = (): Promise<void> => end(name);
    const { code } = await client.call('POST', `${API}/teams`, { token, body, meanwhile });
    expect([401, 403]).toContain(code);
    expect((await daemon.call('GET', `${API}/teams/by-${name}`)).code).toBe(404);
  },
);
