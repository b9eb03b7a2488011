/** Rights that end while a push or a write is on its way: a slow client sends its body for minutes. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pushBody } from '../fuzz/push-client.ts';
import { API, type Daemon, RBAC, run, scratchDir, startDaemon } from '../support/daemon.ts';

const GROUP = 'management.gitplane.dev';
const apiGroup = 'rbac.authorization.k8s.io';

let daemon: Daemon;

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
async function branch(): Promise<{ parent: string; files: Map<string, string> }> {
  const gitDir = join(daemon.dataDir, 'repo.git');
  const { stdout: head } = await run('git', ['-C', gitDir, 'rev-parse', 'main']);
  const { stdout } = await run('git', ['-C', gitDir, 'ls-tree', '-r', head.trim()]);
  const files = new Map<string, string>();
  for (const line of stdout.trim().split('\n')) {
    const [, , id = '', path = ''] = line.split(/[ \t]/);
    files.set(path, id);
  }
  return { parent: head.trim(), files };
}

/** Sends a request. Calls `meanwhile` when the daemon has let the client begin with the body. */
async function sendSlowly(
  of: { path: string; authorization: string; type: string; body: Buffer },
  meanwhile: () => Promise<unknown>,
): Promise<string> {
  const { path, authorization, type, body } = of;
  const { hostname, port } = new URL(daemon.url);
  const sending = request({
    method: 'POST',
    hostname,
    port,
    path,
    ca: readFileSync(join(daemon.dataDir, 'tls/ca.crt')),
    headers: {
      authorization,
      'content-type': type,
      'content-length': body.length,
      expect: '100-continue',
    },
  });
  const answered = once(sending, 'response');
  sending.flushHeaders();
  await once(sending, 'continue');
  sending.write(body.subarray(0, 20));
  await meanwhile();
  sending.end(body.subarray(20));
  const [response] = await answered;
  return await text(response);
}

/** Pushes a team. */
async function pushSlowly(token: string, team: string, meanwhile: () => Promise<unknown>) {
  const manifest = `apiVersion: ${GROUP}/v1\nkind: Team\nmetadata:\n  name: ${team}\n`;
  const commits = [{ [`teams/${team}.yaml`]: manifest }];
  const push = {
    path: '/git/platform.git/git-receive-pack',
    authorization: `Basic ${Buffer.from(`git:${token}`).toString('base64')}`,
    type: 'application/x-git-receive-pack-request',
    body: pushBody({ ...(await branch()), open: true, commits }),
  };
  return await sendSlowly(push, meanwhile);
}

/** Creates a team through the API. */
async function createSlowly(token: string, team: string, meanwhile: () => Promise<unknown>) {
  const write = {
    path: `${API}/teams`,
    authorization: `Bearer ${token}`,
    type: 'application/json',
    body: Buffer.from(JSON.stringify({ metadata: { name: team } })),
  };
  return await sendSlowly(write, meanwhile);
}

async function done(method: string, path: string, body?: object): Promise<void> {
  const type = 'application/merge-patch+json';
  const answer = await daemon.call(method, path, body === undefined ? {} : { body, type });
  expect(answer.code, answer.text).toBe(200);
}

beforeAll(async () => {
  daemon = await startDaemon({ dataDir: join(scratchDir(), 'withdrawn'), seed: undefined });
});

afterAll(async () => {
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
  expect(answer).toContain('ok refs/heads/main');
});

test.each(ends)('a push lands no more when it ends meanwhile: %s', async (what, end) => {
  const name = `gone${ends.findIndex(([one]) => one === what)}`;
  const token = await pusher(name);
  const answer = await pushSlowly(token, `by-${name}`, () => end(name));
  expect(answer).not.toContain('ok refs/heads/main');
  expect(answer).toMatch(/Forbidden|no longer/);
  expect((await daemon.call('GET', `${API}/teams/by-${name}`)).code).toBe(404);
});

test.each(ends.filter(([what]) => what !== 'the right to push'))(
  'a write is refused when it ends meanwhile: %s',
  async (what, end) => {
    const name = `late${ends.findIndex(([one]) => one === what)}`;
    const token = await pusher(name);
    const answer = JSON.parse(await createSlowly(token, `by-${name}`, () => end(name)));
    expect(answer.reason).toMatch(/Unauthorized|Forbidden/);
    expect((await daemon.call('GET', `${API}/teams/by-${name}`)).code).toBe(404);
  },
);
