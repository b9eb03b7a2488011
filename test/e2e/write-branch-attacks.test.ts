/**
 * Attacks on the branch for writes that wait for review: by people who may push there, and by users of
 * the API who may not read what is pending.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeIdentity } from '../../src/sealing/data-keys.ts';
import { commitWithEntry, wideBomb } from '../support/bombs.ts';
import {
  type Answer,
  API,
  type Daemon,
  EXAMPLE_PLATFORM,
  RBAC,
  run,
  scratchDir,
  startDaemon,
} from '../support/daemon.ts';

const WRITES = 'gitplane/writes';
const GROUP = 'management.gitplane.dev';
const SECRETS = `${API}/namespaces/default/sharedsecrets`;
const PAYMENTS = `${API}/namespaces/payments/sharedsecrets`;
const CANARY = 'canary-0e55a1';
const VALUE = Buffer.from(CANARY).toString('base64');

const elsewhere = join(scratchDir(), 'platform.git');
const work = join(scratchDir(), 'work');
const keys = new Map<string, string>();
let daemon: Daemon;
let platformKey: string;

/** git of a person who may push to the repository elsewhere. */
async function git(...args: string[]): Promise<string> {
  const person = { NAME: 'Ann Author', EMAIL: 'ann@example.com' };
  const people = Object.entries(person).flatMap(([key, value]) => [
    [`GIT_AUTHOR_${key}`, value],
    [`GIT_COMMITTER_${key}`, value],
  ]);
  const env = { ...process.env, ...Object.fromEntries(people) };
  const { code, stdout, stderr } = await run('git', ['-C', work, ...args], { env });
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

/** Commits files on top of a branch elsewhere, and pushes them there or to another branch. */
async function push(
  branch: string,
  files: Readonly<Record<string, string>>,
  to = branch,
): Promise<string> {
  await git('fetch', '-q', 'origin');
  await git('checkout', '-q', '-B', 'work', `origin/${branch}`);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(work, path), text);
  await git('add', '-A');
  await git('commit', '-q', '-m', 'A change');
  await git('push', '-q', 'origin', `HEAD:refs/heads/${to}`);
  return await git('rev-parse', 'HEAD');
}

const start = (dataDir?: string, ...more: string[]): Promise<Daemon> =>
  startDaemon({
    seed: undefined,
    args: ['--repo', elsewhere, '--fetch-interval', '1h', ...more],
    ...(dataDir === undefined ? {} : { dataDir }),
  });

