/** Summary and search: complete for an administrator, and no more than the rights of anyone else. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
let clone: string;
/** Keys by user. */
const keys: Record<string, string> = {};

const GROUP = 'management.gitplane.dev';

async function make(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

async function userWith(name: string, rules: readonly object[], namespace?: string): Promise<void> {
  await make(`${API}/users`, { metadata: { name } });
  keys[name] = (await make(`${API}/ownedaccesskeys`, { spec: { user: name } })).json().spec.key;
  const where = namespace === undefined ? RBAC : `${RBAC}/namespaces/${namespace}`;
  const [roles, bindings, kind] =
    namespace === undefined
      ? ['clusterroles', 'clusterrolebindings', 'ClusterRole']
      : ['roles', 'rolebindings', 'Role'];
  await make(`${where}/${roles}`, { metadata: { name: `${name}-role` }, rules });
  await make(`${where}/${bindings}`, {
    metadata: { name: `${name}-role` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: `${name}-role` },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
  });
}

async function push(files: Readonly<Record<string, string>>, message: string): Promise<string> {
  await daemon.git(['pull', '-q', '--rebase'], clone);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), text);
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-q', '-m', message], clone);
  const head = await daemon.git(['rev-parse', 'HEAD'], clone);
  await daemon.git(['push', '-q'], clone);
  return head.stdout.trim();
}

async function get(path: string, as?: string): Promise<Answer> {
  const token = as === undefined ? {} : { token: keys[as] ?? '' };
  return await daemon.call('GET', path, token);
}

const secret = (namespace: string, name: string): string =>
  `apiVersion: ${GROUP}/v1\nkind: SharedSecret\nmetadata:\n  name: ${name}\n  namespace: ${namespace}\n  labels: {tier: gold}\nspec:\n  displayName: Mail of ${namespace}\n  owner: {user: mia}\n`;

beforeAll(async () => {
  daemon = await startDaemon();
  await make(`${API}/teams`, {
    metadata: { name: 'pastry', labels: { tier: 'silver' } },
    spec: { displayName: 'Pastry & Cakes' },
  });
  const secrets = [{ apiGroups: [GROUP], resources: ['sharedsecrets'], verbs: ['list', 'get'] }];
  await userWith('none', []);
  await userWith('vera', secrets, 'vault');
  await userWith('mia', []);
  await userWith('opal', [
    { nonResourceURLs: ['/sync'], verbs: ['get'] },
    { apiGroups: [GROUP], resources: ['teams'], verbs: ['list'] },
  ]);
  await userWith('carl', [{ nonResourceURLs: ['/sync', '/git/platform.git'], verbs: ['get'] }]);
  clone = await daemon.clone();
  await push(
    {
      'x/vault.yaml': secret('vault', 'mail-a'),
      'x/cellar.yaml': secret('cellar', 'mail-b'),
    },
    'Two secrets',
  );
});

afterAll(async () => {
  await daemon.stop();
});

