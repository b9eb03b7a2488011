/**
 * Values that a file encrypts beside the secret fields of its kind. A user who may clone and push, and
 * may read no object, gets every document, answer and message that is there: none has such a value.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';
import { commitFiles, gitIn, manifest } from './clones.ts';
import { encryptedFor } from './encrypted-text.ts';

const CANARY = 'canary-9f27e1';
const GROUP = 'management.gitplane.dev';
const CONFIG = `${API}/config/platform`;
const SECRETS = `${API}/namespaces/default/sharedsecrets`;
const KEYS = [
  'data',
  'displayName',
  'description',
  'example.org/purpose',
  'owner',
  'users',
  'password',
];

let daemon: Daemon;
let clone: string;
/** Commit before the encrypted objects. */
let before: string;
/** Access keys by user: `cloner` may clone and push, `writer` may also write objects, and read none. */
const keys = new Map<string, string>();

beforeAll(async () => {
  daemon = await startDaemon();
  await audited();
  await user('cloner', []);
  const verbs = ['create', 'update', 'patch', 'delete', 'deletecollection'];
  await user('writer', [
    { apiGroups: [GROUP], resources: ['teams', 'sharedsecrets', 'tenants'], verbs },
  ]);
  clone = await daemon.clone();
  before = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
  await pushed({
    'teams/hidden.yaml': await encrypted(hiddenTeam()),
    'namespaces/default/sharedsecrets/hidden.yaml': await encrypted(hiddenSecret()),
  });
});
afterAll(() => daemon.stop());

/** Every body of every request goes to the audit log. */
async function audited(): Promise<void> {
  const raw = `audit:\n  enabled: true\n  path: audit.log\n  policy:\n    rules:\n      - level: RequestResponse\n`;
  const answer = await daemon.call('PATCH', CONFIG, {
    body: { spec: { raw } },
    type: 'application/merge-patch+json',
  });
  expect(answer.code, answer.text).toBe(200);
}

async function user(name: string, rules: readonly object[]): Promise<void> {
  const made = async (path: string, body: object): Promise<Answer> => {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
    return answer;
  };
  const metadata = { name };
  await made(`${API}/users`, { metadata, spec: {} });
  const key = await made(`${API}/ownedaccesskeys`, { metadata, spec: { user: name } });
  keys.set(name, key.json().spec.key);
  const git = { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] };
  await made(`${RBAC}/clusterroles`, { metadata, rules: [git, ...rules] });
  const apiGroup = 'rbac.authorization.k8s.io';
  const roleRef = { apiGroup, kind: 'ClusterRole', name };
  const subjects = [{ apiGroup, kind: 'User', name }];
  await made(`${RBAC}/clusterrolebindings`, { metadata, roleRef, subjects });
}

function hiddenTeam(more = ''): string {
  return `apiVersion: management.gitplane.dev/v1
kind: Team
metadata:
  name: hidden
  annotations:
    example.org/purpose: ${CANARY}
spec:
  displayName: ${CANARY}
  description: The ${CANARY} of the team
  owner:
    user: ${CANARY}
  users:
    - ${CANARY}
${more}`;
}

function hiddenSecret(): string {
  return manifest(
    'SharedSecret',
    'hidden',
    `\n  displayName: ${CANARY}\n  description: About ${CANARY}\n  data:\n    token: ${Buffer.from(CANARY).toString('base64')}`,
    'default',
  );
}

function encrypted(text: string): Promise<string> {
  return encryptedFor(daemon, text, KEYS);
}

async function pushed(files: Readonly<Record<string, string | null>>): Promise<void> {
  await commitFiles(daemon, clone, files);
  await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD:main');
}

function as(name: string): { readonly token: string } {
  return { token: keys.get(name) ?? '' };
}

/** Fails where the text has the value in any form. */
function expectHidden(text: string, of: string): void {
  for (const form of [CANARY, Buffer.from(CANARY).toString('base64').slice(0, 16)]) {
    const at = text.indexOf(form);
    expect(at, `${of}: ${text.slice(Math.max(0, at - 500), at + 200)}`).toBe(-1);
  }
}

function everythingBelow(folder: string): [string, Buffer][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [path, readFileSync(path)]);
}

test('the objects are served in the clear to a reader', async () => {
  const team = (await daemon.call('GET', `${API}/teams/hidden`)).json();
  expect(team.spec).toMatchObject({ displayName: CANARY, users: [CANARY] });
  const secret = (await daemon.call('GET', `${SECRETS}/hidden`)).json();
  expect(secret.spec.displayName).toBe(CANARY);
});

