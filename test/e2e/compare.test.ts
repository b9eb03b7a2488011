/** Two moments of the platform compared, the timeline of a team, signatures of commits, and summaries of the past. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, RBAC, scratchDir, startDaemon } from '../support/daemon.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers have many shapes
type Any = any;

const MERGE = 'application/merge-patch+json';
const SECRET = 'a secret value that no comparison shows';

let daemon: Daemon;
let limited: string;
/** Commits before and after the changes. */
let before: string;
let after: string;

const get = (path: string, token?: string): Promise<Answer> =>
  daemon.call('GET', path, token === undefined ? {} : { token });

async function write(method: string, path: string, body: object): Promise<Answer> {
  const type = method === 'PATCH' ? MERGE : 'application/json';
  const answer = await daemon.call(method, `${API}/${path}`, { body, type });
  expect(answer.code, answer.text).toBeLessThan(300);
  return answer;
}

async function rbac(plural: string, body: object): Promise<void> {
  const answer = await daemon.call('POST', `${RBAC}/${plural}`, { body });
  expect(answer.code, answer.text).toBe(201);
}

const head = async (): Promise<string> => (await get('/commits?limit=1')).json().items[0].revision;

beforeAll(async () => {
  const keys = scratchDir();
  for (const name of ['daemon', 'ann', 'mallory']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(keys, name)]);
  }
  const allowed = ['daemon', 'ann'].map(
    (name) =>
      `${name}@example.com namespaces="git" ${readFileSync(join(keys, `${name}.pub`), 'utf8')}`,
  );
  writeFileSync(join(keys, 'allowed'), allowed.join(''));
  writeFileSync(join(keys, 'policy.yaml'), 'require: false\nrules: []\n');
  const signing = [
    '--allowed-signers',
    join(keys, 'allowed'),
    '--signing-key',
    join(keys, 'daemon'),
  ];
  daemon = await startDaemon({
    args: [...signing, '--signature-policy', join(keys, 'policy.yaml')],
  });
  await write('POST', 'users', { metadata: { name: 'limited' } });
  limited = (await write('POST', 'ownedaccesskeys', { spec: { user: 'limited' } })).json().spec.key;
  await write('POST', 'teams', { metadata: { name: 'gone' }, spec: { displayName: 'Gone' } });
  before = await head();
  await write('PATCH', 'teams/storefront', { spec: { displayName: 'Shop' } });
  await write('POST', 'teams', { metadata: { name: 'made' }, spec: { displayName: 'Made' } });
  const secrets = 'namespaces/storefront/sharedsecrets';
  await write('POST', secrets, {
    metadata: { name: 'owned', namespace: 'storefront' },
    spec: {
      displayName: 'Owned',
      owner: { team: 'storefront' },
      data: { value: Buffer.from(SECRET).toString('base64') },
    },
  });
  await daemon.call('DELETE', `${API}/teams/gone`);
  const clone = await daemon.clone();
  const sign = async (key: string | undefined, text: string): Promise<void> => {
    const file = join(clone, 'teams/platform.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}# ${text}\n`);
    const config =
      key === undefined
        ? []
        : [
            '-c',
            'gpg.format=ssh',
            '-c',
            `user.signingkey=${join(keys, key)}`,
            '-c',
            'commit.gpgsign=true',
          ];
    const made = await daemon.git([...config, 'commit', '-qam', text], clone);
    expect(made.code, made.stderr).toBe(0);
  };
  await sign('ann', 'signed by Ann');
  await sign('mallory', 'signed by Mallory');
  await sign(undefined, 'not signed');
  const pushed = await daemon.git(['push', '-q'], clone);
  expect(pushed.code, pushed.stderr).toBe(0);
  after = await head();
}, 120_000);

afterAll(async () => {
  await daemon?.stop();
});

describe('a comparison', () => {
  const named = ({ items }: Any): string[] =>
    items.map(({ verb, name }: Any) => `${verb} ${name}`).sort();

  test('has the objects that were added, changed and removed, with their fields', async () => {
    const answer = await get(`/compare?from=${before}&to=${after}`);
    expect(answer.code, answer.text).toBe(200);
    const found = answer.json();
    expect(named(found)).toEqual([
      'create made',
      'create owned',
      'delete gone',
      'update storefront',
    ]);
    expect(found.summary).toEqual({ create: 2, delete: 1, update: 1 });
    const storefront = found.items.find(({ name }: Any) => name === 'storefront');
    expect(storefront.fields).toEqual([
      { path: 'spec.displayName', before: 'Storefront', after: 'Shop' },
    ]);
    expect(answer.text).not.toContain(SECRET);
    expect(answer.text).not.toContain(Buffer.from(SECRET).toString('base64'));
  });

  test('goes back in time too, and ends at the present', async () => {
    const back = (await get(`/compare?from=${after}&to=${before}`)).json();
    expect(named(back)).toEqual([
      'create gone',
      'delete made',
      'delete owned',
      'update storefront',
    ]);
    expect(named((await get(`/compare?from=${before}`)).json())).toContain('create made');
    expect((await get(`/compare?from=${after}&to=${after}`)).json()).toMatchObject({ count: 0 });
    const now = new Date().toISOString();
    expect((await get(`/compare?from=${now}`)).json()).toMatchObject({ count: 0 });
  });

  test.each([
    ['', 400],
    ['?from=yesterday', 400],
    ['?from=0000000000', 404],
    ['?from=2000-01-01T00:00:00Z', 404],
  ])('answers %j with %i', async (query, code) => {
    expect((await get(`/compare${query}`)).code).toBe(code);
  });

  test('takes the right to clone', async () => {
    expect((await get(`/compare?from=${before}`, limited)).code).toBe(403);
  });
});