describe('the summary', () => {
  test('shows an administrator the branch, pushes, kinds and health', async () => {
    const refused = await push({ 'x/bad.yaml': 'kind: Team\n' }, 'A bad file');
    await daemon.git(['reset', '-q', '--hard', 'HEAD~1'], clone);
    const head = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    const summary = (await get('/summary')).json();
    expect(summary).toMatchObject({
      kind: 'Summary',
      health: { ok: true },
      branch: { state: 'applied', head, revision: head, commit: { message: 'Two secrets' } },
      held: null,
      withheld: [],
      degraded: { count: 0, items: [] },
      secretStore: { state: 'disabled' },
    });
    expect(summary.pushes.items.slice(0, 2)).toMatchObject([
      { user: 'admin', result: 'refused', revision: refused, problems: expect.any(Number) },
      { user: 'admin', result: 'accepted', revision: head },
    ]);
    expect(summary.pushes.items[0].lines.join('\n')).toContain('x/bad.yaml:1');
    const teams = (await get(`${API}/teams`)).json().items.length;
    expect(summary.kinds).toContainEqual(
      expect.objectContaining({ kind: 'Team', plural: 'teams', objects: teams, degraded: 0 }),
    );
  });

  test('shows a user without rights health alone', async () => {
    const summary = (await get('/summary', 'none')).json();
    expect(Object.keys(summary).sort()).toEqual(
      [
        ...['apiVersion', 'conditions', 'degraded', 'health', 'kind', 'kinds', 'metadata'],
        ...['version', 'withheld'],
      ].sort(),
    );
    expect(summary.kinds).toEqual([]);
    expect(summary.withheld).toContainEqual({
      section: 'branch',
      verb: 'get',
      path: '/sync',
    });
    expect((await daemon.call('GET', '/summary', { token: null })).code).toBe(401);
  });

  test('shows the newest commit to users who may clone, as a past one', async () => {
    const past = (await get('/summary')).json().branch.revision;
    const readers = { admin: undefined, opal: 'opal', carl: 'carl' };
    const commits = async (query: string): Promise<Record<string, string | undefined>> => {
      const seen: Record<string, string | undefined> = {};
      for (const [reader, as] of Object.entries(readers)) {
        const { branch } = (await get(`/summary${query}`, as)).json();
        expect(branch.revision).toBe(past);
        seen[reader] = branch.commit?.message;
      }
      return seen;
    };
    const forCloners = { admin: 'Two secrets', opal: undefined, carl: 'Two secrets' };
    expect(await commits('')).toEqual(forCloners);
    expect(await commits(`?atRevision=${past}`)).toEqual(forCloners);
  });

  test('counts objects of the namespaces whose objects the caller may list', async () => {
    const { kinds } = (await get('/summary', 'vera')).json();
    expect(kinds).toEqual([
      expect.objectContaining({ kind: 'SharedSecret', objects: 1, partial: true }),
    ]);
  });

  test('reports degraded objects with their place to users who may see them', async () => {
    const bare = join(daemon.dataDir, 'repo.git');
    await push({ 'x/vault.yaml': secret('vault', 'mail-a').replace('spec:', 'spec: [') }, 'Broken');
    expect((await get('/summary')).json().degraded.count).toBe(0);
    // No hook judges a move of the ref in the repository itself.
    const head = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    await daemon.git(['fetch', '-q', clone, 'main'], bare);
    await daemon.git(['update-ref', 'refs/heads/main', head], bare);
    const seen = async (as: string): Promise<{ count: number; items: object[] }> =>
      (await get('/summary', as)).json().degraded;
    await expect.poll(() => seen('vera')).toMatchObject({ count: 1 });
    const degraded = await seen('vera');
    expect(degraded.items).toEqual([
      expect.objectContaining({ kind: 'SharedSecret', name: 'mail-a', path: 'x/vault.yaml' }),
    ]);
    expect((await get('/summary', 'none')).json().degraded.count).toBe(0);
    await push({ 'x/vault.yaml': secret('vault', 'mail-a') }, 'Mended');
  });

  test('waits for a change', async () => {
    const { version } = (await get('/summary')).json().metadata;
    const same = (await get(`/summary?since=${version}&timeout=1s`)).json().metadata.version;
    const waiting = get(`/summary?since=${same}&timeout=60s`);
    await make(`${API}/teams`, { metadata: { name: 'newest' } });
    const summary = (await waiting).json();
    expect(summary.metadata.version).not.toBe(same);
    expect((await get('/summary?since=x')).code).toBe(400);
  });
});