describe('a user who may clone only', () => {
  const paths = (): string[] => [
    `/compare?from=${before}`,
    `/compare?from=HEAD_ID&to=${before}`,
    '/commits',
    '/commits?kind=Team&name=hidden',
    `/search?q=${CANARY}`,
    '/search?q=hidden',
    '/summary',
    '/sync',
    '/healthz?verbose',
    '/readyz?verbose',
    '/metrics',
    '/audit/events',
    `${API}/teams`,
    `${API}/teams/hidden`,
    `${API}/teams/hidden/history`,
    `${API}/teams/hidden/blame`,
    `${API}/teams/hidden/source`,
    `${API}/teams/hidden?atRevision=HEAD_ID`,
    `${API}/teams?watch=true&timeoutSeconds=1`,
    `${SECRETS}/hidden/source`,
    `${RBAC}/clusterroles`,
    `${RBAC}/clusterrolebindings`,
  ];

  test.for(Array.from({ length: 22 }, (_, at) => at))('finds nothing at path %i', async (at) => {
    const head = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
    const path = (paths()[at] ?? '').replace('HEAD_ID', head);
    const answer = await daemon.call('GET', path, as('cloner'));
    // The answer to a search quotes the word that its user sent.
    expectHidden(answer.text.replace(`"q":"${CANARY}"`, ''), path);
  });

  test('finds the changes of the objects, masked, in plans and comparisons', async () => {
    const compared = (await daemon.call('GET', `/compare?from=${before}`, as('cloner'))).json();
    const team = compared.items.find((item: { kind: string }) => item.kind === 'Team');
    expect(team.fields).toContainEqual({ path: 'spec.displayName', after: '***', masked: true });
    // A digest of an owner is easily guessed from.
    expect(team.derived.items[0].name).toBe('gitplane:access:team:hidden:***');

    const other = hiddenTeam().replaceAll(CANARY, `${CANARY}-2`);
    await commitFiles(daemon, clone, { 'teams/hidden.yaml': await encrypted(other) });
    await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD:refs/heads/feature');
    const plan = await daemon.call('POST', '/plan', { body: { ref: 'feature' }, ...as('cloner') });
    expect(plan.code, plan.text).toBe(200);
    expectHidden(plan.text, 'plan');
    const [change] = plan.json().changes;
    expect(change).toMatchObject({ verb: 'update', kind: 'Team', name: 'hidden' });
    expect(change.fields).toContainEqual({
      path: 'spec.displayName',
      before: '***',
      after: '***',
      masked: true,
    });
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  });

  test('finds them masked where the file no longer encrypts them', async () => {
    await commitFiles(daemon, clone, {
      'teams/hidden.yaml': manifest('Team', 'hidden', '{ displayName: shown }'),
    });
    await gitIn(daemon, clone, 'push', '-q', 'origin', 'HEAD:refs/heads/plain');
    const plan = await daemon.call('POST', '/plan', { body: { ref: 'plain' }, ...as('cloner') });
    expectHidden(plan.text, 'plan');
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  });

  test('cannot read them in a copy under another name', async () => {
    const text = readFileSync(join(clone, 'teams/hidden.yaml'), 'utf8');
    await commitFiles(daemon, clone, {
      'teams/copy.yaml': text.replace('name: hidden', 'name: copy'),
    });
    const url = `https://writer:${keys.get('writer')}@127.0.0.1:${daemon.port}/git/platform.git`;
    const { code, stderr } = await daemon.git(['push', url, 'HEAD:main'], clone);
    expect(code).not.toBe(0);
    expect(stderr).toContain('its values were encrypted for another object');
    expectHidden(stderr, 'push');
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  });

  test('cannot read a file of a tenant in a copy under another name', async () => {
    const spec = (value: string): string =>
      `sync:\n  toHost:\n    endpoints:\n      enabled: true\nnote: ${value}\n`;
    const text = await encryptedFor(daemon, spec(CANARY), ['note']);
    await pushed({ 'tenants/hidden/vcluster.yaml': text });
    await commitFiles(daemon, clone, { 'tenants/copy/vcluster.yaml': text });
    const url = `https://writer:${keys.get('writer')}@127.0.0.1:${daemon.port}/git/platform.git`;
    const { code, stderr } = await daemon.git(['push', url, 'HEAD:main'], clone);
    expect(code).not.toBe(0);
    expect(stderr).toContain('its values were encrypted for another object');
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  });

  test('sees no value in the problems and warnings of a push', async () => {
    const broken = hiddenTeam().replace(`    - ${CANARY}`, `    - ${CANARY}\n    - ${CANARY}`);
    await commitFiles(daemon, clone, { 'teams/hidden.yaml': await encrypted(broken) });
    const push = await daemon.git(['push', 'origin', 'HEAD:main'], clone);
    expectHidden(push.stderr, 'push');
    const url = `https://cloner:${keys.get('cloner')}@127.0.0.1:${daemon.port}/git/platform.git`;
    expectHidden(
      (await daemon.git(['push', url, 'HEAD:main'], clone)).stderr,
      'push of the cloner',
    );
    await gitIn(daemon, clone, 'fetch', '-q');
    await gitIn(daemon, clone, 'reset', '-q', '--hard', 'origin/main');
  });
});