async function made(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

async function user(name: string, rules: readonly object[]): Promise<void> {
  const metadata = { name };
  await made(`${API}/users`, { metadata, spec: {} });
  const key = await made(`${API}/ownedaccesskeys`, { metadata, spec: { user: name } });
  keys.set(name, key.json().spec.key);
  const read = { nonResourceURLs: ['/git/platform.git'], verbs: ['get', 'update'] };
  await made(`${RBAC}/clusterroles`, { metadata, rules: [read, ...rules] });
  const apiGroup = 'rbac.authorization.k8s.io';
  const roleRef = { apiGroup, kind: 'ClusterRole', name };
  await made(`${RBAC}/clusterrolebindings`, {
    metadata,
    roleRef,
    subjects: [{ apiGroup, kind: 'User', name }],
  });
}

function as(name: string): { readonly token: string } {
  return { token: keys.get(name) ?? '' };
}

/** The file of the hidden secret, under a name that others read. */
async function copyAs(name: string): Promise<string> {
  await git('fetch', '-q', 'origin');
  const text = await git('show', 'origin/main:namespaces/default/sharedsecrets/hidden.yaml');
  return text
    .replace('namespace: default', 'namespace: payments')
    .replace('  name: hidden', `  name: ${name}`);
}

const secret = (name: string): object => ({
  metadata: { name },
  spec: { displayName: name, data: { token: VALUE } },
});

function expectHidden(text: string, of: string): void {
  for (const form of [CANARY, VALUE.slice(0, 16)]) expect(text, of).not.toContain(form);
}

beforeAll(async () => {
  await run('git', ['init', '-q', '--bare', '--template=', '-b', 'main', elsewhere]);
  await run('git', ['clone', '-q', elsewhere, work]);
  await run('cp', ['-r', `${EXAMPLE_PLATFORM}/.`, work]);
  await git('checkout', '-q', '-b', 'main');
  await git('add', '-A');
  await git('commit', '-q', '-m', 'The platform');
  await git('push', '-q', 'origin', 'main');
  daemon = await start();
  const file = readFileSync(join(daemon.dataDir, 'age.key'), 'utf8');
  platformKey = /age1\w+/.exec(file)?.[0] ?? '';
  await push('main', { '.sops.yaml': `creation_rules:\n  - age: ${platformKey}\n` });
  expect((await daemon.call('POST', '/sync')).code).toBe(200);
  await user('cloner', []);
  const verbs = ['create', 'update', 'patch', 'delete', 'deletecollection'];
  await user('writer', [{ apiGroups: [GROUP], resources: ['sharedsecrets', 'teams'], verbs }]);
  await user('tenant', []);
  const every = { apiGroups: [GROUP], resources: ['projectsecrets'], verbs: ['*'] };
  await user('follower', [every]);
  const rules = [
    { apiGroups: [GROUP], resources: ['sharedsecrets'], verbs: ['get', 'update', 'patch'] },
  ];
  const metadata = { name: 'tenant', namespace: 'payments' };
  const apiGroup = 'rbac.authorization.k8s.io';
  await made(`${RBAC}/namespaces/payments/roles`, { metadata, rules });
  await made(`${RBAC}/namespaces/payments/rolebindings`, {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: 'tenant' },
    subjects: ['tenant', 'follower'].map((name) => ({ apiGroup, kind: 'User', name })),
  });
  await made(SECRETS, secret('hidden'));
  await daemon.stop();
  daemon = await start(daemon.dataDir, '--write-branch', WRITES);
});

afterAll(async () => {
  await daemon?.stop();
});

test('a pending secret is shown to nobody who may not read it', async () => {
  await made(SECRETS, secret('pending'));
  await git('fetch', '-q', 'origin');
  const tip = await git('rev-parse', `origin/${WRITES}`);
  const merge = 'application/merge-patch+json';
  const body = { metadata: { labels: { a: 'b' } } };
  const asked: [string, string, string, object?][] = [
    ['cloner', 'GET', `${SECRETS}/pending`],
    ['cloner', 'GET', `${SECRETS}/pending?atRevision=${tip}`],
    ['cloner', 'GET', `${SECRETS}?atRevision=${tip}`],
    ['cloner', 'GET', `${SECRETS}/pending/history`],
    ['cloner', 'GET', `${SECRETS}/pending/source`],
    ['cloner', 'GET', `/commits/${tip}`],
    ['cloner', 'GET', `/compare?from=${tip}`],
    ['cloner', 'GET', '/branches'],
    ['cloner', 'GET', '/sync'],
    ['cloner', 'GET', '/summary'],
    ['cloner', 'POST', '/plan', { ref: WRITES }],
    ['cloner', 'POST', '/plan', { revision: tip }],
    ['writer', 'PATCH', `${SECRETS}/pending`, body],
    ['writer', 'PATCH', `${SECRETS}/pending?dryRun=All&show=file,effect`, body],
    ['writer', 'DELETE', `${SECRETS}/pending?dryRun=All`],
    ['writer', 'POST', SECRETS, secret('pending')],
    ['writer', 'POST', `${SECRETS}/pending/rollback`, { revision: tip }],
    ['writer', 'DELETE', `${SECRETS}?fieldSelector=metadata.name=pending&dryRun=All`],
    ['writer', 'DELETE', `${SECRETS}/pending`],
  ];
  for (const [name, method, path, sent] of asked) {
    const options = { ...(sent && { body: sent }), ...(method === 'PATCH' && { type: merge }) };
    const answer = await daemon.call(method, path, { ...options, ...as(name) });
    expect(answer.code, `${name} ${method} ${path}: ${answer.text}`).toBeLessThan(500);
    expectHidden(answer.text + JSON.stringify(answer.headers), `${name} ${method} ${path}`);
  }
  expectHidden(daemon.output(), 'output');
});