describe('the timeline of a team', () => {
  test('has commits of the team and of what it owns, page by page', async () => {
    const subjects: string[] = [];
    let token = '';
    do {
      const page = (await get(`/commits?team=storefront&limit=1&continue=${token}`)).json();
      subjects.push(...page.items.map(({ subject }: Any) => subject));
      token = page.metadata.continue ?? '';
    } while (token !== '');
    expect(subjects.slice(0, 2)).toEqual([
      'create SharedSecret "storefront/owned"',
      'patch Team "storefront"',
    ]);
    expect(subjects.join('\n')).not.toMatch(/"made"|"gone"|signed/);
  });

  test('is empty for a team that nobody knows', async () => {
    expect((await get('/commits?team=unknown')).json().items).toEqual([]);
  });
});

test('commits say who signed them, and whether the key is trusted', async () => {
  const { items } = (await get('/commits?limit=4')).json();
  expect(items.map(({ signature }: Any) => signature)).toEqual([
    { state: 'unsigned' },
    { state: 'untrusted', message: expect.stringContaining('is not an allowed signer') },
    { state: 'trusted', signer: 'ann@example.com' },
    { state: 'trusted', signer: 'gitplane' },
  ]);
  const history = (await get(`${API}/teams/storefront/history?limit=1`)).json();
  expect(history.items[0].signature).toEqual({ state: 'trusted', signer: 'gitplane' });
});

describe('a summary of the past', () => {
  const teamsOf = ({ kinds }: Any): number =>
    kinds.find(({ plural }: Any) => plural === 'teams')?.objects;

  test('has the commit and the objects of that moment', async () => {
    const found = (await get(`/summary?atRevision=${before}`)).json();
    expect(found.past.revision).toBe(before);
    expect(found.branch).toMatchObject({ state: 'past', revision: before });
    expect(teamsOf(found)).toBe(4);
    expect(found.degraded.count).toBe(0);
    expect(found.health).toBeUndefined();
    expect((await get(`/summary?atTime=${new Date().toISOString()}`)).json().past.revision).toBe(
      after,
    );
  });

  test('has nothing of what the reader may not list', async () => {
    const answer = await get(`/summary?atRevision=${before}`, limited);
    expect(answer.code).toBe(200);
    expect(answer.json()).toMatchObject({ kinds: [], degraded: { count: 0, items: [] } });
    expect(answer.json().branch).toBeUndefined();
    expect(answer.text).not.toMatch(/Gone|create Team/);
  });

  test('has no message of a commit for a reader who may not clone', async () => {
    const rules = [{ nonResourceURLs: ['/sync'], verbs: ['get'] }];
    await rbac('clusterroles', { metadata: { name: 'syncer' }, rules });
    await rbac('clusterrolebindings', {
      metadata: { name: 'syncer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'syncer' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'limited' }],
    });
    const { branch } = (await get(`/summary?atRevision=${before}`, limited)).json();
    expect(branch).toEqual({ state: 'past', head: before, revision: before });
  });

  test('does not wait for a change', async () => {
    const since = '0'.repeat(64);
    expect((await get(`/summary?atRevision=${before}&since=${since}`)).code).toBe(400);
  });
});

test('a plan that is too large for an answer is refused with the remedy', async () => {
  const work = await daemon.clone();
  const note = 'x'.repeat(200_000);
  for (let i = 0; i < 180; i++) {
    const metadata = { name: `large-${i}`, annotations: { note } };
    const text = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata, spec: {} };
    writeFileSync(join(work, `large-${i}.yaml`), JSON.stringify(text));
  }
  const person = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];
  await daemon.git(['add', '-A'], work);
  await daemon.git([...person, 'commit', '-q', '-m', 'Large'], work);
  const pushed = await daemon.git(['push', '-q', 'origin', 'HEAD:refs/heads/large'], work);
  expect(pushed.code, pushed.stderr).toBe(0);
  const answer = await daemon.call('POST', '/plan', { body: { ref: 'large' } });
  expect(answer.code).toBe(400);
  expect(answer.json().message).toContain(
    'the plan of 180 changes has more than 32 MiB: run gitplane plan in a clone',
  );
});