describe('search', () => {
  interface Item {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }
  const found = async (query: string, as?: string): Promise<string[]> => {
    const answer = await get(`/search?q=${encodeURIComponent(query)}`, as);
    expect(answer.code, answer.text).toBe(200);
    const { items, total } = answer.json();
    expect(total).toBeGreaterThanOrEqual(items.length);
    return items.map(({ kind, namespace, name }: Item) =>
      [kind, namespace, name].filter(Boolean).join('/'),
    );
  };

  test.each([
    ['pastry', ['Team/pastry']],
    ['CAKES kind:team', ['Team/pastry']],
    ['kind:tm tier=silver', ['Team/pastry']],
    ['label:tier=gold', ['SharedSecret/cellar/mail-b', 'SharedSecret/vault/mail-a']],
    ['label:tier=gold ns:vault', ['SharedSecret/vault/mail-a']],
    ['owner:mia mail', ['SharedSecret/cellar/mail-b', 'SharedSecret/vault/mail-a']],
    ['owner:user/mia ns:cellar', ['SharedSecret/cellar/mail-b']],
    ['kind:team mail', []],
  ])('%s finds %j', async (query, names) => {
    expect((await found(query)).sort()).toEqual(names);
  });

  test('finds only objects that the caller may list or get', async () => {
    expect(await found('mail', 'none')).toEqual([]);
    expect(await found('mail', 'vera')).toEqual(['SharedSecret/vault/mail-a']);
    // An owner may get the object, and list nothing.
    expect((await found('mail-', 'mia')).sort()).toEqual([
      'SharedSecret/cellar/mail-b',
      'SharedSecret/vault/mail-a',
    ]);
    const { total } = (await get('/search?q=mail', 'vera')).json();
    expect(total).toBe(1);
  });

  test('follows creations, changes and deletions', async () => {
    expect(await found('fleeting')).toEqual([]);
    await make(`${API}/teams`, { metadata: { name: 'fleeting' } });
    expect(await found('fleeting')).toEqual(['Team/fleeting']);
    await daemon.call('PATCH', `${API}/teams/fleeting`, {
      type: 'application/merge-patch+json',
      body: JSON.stringify({ metadata: { labels: { stage: 'late' } } }),
    });
    expect(await found('label:stage=late')).toEqual(['Team/fleeting']);
    await daemon.call('DELETE', `${API}/teams/fleeting`);
    expect(await found('fleeting')).toEqual([]);
  });

  test.each([
    '',
    'q=',
    'q=a&limit=0',
    'q=a&limit=101',
    `q=${'a'.repeat(300)}`,
    'q=a+b+c+d+e+f+g+h+i',
  ])('refuses %s', async (query) => {
    expect((await get(`/search?${query}`)).code).toBe(400);
  });
});