test('nobody reads a secret in a copy that was pushed to the branch for writes', async () => {
  await made(`${API}/teams`, { metadata: { name: 'pending' } });
  const copy = await copyAs('copy');
  const path = 'namespaces/payments/sharedsecrets/copy.yaml';
  const project = copy.replace('kind: SharedSecret', 'kind: ProjectSecret');
  await push(WRITES, {
    [path]: `${copy}\n`,
    'namespaces/payments/sharedsecrets/project.yaml': `${project}\n`,
  });
  const target = `${API}/namespaces/payments/sharedsecrets/copy`;
  const body = { metadata: { labels: { a: 'b' } } };
  const type = 'application/merge-patch+json';
  const asked = ['?dryRun=All', '?dryRun=All&show=file,effect', ''].flatMap((query) => [
    ['tenant', target + query] as const,
    // Reads every ProjectSecret.
    ['follower', target.replace('shared', 'project') + query] as const,
  ]);
  for (const [name, url] of asked) {
    const answer = await daemon.call('PATCH', url, { body, type, ...as(name) });
    expectHidden(answer.text, url);
    expect([answer.code, answer.json().message]).toEqual([
      403,
      expect.stringContaining('cannot get every one of the sharedsecrets'),
    ]);
  }
  // An administrator reads the original.
  const answer = await daemon.call('PATCH', target, { body, type });
  expect([answer.code, answer.json().spec?.data?.token]).toEqual([200, VALUE]);
  // The platform wrote this version.
  const more = { body: { metadata: { labels: { a: 'c' } } }, type, ...as('tenant') };
  const after = await daemon.call('PATCH', target, more);
  expect([after.code, after.text]).toEqual([403, expect.anything()]);
});

/** Changes a label, which takes no right to read. */
function labelled(path: string, value: string, name?: string): Promise<Answer> {
  return daemon.call('PATCH', path, {
    body: { metadata: { labels: { value } } },
    type: 'application/merge-patch+json',
    ...(name === undefined ? {} : as(name)),
  });
}

async function discard(): Promise<void> {
  await git('push', '-q', 'origin', `:${WRITES}`);
}

test('a value that a pending file encrypts beside the secret fields is shown to nobody who may not read it', async () => {
  const rules = `creation_rules:\n  - path_regex: ^teams/\n    encrypted_regex: ^displayName$\n    age: ${platformKey}\n  - age: ${platformKey}\n`;
  await git('fetch', '-q', 'origin');
  const former = await git('show', 'origin/main:.sops.yaml');
  await push('main', { '.sops.yaml': rules });
  expect((await daemon.call('POST', '/sync')).code).toBe(200);
  const team = `${API}/teams/hidden`;
  const spec = { displayName: CANARY };
  const created = await daemon.call('POST', `${API}/teams`, {
    body: { metadata: { name: 'hidden' }, spec },
    headers: { 'idempotency-key': 'guess' },
  });
  expect(created.code, created.text).toBe(201);
  const json = 'application/json-patch+json';
  const merge = 'application/merge-patch+json';
  const apply = 'application/apply-patch+yaml';
  const label = { metadata: { labels: { a: 'b' }, finalizers: ['example.org/hold'] } };
  const from = '/spec/displayName';
  const whole = { apiVersion: `${GROUP}/v1`, kind: 'Team', metadata: { name: 'hidden' } };
  const asked: [number, string, string, object?, string?][] = [
    [200, 'PATCH', '?dryRun=All', label, merge],
    [200, 'PATCH', '', label, merge],
    [403, 'PATCH', '', [{ op: 'copy', from, path: '/spec/description' }], json],
    [403, 'PATCH', '', [{ op: 'test', path: from, value: CANARY }], json],
    [403, 'PATCH', '', [{ op: 'test', path: from, value: 'guess' }], json],
    [403, 'PATCH', '?fieldManager=a', { ...whole, spec: { displayName: 'guess' } }, apply],
    [200, 'PATCH', '', [{ op: 'add', path: '/spec/description', value: 'Text' }], json],
    [200, 'DELETE', '?dryRun=All'],
    [200, 'PUT', '', { ...whole, spec: { displayName: 'other' } }],
  ];
  for (const [code, method, query, body, type] of asked) {
    const options = { ...(body && { body }), ...(type && { type }), ...as('writer') };
    const answer = await daemon.call(method, team + query, options);
    const of = `${method} ${query} ${JSON.stringify(body)}`;
    expectHidden(answer.text, of);
    expect(answer.code, `${of}: ${answer.text}`).toBe(code);
  }
  await git('fetch', '-q', 'origin');
  const told = await git('log', '-p', `origin/main..origin/${WRITES}`);
  expectHidden(told, 'the branch');
  expect(told).toContain('Idempotency-Key: guess');
  // A reader of the branch could try values until the digest is the same.
  expect(told).not.toContain('Idempotency-Digest');
  await push('main', { '.sops.yaml': former });
  expect((await daemon.call('POST', '/sync')).code).toBe(200);
});

