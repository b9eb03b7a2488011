/** Manifests as they stand in git, files that a write would leave, and the commits of the branch. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
let reader: string;
const TEAM = `${API}/teams/storefront`;

beforeAll(async () => {
  daemon = await startDaemon();
  const user = await daemon.call('POST', `${API}/users`, { body: { metadata: { name: 'rita' } } });
  expect(user.code, user.text).toBe(201);
  const rules = [{ apiGroups: ['*'], resources: ['teams'], verbs: ['get', 'update'] }];
  await daemon.call('POST', `${RBAC}/clusterroles`, {
    body: { metadata: { name: 'rita' }, rules },
  });
  const subjects = [{ kind: 'User', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' }];
  const roleRef = { kind: 'ClusterRole', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' };
  await daemon.call('POST', `${RBAC}/clusterrolebindings`, {
    body: { metadata: { name: 'rita' }, subjects, roleRef },
  });
  const key = await daemon.call('POST', `${API}/ownedaccesskeys`, {
    body: { metadata: { name: 'rita' }, spec: { user: 'rita', displayName: 'Rita' } },
  });
  reader = key.json().spec.key;
});
afterAll(async () => {
  await daemon?.stop();
});

const get = (path: string, token = daemon.token): Promise<Answer> =>
  daemon.call('GET', path, { token });

test('the source has the document with its comments, and its place', async () => {
  const clone = await daemon.clone();
  const { stdout } = await daemon.git(['show', 'HEAD:teams/storefront.yaml'], clone);
  const source = (await get(`${TEAM}/source`)).json();

  expect(source).toMatchObject({ kind: 'ObjectSource', path: 'teams/storefront.yaml', line: 1 });
  expect(source.text).toBe(stdout);
  expect(source.revision).toMatch(/^[0-9a-f]{40}$/);
});

test('the source of the past is that of the commit', async () => {
  const before = (await get(`${TEAM}/source`)).json();
  const patch = { spec: { displayName: 'Shop window' } };
  const type = 'application/merge-patch+json';
  expect((await daemon.call('PATCH', TEAM, { body: patch, type })).code).toBe(200);

  expect((await get(`${TEAM}/source`)).json().text).toContain('Shop window');
  const past = (await get(`${TEAM}/source?atRevision=${before.revision}`)).json();
  expect(past.text).toBe(before.text);
});

test('a reader without the right to clone gets the place and no text', async () => {
  const { text, ...source } = (await get(`${TEAM}/source`, reader)).json();

  expect(text).toBeUndefined();
  expect(source).toMatchObject({
    path: 'teams/storefront.yaml',
    withheld: { verb: 'get', path: '/git/platform.git' },
  });
  expect((await get(`${API}/users/ada/source`, reader)).code).toBe(403);
  expect((await get('/commits', reader)).code).toBe(403);
});

test('a dry run shows the bytes of the file, and changes nothing', async () => {
  const { metadata, ...team } = (await get(TEAM)).json();
  const body = { metadata, ...team, spec: { ...team.spec, displayName: 'Fenêtre' } };
  const { text } = (await get(`${TEAM}/source`)).json();
  const put = (token: string): Promise<Answer> =>
    daemon.call('PUT', `${TEAM}?dryRun=All&show=file`, { body, token });
  const preview = (await put(daemon.token)).json();

  expect(preview).toMatchObject({
    kind: 'WritePreview',
    path: 'teams/storefront.yaml',
    before: text,
  });
  expect(preview.after).toContain('displayName: Fenêtre');
  expect(preview.object.spec.displayName).toBe('Fenêtre');
  expect((await get(`${TEAM}/source`)).json().text).toBe(text);
  expect((await put(reader)).code).toBe(403);
});

test('a dry run of a create shows the new file', async () => {
  const body = { metadata: { name: 'bakers' }, spec: { displayName: 'Bakers' } };
  const preview = (await daemon.call('POST', `${API}/teams?dryRun=All&show=file`, { body })).json();

  expect(preview).toMatchObject({ path: 'teams/bakers.yaml', before: null });
  expect(preview.after).toContain('name: bakers');
  expect((await get(`${API}/teams/bakers`)).code).toBe(404);
});

test('a reason may have letters beyond ASCII', async () => {
  const patch = { spec: { description: 'Sells' } };
  const reason = Buffer.from('Grüße an 店').toString('latin1');
  const answer = await daemon.call('PATCH', TEAM, {
    // Node writes headers as UTF-8 when a text follows them at once.
    body: Buffer.from(JSON.stringify(patch)),
    type: 'application/merge-patch+json',
    headers: { 'gitplane-reason': reason },
  });
  expect(answer.code).toBe(200);
  const [newest] = (await get('/commits?limit=1')).json().items;
  expect(newest.message).toContain('Grüße an 店');
});

test('commits come newest first, in pages, with their changes', async () => {
  const first = (await get('/commits?limit=2')).json();
  const [newest] = first.items;
  expect(newest).toMatchObject({
    subject: 'patch Team "storefront"',
    author: { name: 'admin' },
    fileCount: 1,
    files: [
      {
        path: 'teams/storefront.yaml',
        change: 'modified',
        objects: [{ kind: 'Team', plural: 'teams', name: 'storefront' }],
      },
    ],
  });
  const seen: string[] = [];
  for (let token: string | undefined = ''; token !== undefined; ) {
    const page = (await get(`/commits?limit=2&continue=${token}`)).json();
    seen.push(...page.items.map(({ revision }: { revision: string }) => revision));
    token = page.metadata.continue;
  }
  expect(new Set(seen).size).toBe(seen.length);
  const clone = await daemon.clone();
  const { stdout } = await daemon.git(['rev-list', '--first-parent', 'HEAD'], clone);
  expect(seen).toEqual(stdout.trim().split('\n'));
  const { items } = (await get(`/commits?atRevision=${seen[3]}&limit=1`)).json();
  expect(items[0].revision).toBe(seen[3]);
  expect((await get('/commits?continue=x')).code).toBe(400);
});

describe('the effect of a write', () => {
  const SHARED = `${API}/namespaces/payments/sharedsecrets/registry`;
  const MERGE = 'application/merge-patch+json';

  beforeAll(async () => {
    const labels = {
      'gitplane.dev/sharedsecret-name': 'registry',
      'gitplane.dev/sharedsecret-namespace': 'payments',
    };
    const body = { metadata: { name: 'copy', labels }, spec: {} };
    const made = await daemon.call('POST', `${API}/namespaces/blue/projectsecrets`, { body });
    expect(made.code, made.text).toBe(201);
  });

  const dryRun = (
    method: string,
    path: string,
    { body, token, show = 'effect' }: { body?: object; token?: string; show?: string },
  ): Promise<Answer> =>
    daemon.call(method, `${path}?dryRun=All&show=${show}`, {
      ...(body === undefined ? {} : { body }),
      ...(token === undefined ? {} : { token }),
      ...(method === 'PATCH' ? { type: MERGE } : {}),
    });

  test('access that opens and closes, with the roles and bindings that come and go', async () => {
    const access = [{ name: 'readers', verbs: ['get'], users: ['rita'] }];
    const answer = await dryRun('PATCH', SHARED, { body: { spec: { access } } });

    expect(answer.code, answer.text).toBe(200);
    const { effect, path } = answer.json();
    expect(path).toBeUndefined();
    expect(effect.hidden).toBe(0);
    expect(effect.changes).toHaveLength(1);
    const [{ verb, access: changes, derived }] = effect.changes;
    expect(verb).toBe('update');
    expect(changes).toContainEqual({
      effect: 'opens',
      subject: { kind: 'User', name: 'rita' },
      rule: { verbs: ['get'], resources: ['sharedsecrets'] },
    });
    expect(derived.items).toContainEqual(
      expect.objectContaining({ verb: 'create', kind: 'RoleBinding', namespace: 'payments' }),
    );
    expect((await get(SHARED)).json().spec.access).not.toEqual(access);
  });

  test('copies of a secret that get its data, and no value', async () => {
    const data = { password: Buffer.from('hunter-two').toString('base64') };
    const { code, text, json } = await dryRun('PATCH', SHARED, { body: { spec: { data } } });

    expect(code, text).toBe(200);
    const { effect } = json();
    expect(effect.changes[0].derived.items).toEqual([
      expect.objectContaining({ verb: 'update', kind: 'ProjectSecret', name: 'copy' }),
    ]);
    expect(JSON.stringify(effect)).not.toContain(data.password);
  });

  test('a deletion closes access, and its file goes', async () => {
    const { json } = await dryRun('DELETE', SHARED, { show: 'file,effect' });
    const { effect, before, after } = json();

    expect(before).toContain('kind: SharedSecret');
    expect(after).toBeNull();
    expect(effect.changes[0]).toMatchObject({ verb: 'delete', name: 'registry' });
    expect(effect.changes[0].derived.items).toContainEqual(
      expect.objectContaining({
        kind: 'ProjectSecret',
        message: expect.stringMatching(/does not/),
      }),
    );
    expect((await get(SHARED)).code).toBe(200);
  });

  test('a reader sees the effect without the right to clone, and no object beyond its rights', async () => {
    const body = { spec: { data: { token: 'eA==' } } };
    const rules = [
      { apiGroups: ['*'], resources: ['sharedsecrets'], verbs: ['patch', 'get'] },
      { apiGroups: ['*'], resources: ['teams'], verbs: ['patch'] },
    ];
    await daemon.call('PATCH', `${RBAC}/clusterroles/rita`, { body: { rules }, type: MERGE });
    const { code, text, json } = await dryRun('PATCH', SHARED, { body, token: reader });

    expect(code, text).toBe(200);
    const { effect } = json();
    expect(effect.changes).toHaveLength(1);
    expect(effect.changes[0].derived?.items ?? []).toEqual([]);
    expect(effect.hidden).toBeGreaterThan(0);
    expect((await dryRun('PATCH', SHARED, { body, token: reader, show: 'file' })).code).toBe(403);
    const team = { body: { spec: { description: 'x' } }, token: reader };
    expect((await dryRun('PATCH', TEAM, team)).code).toBe(403);
  });

  test('more than four of one user at a time are refused, so that writes go on', async () => {
    const body = { spec: { description: 'x' } };
    // A client that is slower than the daemon never has five requests there at once.
    await vi.waitFor(
      async () => {
        const asked = Array.from({ length: 40 }, () => dryRun('PATCH', SHARED, { body }));
        const write = daemon.call('PATCH', TEAM, { body, type: MERGE });
        const codes = (await Promise.all(asked)).map(({ code }) => code);
        expect((await write).code).toBe(200);
        expect(codes.filter((code) => code !== 200 && code !== 429)).toEqual([]);
        expect(new Set(codes)).toEqual(new Set([200, 429]));
      },
      { timeout: 30_000, interval: 1 },
    );
  });

  test('other words of show are refused', async () => {
    expect((await dryRun('PATCH', TEAM, { body: {}, show: 'files' })).code).toBe(400);
  });
});

describe('a write of the text', () => {
  const put = (path: string, body: object, token = daemon.token): Promise<Answer> =>
    daemon.call('PUT', `${path}/source`, { body, token });
  const sourceOf = async (path = TEAM): Promise<{ revision: string; text: string }> =>
    (await get(`${path}/source`)).json();
  const newest = async () => (await get('/commits?limit=1')).json().items[0];

  test('comments are saved, as one commit of its person with the reason', async () => {
    const source = await sourceOf();
    const text = source.text.replace('spec:', '# Ask ops first\nspec:');
    const preview = await daemon.call('PUT', `${TEAM}/source?dryRun=All&show=file,effect`, {
      body: { ...source, text },
    });
    expect(preview.json()).toMatchObject({ after: text, effect: { changes: [], hidden: 0 } });
    expect((await sourceOf()).text).toBe(source.text);

    const answer = await put(TEAM, { ...source, text, reason: 'So that nobody forgets' });
    expect(answer.code, answer.text).toBe(200);
    expect((await sourceOf()).text).toBe(text);
    const { subject, message, author } = await newest();
    expect(subject).toBe('update Team "storefront"');
    expect(message).toContain('So that nobody forgets');
    expect(author.name).toBe('admin');
  });

  test('a field and its comment change in one write', async () => {
    const source = await sourceOf();
    const text = source.text.replace(/displayName: .*/, 'displayName: Shop # for short');
    const answer = await put(TEAM, { ...source, text });
    expect(answer.json().spec.displayName).toBe('Shop');
    expect((await sourceOf()).text).toBe(text);
  });

  test('the same text makes no commit', async () => {
    const before = await newest();
    expect((await put(TEAM, await sourceOf())).code).toBe(200);
    expect((await newest()).revision).toBe(before.revision);
  });

  test('a text on top of a document that changed is a conflict, even by a comment', async () => {
    const source = await sourceOf();
    await put(TEAM, { ...source, text: `${source.text}# theirs\n` });
    const answer = await put(TEAM, { ...source, text: `${source.text}# mine\n` });
    expect(answer.code).toBe(409);
    expect(answer.text).toContain('changed since it was read');
    expect((await sourceOf()).text).toContain('# theirs');
  });

  test('the unchanged text of an old commit is a conflict, and undoes nothing', async () => {
    const source = await sourceOf();
    const body = { spec: { description: 'A newer one' } };
    const type = 'application/merge-patch+json';
    expect((await daemon.call('PATCH', TEAM, { body, type })).code).toBe(200);
    const answer = await put(TEAM, source);
    expect(answer.code, answer.text).toBe(409);
    expect((await get(TEAM)).json().spec.description).toBe('A newer one');
  });

  test.each<[string, (text: string) => string, number, RegExp]>([
    ['YAML that does not parse', (text) => `${text}x: [`, 400, /teams\/storefront\.yaml:\d+:\d+: /],
    ['a second document', (text) => `${text}---\nkind: Team\n`, 400, /one document/],
    [
      'another name',
      (text) => text.replace('name: storefront', 'name: other'),
      400,
      /does not match/,
    ],
    [
      'an unknown field',
      (text) => text.replace('spec:', 'spec:\n  color: red'),
      400,
      /spec\.color.*teams\/storefront\.yaml:\d+:3: /s,
    ],
    [
      'a wrong value',
      (text) => text.replace(/displayName: .*/, 'displayName: [x]'),
      422,
      /teams\/storefront\.yaml:\d+:\d+: spec\.displayName/,
    ],
    ['no object', () => '- a\n', 400, /map/],
    [
      'a text that no later write could edit',
      (text) => text + '# a\n'.repeat(125_000),
      422,
      /more than 250000 words/,
    ],
  ])('%s is refused, and nothing changes', async (_title, change, code, message) => {
    const source = await sourceOf();
    const answer = await put(TEAM, { ...source, text: change(source.text) });
    expect(answer.code, answer.text).toBe(code);
    expect(answer.json().message).toMatch(message);
    expect((await sourceOf()).text).toBe(source.text);
  });

  test('a dry run without show answers as the write: the base is checked', async () => {
    const source = await sourceOf();
    await put(TEAM, { ...source, text: `${source.text}# newer\n` });
    const stale = { ...source, text: `${source.text}# stale\n` };
    const answer = await daemon.call('PUT', `${TEAM}/source?dryRun=All`, { body: stale });
    expect(answer.code, answer.text).toBe(409);
    expect(answer.text).toContain('changed since it was read');
  });

  describe('a manifest that is not valid', () => {
    const broken = (spec: string): string =>
      `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: broken\n${spec}`;
    const path = `${API}/teams/broken`;

    /** Moves the branch beside the hook, which would refuse it. */
    async function commit(file: string, text: string): Promise<void> {
      const clone = await daemon.clone();
      writeFileSync(join(clone, file), text);
      await daemon.git(['add', '.'], clone);
      await daemon.git(['commit', '-qm', 'A broken one'], clone);
      const bare = join(daemon.dataDir, 'repo.git');
      await daemon.git(['fetch', '-q', clone, 'main'], bare);
      const { stdout } = await daemon.git(['rev-parse', 'HEAD'], clone);
      await daemon.git(['update-ref', 'refs/heads/main', stdout.trim()], bare);
      await expect.poll(async () => (await get(path)).text).toContain('ManifestInvalid');
    }

    test.each([
      ['a field that is not there', 'spec: { displayNam: B } # mine\n', /broken\.yaml:5:9: /],
      ['a value of another type', 'spec:\n  displayName: [B] # mine\n', /broken\.yaml:6:16: /],
      ['no YAML', 'spec:\n  displayName: "B # mine\n', /broken\.yaml:\d+:\d+: /],
      ['a key twice', 'spec: {}\nspec: {} # mine\n', /broken\.yaml:6:1: /],
    ])('%s is mended by its text', async (_title, spec, place) => {
      await daemon.call('DELETE', path);
      const body = { metadata: { name: 'broken' }, spec: { displayName: 'Good' } };
      expect((await daemon.call('POST', `${API}/teams`, { body })).code).toBe(201);
      await commit('teams/broken.yaml', broken(spec));

      const source = await sourceOf(path);
      expect(source.text).toBe(broken(spec));
      const dry = (text: string): Promise<Answer> =>
        daemon.call('PUT', `${path}/source?dryRun=All`, { body: { ...source, text } });
      const same = await dry(`${source.text}# and more\n`);
      expect([400, 422], same.text).toContain(same.code);
      expect(same.json().message).toMatch(place);

      const text = broken('spec:\n  displayName: B # mine\n');
      expect((await dry(text)).code).toBe(200);
      const stale = { ...source, text: text.replace('mine', 'stale') };
      const answer = await put(path, { ...source, text });
      expect(answer.code, answer.text).toBe(200);
      expect((await sourceOf(path)).text).toBe(text);
      const { spec: mended, status } = (await get(path)).json();
      expect(mended).toEqual({ displayName: 'B' });
      expect(JSON.stringify(status)).not.toContain('ManifestInvalid');
      expect((await put(path, stale)).code).toBe(409);
    });

    test('a text does not take the place of another object', async () => {
      await daemon.call('DELETE', path);
      const other = broken('spec: {}\n').replace('name: broken', 'name: beside');
      const clone = await daemon.clone();
      writeFileSync(join(clone, 'teams/broken.yaml'), `${broken('spec: {}\n')}---\n${other}`);
      await daemon.git(['add', '.'], clone);
      await daemon.git(['commit', '-qm', 'Two'], clone);
      expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
      await commit('teams/broken.yaml', `${other}---\nkind: [\n`);
      const source = await sourceOf(path);
      const answer = await put(path, { ...source, text: broken('spec: {}\n') });
      expect(answer.code, answer.text).toBe(409);
      expect((await get(`${API}/teams/beside`)).code).toBe(200);
      await commit('teams/broken.yaml', broken('spec: { displayNam: B }\n'));
    });

    test('fields that only the server writes do not get into the file', async () => {
      await commit('teams/broken.yaml', broken('spec: { displayNam: B }\n'));
      const source = await sourceOf(path);
      const text = `${broken('spec: {}\n').replace('name: broken', 'name: broken\n  generation: 7')}`;
      const answer = await put(path, { ...source, text });
      expect(answer.code, answer.text).toBe(200);
      expect((await sourceOf(path)).text).not.toContain('generation');
    });

    test('a dry run of fields is refused as the write is', async () => {
      await commit('teams/broken.yaml', broken('spec: { displayNam: B }\n'));
      const body = { spec: { displayName: 'Other' } };
      const type = 'application/merge-patch+json';
      const answer = await daemon.call('PATCH', `${path}?dryRun=All`, { body, type });
      expect(answer.code, answer.text).toBe(409);
      expect(answer.text).toContain('the write would drop it');
    });

    test('a reader without the right to push cannot mend it', async () => {
      const source = await sourceOf(path);
      const text = broken('spec: {}\n');
      expect((await put(path, { ...source, text }, reader)).code).toBe(403);
    });
  });

  test('neighbours in the file stay, and a text that reaches into them is refused', async () => {
    const path = `${RBAC}/namespaces/payments/rolebindings/secret-editors`;
    const source = await sourceOf(path);
    const role = await sourceOf(`${RBAC}/namespaces/payments/roles/secret-editor`);
    const text = source.text.replace('roleRef:', '# The role above\nroleRef:');
    const answer = await put(path, { ...source, text });
    expect(answer.code, answer.text).toBe(200);
    expect((await sourceOf(`${RBAC}/namespaces/payments/roles/secret-editor`)).text).toBe(
      role.text,
    );
    const again = await sourceOf(path);
    const reaching = again.text.replace(/^---\n/, '');
    expect((await put(path, { ...again, text: reaching })).code).toBe(409);
  });

  test('the right to push is needed beside the right on the object', async () => {
    const source = await sourceOf();
    const rules = [{ apiGroups: ['*'], resources: ['teams'], verbs: ['get', 'update'] }];
    const type = 'application/merge-patch+json';
    const path = `${RBAC}/clusterroles/rita`;
    const grant = async (verbs: readonly string[]): Promise<void> => {
      const git = [{ nonResourceURLs: ['/git/platform.git'], verbs }];
      const body = { rules: verbs.length === 0 ? rules : [...rules, ...git] };
      expect((await daemon.call('PATCH', path, { body, type })).code).toBe(200);
    };
    const text = `${source.text}# rita\n`;
    for (const verbs of [[], ['get'], ['update']]) {
      await grant(verbs);
      expect((await put(TEAM, { ...source, text }, reader)).code).toBe(403);
    }
    await grant(['get', 'update']);
    expect((await put(`${API}/users/ada`, source, reader)).code).toBe(403);
    const answer = await put(TEAM, { ...source, text }, reader);
    expect(answer.code, answer.text).toBe(200);
  });

  test('a hash in the file stays, and is not changed as text', async () => {
    const key = `${API}/ownedaccesskeys/rita`;
    const source = await sourceOf(key);
    const text = `${source.text.trimEnd()} # of Rita\n`;
    expect((await put(key, { ...source, text })).code).toBe(200);
    expect((await get(`${TEAM}`, reader)).code).toBe(200);
    const now = await sourceOf(key);
    const forged = now.text.replace(/(key: \S{6})\S/, '$1x');
    expect(forged).not.toBe(now.text);
    const refused = await put(key, { ...now, text: forged });
    expect(refused.code).toBe(400);
    expect(refused.json().message).toContain('spec.key');
  });

  test('a tenant is its file: the text is written as it is, under its guards', async () => {
    const clone = await daemon.clone();
    const folder = join(clone, 'tenants', 'blue');
    mkdirSync(folder, { recursive: true });
    const spec = '# Sync\nsync:\n  toHost:\n    endpoints:\n      enabled: true\n';
    writeFileSync(join(folder, 'vcluster.yaml'), spec);
    await daemon.git(['add', '.'], clone);
    await daemon.git(['commit', '-qm', 'A tenant'], clone);
    const pushed = await daemon.git(['push', '-q'], clone);
    expect(pushed.code, pushed.stderr).toBe(0);
    const tenant = `${API}/tenants/blue`;
    const source = await sourceOf(tenant);
    expect(source.text).toBe(spec);
    const text = `${spec}      patches:\n        - path: metadata.labels["a"] # why\n          expression: value\n`;
    const answer = await put(tenant, { ...source, text });
    expect(answer.code, answer.text).toBe(200);
    expect((await sourceOf(tenant)).text).toBe(text);
    const wrong = text.replace('expression', 'expresion');
    expect((await put(tenant, { ...(await sourceOf(tenant)), text: wrong })).code).toBe(400);
  });
});