describe('blame', () => {
  interface Blame {
    readonly metadata: { readonly remainingItemCount?: number };
    readonly commits: Readonly<Record<string, { readonly message: string }>>;
    readonly fields: readonly { readonly path: string; readonly revision?: string }[];
  }
  const url = `${API}/teams/blamed`;
  const change = async (spec: object): Promise<string> => {
    const body = JSON.stringify({ spec });
    const type = 'application/merge-patch+json';
    const answer = await daemon.call('PATCH', url, { type, body });
    expect(answer.code, answer.text).toBe(200);
    return String(answer.headers['gitplane-commit']);
  };
  const blamed = async (query = ''): Promise<Record<string, string | undefined>> => {
    const blame: Blame = (await get(`${url}/blame${query}`)).json();
    return Object.fromEntries(blame.fields.map(({ path, revision }) => [path, revision]));
  };

  test('names the commit that set each field, and no value', async () => {
    const made = await make(`${API}/teams`, {
      metadata: { name: 'blamed', labels: { tier: 'one' } },
      spec: { displayName: 'First', users: ['ada', 'mia'] },
    });
    const first = String(made.headers['gitplane-commit']);
    const second = await change({ displayName: 'Second' });
    const third = await change({ users: ['vera', 'ada'] });
    expect(await blamed()).toEqual({
      'metadata.labels.tier': first,
      'spec.displayName': second,
      'spec.users[0]': third,
      'spec.users[1]': first,
    });
    const { text } = await get(`${url}/blame`);
    expect(text).not.toMatch(/Second|vera/);
    const { commits }: Blame = (await get(`${url}/blame`)).json();
    expect(commits[second]).toMatchObject({
      author: { name: 'admin' },
      message: 'patch Team "blamed"',
    });
  });

  test('keeps the commit when the file moves', async () => {
    await daemon.git(['pull', '-q', '--rebase'], clone);
    const before = await blamed();
    await daemon.git(['mv', 'teams/blamed.yaml', 'teams/elsewhere.yaml'], clone);
    await push({}, 'Move a file');
    expect(await blamed()).toEqual(before);
  });

  test('marks fields that are older than the examined commits', async () => {
    const last = await change({ displayName: 'Third' });
    const { metadata }: Blame = (await get(`${url}/blame?limit=1`)).json();
    expect(metadata.remainingItemCount).toBeGreaterThan(1);
    expect(await blamed('?limit=1')).toEqual({
      'metadata.labels.tier': undefined,
      'spec.displayName': last,
      'spec.users[0]': undefined,
      'spec.users[1]': undefined,
    });
    expect((await get(`${url}/blame?limit=0`)).code).toBe(400);
  });

  test('begins again with an object that is made again', async () => {
    await daemon.call('DELETE', url);
    expect((await get(`${url}/blame`)).code).toBe(404);
    const made = await make(`${API}/teams`, {
      metadata: { name: 'blamed', labels: { tier: 'one' } },
      spec: { displayName: 'Third' },
    });
    const commit = made.headers['gitplane-commit'];
    expect(await blamed()).toEqual({ 'metadata.labels.tier': commit, 'spec.displayName': commit });
  });

  test('needs the right to get the object', async () => {
    expect((await get(`${url}/blame`, 'none')).code).toBe(403);
    const secrets = `${API}/namespaces/vault/sharedsecrets`;
    expect((await get(`${secrets}/mail-a/blame`, 'vera')).code).toBe(200);
  });
});