test('a restart keeps the files of the daemon apart from those of others', async () => {
  await discard();
  await made(PAYMENTS, secret('mine'));
  expect((await labelled(`${PAYMENTS}/mine`, 'before', 'tenant')).code).toBe(200);
  await daemon.stop();
  daemon = await start(daemon.dataDir, '--write-branch', WRITES);
  const after = await labelled(`${PAYMENTS}/mine`, 'after', 'tenant');
  expect(after.code, after.text).toBe(200);

  // The pushed file was one of the daemon, at an earlier moment.
  await git('fetch', '-q', 'origin');
  const path = 'namespaces/payments/sharedsecrets/mine.yaml';
  const former = await git('show', `origin/${WRITES}~1:${path}`);
  await push(WRITES, { [path]: `${former}\n` });
  for (const moment of ['beside', 'after']) {
    const refused = await labelled(`${PAYMENTS}/mine`, moment, 'tenant');
    expect([refused.code, refused.text]).toEqual([403, expect.stringContaining('by others')]);
    expectHidden(refused.text, moment);
    await daemon.stop();
    daemon = await start(daemon.dataDir, '--write-branch', WRITES);
  }
});

test('nobody reads a file of the daemon by a copy in another folder', async () => {
  await discard();
  await git('fetch', '-q', 'origin');
  const path = (namespace: string): string => `namespaces/${namespace}/sharedsecrets/bare.yaml`;
  const text = await git('show', 'origin/main:namespaces/default/sharedsecrets/hidden.yaml');
  const bare = text.replace('  namespace: default\n', '').replace('  name: hidden', '  name: bare');
  await push('main', { [path('default')]: `${bare}\n` });
  expect((await daemon.call('POST', '/sync')).code).toBe(200);
  expect((await labelled(`${SECRETS}/bare`, 'own')).code).toBe(200);

  await git('fetch', '-q', 'origin');
  const own = await git('show', `origin/${WRITES}:${path('default')}`);
  expect(own).not.toContain('namespace:');
  await push(WRITES, { [path('payments')]: `${own}\n` });
  const answer = await labelled(`${PAYMENTS}/bare`, 'copied', 'tenant');
  expectHidden(answer.text, 'the copy');
  expect(answer.code, answer.text).toBe(403);
});

test('nobody reads a copy that a create of another object is appended to', async () => {
  await discard();
  await made(`${API}/teams`, { metadata: { name: 'pending' } });
  const copy = await copyAs('copy');
  await push(WRITES, { 'namespaces/payments/sharedsecrets/next.yaml': `${copy}\n` });
  await made(PAYMENTS, secret('next'));
  const answer = await labelled(`${PAYMENTS}/copy`, 'copied', 'tenant');
  expectHidden(answer.text, 'the copy');
  expect(answer.code, answer.text).toBe(403);
});