describe('a user who may write and not read', () => {
  const merge = 'application/merge-patch+json';
  const dry = '?dryRun=All&show=file,effect';

  test.for([
    ['PATCH', 'teams/hidden', { metadata: { labels: { a: 'b' } } }, merge],
    ['PATCH', 'teams/hidden?dryRun=All', { metadata: { labels: { a: 'c' } } }, merge],
    ['PATCH', `teams/hidden${dry}`, { metadata: { labels: { a: 'c' } } }, merge],
    ['PATCH', 'teams/hidden?dryRun=All&show=file', { metadata: { labels: { a: 'c' } } }, merge],
    ['DELETE', 'teams/hidden?dryRun=All', undefined, undefined],
    ['DELETE', 'teams?dryRun=All&fieldSelector=metadata.name=hidden', undefined, undefined],
  ] as const)('%s of %s', async ([method, path, body, type]) => {
    const options = { ...(body && { body }), ...(type && { type }), ...as('writer') };
    const answer = await daemon.call(method, `${API}/${path}`, options);
    expect(answer.code).toBeLessThan(500);
    expectHidden(answer.text + JSON.stringify(answer.headers), path);
  });

  test('cannot compare or copy values with a patch or an apply', async () => {
    const patch = [
      { op: 'test', path: '/spec/displayName', value: CANARY },
      { op: 'copy', from: '/spec/displayName', path: '/metadata/labels/seen' },
    ];
    for (const operation of patch) {
      const answer = await daemon.call('PATCH', `${API}/teams/hidden`, {
        body: [operation],
        type: 'application/json-patch+json',
        ...as('writer'),
      });
      expect(answer.code, answer.text).toBe(403);
    }
    const applied = await daemon.call('PATCH', `${API}/teams/hidden?fieldManager=w`, {
      body: { apiVersion: `${GROUP}/v1`, kind: 'Team', metadata: { name: 'hidden' } },
      type: 'application/apply-patch+yaml',
      ...as('writer'),
    });
    expect(applied.code, applied.text).toBe(403);
  });
});

describe('files of the daemon', () => {
  test('an API write keeps the values encrypted, also in the copy of kubectl apply', async () => {
    const team = (await daemon.call('GET', `${API}/teams/hidden`)).json();
    team.metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] = JSON.stringify({
      spec: { displayName: CANARY },
    });
    team.spec.description = `Another ${CANARY}`;
    const answer = await daemon.call('PUT', `${API}/teams/hidden`, { body: team });
    expect(answer.code, answer.text).toBe(200);
    await gitIn(daemon, clone, 'pull', '-q');
    expectHidden(await gitIn(daemon, clone, 'log', '-p'), 'git log -p');
  });

  test('an object that comes back stays encrypted', async () => {
    const head = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
    expect((await daemon.call('DELETE', `${API}/teams/hidden`)).code).toBe(200);
    const back = await daemon.call('POST', `${API}/teams/hidden/rollback`, {
      body: { revision: head },
    });
    expect(back.code, back.text).toBe(201);
    expect(back.json().spec.displayName).toBe(CANARY);
    await gitIn(daemon, clone, 'pull', '-q');
    expectHidden(await gitIn(daemon, clone, 'log', '-p'), 'git log -p');
  });

  test('a rollback does not write an encrypted value into a plaintext file', async () => {
    const head = await gitIn(daemon, clone, 'rev-parse', 'HEAD');
    await pushed({ 'teams/hidden.yaml': manifest('Team', 'hidden', '{ displayName: shown }') });
    const back = await daemon.call('POST', `${API}/teams/hidden/rollback`, {
      body: { revision: head },
    });
    expect(back.code, back.text).toBe(200);
    await gitIn(daemon, clone, 'pull', '-q');
    expectHidden(await gitIn(daemon, clone, 'log', '-p'), 'git log -p');
  });

  test('the audit log, the log and the state directory have no value, and a restart forgets no path', async () => {
    const audit = join(daemon.dataDir, 'audit.log');
    await expect.poll(() => readFileSync(audit, 'utf8')).toContain('rollback');
    const list = await daemon.call('GET', `${API}/teams`);
    expect(list.text).toContain(CANARY);
    await daemon.call('GET', `${API}/teams`, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    await daemon.stop();
    expectHidden(daemon.output(), 'log');
    for (const [path, bytes] of everythingBelow(daemon.dataDir)) {
      // The audit log has the URL of a search for the word itself.
      const text = bytes.toString('latin1').replaceAll(`/search?q=${CANARY}`, '');
      expectHidden(path.endsWith('audit.log') ? text : bytes.toString('latin1'), path);
    }

    daemon = await startDaemon({ dataDir: daemon.dataDir, seed: undefined });
    const compared = await daemon.call('GET', `/compare?from=${before}`, as('cloner'));
    expect(compared.code).toBe(200);
    expectHidden(compared.text, 'compare after a restart');
    const patched = await daemon.call('PATCH', `${API}/teams/hidden?dryRun=All`, {
      body: { metadata: { labels: { a: 'd' } } },
      type: 'application/merge-patch+json',
      ...as('writer'),
    });
    expect(patched.code).toBe(200);
    expectHidden(patched.text, 'patch after a restart');
  });
});