describe('access', () => {
  const question = 'verb=get&resource=sharedsecrets&namespace=vault&name=mail-a';
  const bindings = { apiGroups: ['rbac.authorization.k8s.io'], verbs: ['get', 'list'] };

  beforeAll(async () => {
    const reviews = {
      apiGroups: ['authorization.k8s.io'],
      resources: ['subjectaccessreviews'],
      verbs: ['create'],
    };
    await userWith('auditor', [
      reviews,
      { ...bindings, resources: ['rolebindings', 'clusterrolebindings', 'roles', 'clusterroles'] },
      {
        apiGroups: [GROUP],
        resources: ['users', 'teams', 'sharedsecrets'],
        verbs: ['get', 'list'],
      },
    ]);
    const ofNone = { apiGroups: [GROUP], resources: ['users'], resourceNames: ['none'] };
    await userWith('blind', [reviews, { ...ofNone, verbs: ['get'] }]);
    await make(`${API}/ownedaccesskeys`, {
      metadata: { name: 'vera-key' },
      spec: { user: 'vera' },
    });
    await make(`${API}/teams`, { metadata: { name: 'cooks' }, spec: { users: ['none'] } });
    await make(`${RBAC}/namespaces/vault/rolebindings`, {
      metadata: { name: 'cooks' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'vera-role' },
      subjects: [
        { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'gitplane:team:cooks' },
      ],
    });
  });

  test('explains the chain of rules', async () => {
    const answer = (await get(`/access/explain?${question}&user=none`, 'auditor')).json();
    expect(answer).toMatchObject({
      allowed: true,
      hidden: 0,
      subject: { name: 'none', groups: expect.arrayContaining(['gitplane:team:cooks']) },
      grants: [
        {
          via: 'binding',
          binding: { kind: 'RoleBinding', namespace: 'vault', name: 'cooks' },
          role: { kind: 'Role', namespace: 'vault', name: 'vera-role' },
          subject: { kind: 'Group', name: 'gitplane:team:cooks' },
          rule: { verbs: ['list', 'get'], resources: ['sharedsecrets'] },
        },
      ],
    });
    const owner = (await get(`/access/explain?${question}&user=mia`, 'auditor')).json();
    expect(owner).toMatchObject({ allowed: true, grants: [{ via: 'object', rule: 'owner' }] });
    const no = (await get(`/access/explain?${question}&user=opal`, 'auditor')).json();
    expect(no).toMatchObject({ allowed: false, grants: [], hidden: 0 });
  });

  test.each([
    ['user', 'mia'],
    ['team', 'cooks'],
    ['key', 'vera-key'],
  ])('answers for a hidden %s as for one that does not exist', async (kind, name) => {
    expect((await get(`/access/explain?${question}&${kind}=${name}`)).code).toBe(200);
    const hidden = await get(`/access/explain?${question}&${kind}=${name}`, 'blind');
    const absent = await get(`/access/explain?${question}&${kind}=nobody`, 'blind');
    expect([hidden.code, absent.code]).toEqual([404, 404]);
    expect(hidden.text.replaceAll(name, '')).toBe(absent.text.replaceAll('nobody', ''));
  });

  test('lists the users with the right', async () => {
    const { items } = (await get(`/access/who?${question}`, 'auditor')).json();
    const names = items.map(({ subject }: { subject: { name: string } }) => subject.name);
    expect(names.sort()).toEqual([
      'admin',
      'auditor',
      'gitplane:team:cooks',
      'mia',
      'system:masters',
      'vera',
    ]);
    expect(items).toContainEqual(
      expect.objectContaining({ team: 'cooks', members: ['none'], memberCount: 1 }),
    );
  });

  test('counts objects that the caller may not read, and names none', async () => {
    const answer = await get(`/access/explain?${question}&user=none`, 'blind');
    expect(answer.json()).toMatchObject({ allowed: true, grants: [], hidden: 1 });
    expect(answer.text).not.toMatch(/cooks|vera-role/);
    const who = await get(`/access/who?${question}`, 'blind');
    expect(who.json()).toMatchObject({ items: [{ subject: { name: 'system:masters' } }] });
    expect(who.json().hidden).toBeGreaterThanOrEqual(4);
    expect(who.text).not.toMatch(/cooks|vera|mia|auditor/);
  });

  test('answers questions about the caller alone without the right to review', async () => {
    const own = (await get(`/access/explain?${question}`, 'none')).json();
    expect(own).toMatchObject({ allowed: true, grants: [], hidden: 1 });
    expect((await get(`/access/explain?${question}&user=mia`, 'none')).code).toBe(403);
    expect((await get(`/access/who?${question}`, 'none')).code).toBe(403);
  });

  test('explains the scope of a key', async () => {
    const made = await make(`${API}/ownedaccesskeys`, {
      metadata: { name: 'narrow' },
      spec: { user: 'vera', scope: { roles: [{ role: 'metrics-reader' }] } },
    });
    expect(made.code).toBe(201);
    const explained = (await get(`/access/explain?${question}&key=narrow`)).json();
    expect(explained).toMatchObject({ allowed: false, scope: { allows: false } });
    expect(explained.grants).toHaveLength(1);
    // The auditor may not read access keys.
    expect((await get(`/access/explain?${question}&key=narrow`, 'auditor')).code).toBe(404);
  });

  test.each([
    'verb=get',
    'resource=teams',
    'verb=get&resource=teams&path=/sync',
    'verb=get&resource=teams&user=a&team=b',
    'verb=get&resource=teams&user=',
    'verb=get&resource=teams&nmae=x',
    `verb=get&resource=teams&name=${'a'.repeat(300)}`,
  ])('refuses %s', async (query) => {
    expect((await get(`/access/explain?${query}`)).code).toBe(400);
  });

  test.each(['user=nobody', 'team=nobody', 'key=nobody'])('answers 404 for %s', async (query) => {
    expect((await get(`/access/explain?verb=get&resource=teams&${query}`)).code).toBe(404);
  });
});