test('nobody reads a copied secret through an object that follows it', async () => {
  await discard();
  await made(PAYMENTS, secret('source'));
  const copy = await copyAs('source');
  const follower = (name: string, namespace: string, source: string): object => ({
    apiVersion: `${GROUP}/v1`,
    kind: 'ProjectSecret',
    metadata: {
      name,
      namespace: 'payments',
      labels: {
        'gitplane.dev/sharedsecret-name': source,
        'gitplane.dev/sharedsecret-namespace': namespace,
      },
    },
    spec: { displayName: name },
  });
  await push(WRITES, {
    'namespaces/payments/sharedsecrets/source.yaml': `${copy}\n`,
    'follower.yaml': JSON.stringify(follower('pushed', 'default', 'hidden')),
  });
  const path = `${API}/namespaces/payments/projectsecrets`;
  const body = follower('own', 'payments', 'source');
  const created = await daemon.call('POST', path, { body, ...as('follower') });
  expect(created.code, created.text).toBe(201);
  const answers = [
    created,
    await labelled(`${path}/own`, 'b', 'follower'),
    await labelled(`${path}/own`, 'b', 'follower'),
    await labelled(`${path}/pushed`, 'c', 'follower'),
    await daemon.call('DELETE', `${path}/own?dryRun=All`, as('follower')),
    await daemon.call('DELETE', `${path}/own`, as('follower')),
  ];
  for (const { text: answer } of answers) expectHidden(answer, answer);
});

test('nobody reads a copied secret that a merge brings and takes back', async () => {
  const copy = await copyAs('taken-back');
  const path = 'namespaces/payments/sharedsecrets/taken-back.yaml';
  const inner = await push('main', { [path]: `${copy}\n` }, 'topic');
  await git('rm', '-q', path);
  await git('commit', '-q', '-m', 'Take it back');
  await git('checkout', '-q', '-B', 'merged', 'origin/main');
  await git('merge', '-q', '--no-ff', '-m', 'Merge the topic', 'work');
  await git('push', '-q', 'origin', 'HEAD:main');
  const [merge, before] = await Promise.all(['HEAD', 'HEAD^1'].map((at) => git('rev-parse', at)));
  await push('main', { 'README.md': 'A later commit\n' });
  expect((await daemon.call('POST', '/sync')).code).toBe(200);

  const at = `atRevision=${inner}`;
  const asked: [string, string, object?][] = [
    ['GET', `${PAYMENTS}/taken-back?${at}`],
    ['GET', `${PAYMENTS}?${at}`],
    ['GET', `${PAYMENTS}?${at}&limit=500&fieldSelector=metadata.name=taken-back`],
    ['GET', `${PAYMENTS}/taken-back/source?${at}`],
    ['POST', `${PAYMENTS}/taken-back/rollback`, { revision: inner }],
  ];
  for (const [method, url, body] of asked) {
    for (const who of [as('tenant'), {}]) {
      const answer = await daemon.call(method, url, { ...(body && { body }), ...who });
      expectHidden(answer.text, url);
      expect([answer.code, answer.json().message], url).toEqual([
        403,
        expect.stringMatching(/name that merge|cannot (list|create)/),
      ]);
    }
  }
  const refused = await daemon.call('GET', `${PAYMENTS}/taken-back?${at}`);
  expect(refused.text).toContain(`came with the merge ${merge} and`);
  const teams = await daemon.call('GET', `${API}/teams?${at}`);
  expect(teams.code, teams.text).toBe(200);
  const former = await daemon.call('GET', `${SECRETS}/hidden?atRevision=${before}`);
  expect(former.json().spec?.data?.token).toBe(VALUE);
});

test('a role that waits for the review is granted by nobody who does not hold it', async () => {
  await discard();
  const apiGroup = 'rbac.authorization.k8s.io';
  const little = { apiGroups: [GROUP], resources: ['teams'], verbs: ['list'] };
  const all = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
  const bindings = { apiGroups: [apiGroup], resources: ['clusterrolebindings'], verbs: ['create'] };
  await daemon.stop();
  daemon = await start(daemon.dataDir);
  await user('binder', [little, bindings]);
  await made(`${RBAC}/clusterroles`, { metadata: { name: 'wide' }, rules: [little] });
  await daemon.stop();
  daemon = await start(daemon.dataDir, '--write-branch', WRITES);
  const bind = (name: string, to: string): Promise<Answer> =>
    daemon.call('POST', `${RBAC}/clusterrolebindings`, {
      body: {
        metadata: { name },
        roleRef: { apiGroup, kind: 'ClusterRole', name: 'wide' },
        subjects: [{ apiGroup, kind: 'User', name: to }],
      },
      ...as('binder'),
    });
  const before = await bind('before', 'another');
  expect(before.code, before.text).toBe(201);
  const type = 'application/merge-patch+json';
  const widened = await daemon.call('PATCH', `${RBAC}/clusterroles/wide`, {
    body: { rules: [all] },
    type,
  });
  expect(widened.code, widened.text).toBe(200);
  const after = await bind('after', 'binder');
  expect([after.code, after.text]).toEqual([403, expect.stringContaining('not currently held')]);
});

test('a push to the branch for writes grants nothing before it is merged', async () => {
  await discard();
  await made(`${API}/teams`, { metadata: { name: 'pending' } });
  const apiGroup = 'rbac.authorization.k8s.io';
  const binding = (name: string): object => ({
    apiVersion: `${apiGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup, kind: 'User', name: 'tenant' }],
  });
  await push(WRITES, { 'clusterrolebindings/grab.yaml': JSON.stringify(binding('grab')) });
  // A write of another user opens the branch with the pushed binding.
  expect((await labelled(`${API}/teams/pending`, 'opened')).code).toBe(200);
  const denied: [string, string, object?][] = [
    ['GET', `${SECRETS}/hidden`],
    ['POST', `${API}/teams`, { metadata: { name: 'grabbed' } }],
    ['POST', `${RBAC}/clusterrolebindings`, binding('more')],
    ['DELETE', `${RBAC}/clusterrolebindings/grab`],
    ['GET', `${SECRETS}?atRevision=${await git('rev-parse', `origin/${WRITES}`)}`],
  ];
  for (const [method, path, body] of denied) {
    const answer = await daemon.call(method, path, { ...(body && { body }), ...as('tenant') });
    expect([403, 404], `${method} ${path}: ${answer.text}`).toContain(answer.code);
    expectHidden(answer.text, `${method} ${path}`);
  }
});

test('nobody names a recipient by a push to the branch for writes', async () => {
  await made(`${API}/teams`, { metadata: { name: 'first' } });
  const { recipient } = await makeIdentity();
  const rules = `creation_rules:\n  - age: ${platformKey},${recipient}\n`;
  const before = await push(WRITES, { '.sops.yaml': rules });

  const answer = await daemon.call('POST', SECRETS, { body: secret('sealed') });

  await git('fetch', '-q', 'origin');
  const told = await git('log', '-p', `${before}..origin/${WRITES}`);
  expect(told, answer.text).not.toContain(recipient);
  expect([answer.code, answer.json().message]).toEqual([
    409,
    expect.stringMatching(/\.sops\.yaml.*gitplane\/writes/),
  ]);
});

test('a tree bomb on the branch for writes stops pending writes alone, and they name it', async () => {
  await git('push', '-q', 'origin', `:${WRITES}`);
  await made(`${API}/teams`, { metadata: { name: 'before' } });
  await git('fetch', '-q', 'origin');
  const id = wideBomb(work, 10, 8);
  const bomb = commitWithEntry(work, { mode: '040000', name: 'bomb', id }, `origin/${WRITES}`);
  await git('push', '-q', 'origin', `${bomb}:${WRITES}`);
  const onBomb = await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'on' } } });
  expect([onBomb.code, onBomb.text]).toEqual([503, expect.stringContaining('bomb')]);
  // The pending commits would be carried over.
  await push('main', { 'README.md': 'Another text.\n' });
  expect((await daemon.call('POST', '/sync')).code).toBe(200);
  const carried = await daemon.call('POST', `${API}/teams`, {
    body: { metadata: { name: 'carried' } },
  });
  expect([carried.code, carried.text]).toEqual([503, expect.stringContaining('bomb')]);
  expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
  await git('push', '-q', 'origin', `:${WRITES}`);
  await made(`${API}/teams`, { metadata: { name: 'after' } });
});
