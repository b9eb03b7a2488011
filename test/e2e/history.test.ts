/** The past from the outside: reading it, what became of an object, and what nobody may see. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
const teams = `${API}/teams`;
const secrets = `${API}/namespaces/vault/sharedsecrets`;
const commit: Record<string, string> = {};

async function make(path: string, body: object, token?: string): Promise<Answer> {
  const answer = await daemon.call('POST', path, token === undefined ? { body } : { body, token });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

function commitOf(answer: Answer): string {
  return String(answer.headers['gitplane-commit']);
}

async function patch(path: string, body: object): Promise<string> {
  const options = { type: 'application/merge-patch+json', body: JSON.stringify(body) };
  const answer = await daemon.call('PATCH', path, options);
  expect(answer.code, answer.text).toBe(200);
  return commitOf(answer);
}

/** A user with a key, and a cluster role of these rules. */
async function userWith(name: string, rules: readonly object[]): Promise<string> {
  await make(`${API}/users`, { metadata: { name } });
  await make(`${RBAC}/clusterroles`, { metadata: { name: `${name}-role` }, rules });
  await make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: `${name}-role` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `${name}-role` },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
  });
  return (await make(`${API}/ownedaccesskeys`, { spec: { user: name } })).json().spec.key;
}

beforeAll(async () => {
  daemon = await startDaemon();
  const first = await make(teams, {
    metadata: { name: 'ops', labels: { tier: 'one' } },
    spec: { displayName: 'Ops' },
  });
  commit['created'] = commitOf(first);
  commit['other'] = commitOf(
    await make(teams, { metadata: { name: 'dev', labels: { tier: 'two' } } }),
  );
  commit['renamed'] = await patch(`${teams}/ops`, { spec: { displayName: 'Operations' } });
  commit['labelled'] = await patch(`${teams}/ops`, { metadata: { labels: { tier: 'three' } } });
});

afterAll(async () => {
  await daemon.stop();
});

describe('an object of the past', () => {
  test('returns its past state without a resourceVersion, and names the commit', async () => {
    const now = (await daemon.call('GET', `${teams}/ops`)).json();
    const old = await daemon.call('GET', `${teams}/ops?atRevision=${commit['created']}`);
    expect(old.headers['gitplane-revision']).toBe(commit['created']);
    expect(old.json()).toEqual({
      apiVersion: 'management.gitplane.dev/v1',
      kind: 'Team',
      metadata: {
        name: 'ops',
        uid: now.metadata.uid,
        generation: 1,
        creationTimestamp: now.metadata.creationTimestamp,
        labels: { tier: 'one' },
        managedFields: [expect.objectContaining({ manager: 'git', operation: 'Update' })],
      },
      spec: { displayName: 'Ops' },
      status: {},
    });
    const short = await daemon.call(
      'GET',
      `${teams}/ops?atRevision=${commit['renamed']?.slice(0, 9)}`,
    );
    expect(short.json()).toMatchObject({
      metadata: { generation: 2 },
      spec: { displayName: 'Operations' },
    });
  });

  test('reads at a time; before the first commit there is nothing', async () => {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const now = await daemon.call('GET', `${teams}/ops?atTime=${soon}`);
    expect(now.json().metadata.labels).toEqual({ tier: 'three' });
    const early = await daemon.call('GET', `${teams}/ops?atTime=2001-01-01T00:00:00Z`);
    expect(early.code).toBe(404);
    expect(early.json().message).toMatch(
      /no commit at or before 2001-01-01T00:00:00Z; its first is of 20/,
    );
  });

  test.each([
    ['atRevision=main', 400, /not a commit id/],
    ['atRevision=--output%3Dx', 400, /not a commit id/],
    ['atRevision=', 400, /not a commit id/],
    ['atRevision=0123456789', 404, /the branch has no commit 0123456789/],
    ['atTime=yesterday', 400, /not a time/],
    ['atRevision=abcd&atTime=2026-01-01T00:00:00Z', 400, /give one of them/],
    ['atRevision=abcd&resourceVersion=5', 400, /version of the present/],
    ['atRevision=abcd&watch=true', 400, /nothing happens in the past/],
  ])('%s is a %d that gives the reason', async (query, code, words) => {
    for (const path of query.includes('watch') ? [teams] : [`${teams}/ops`, teams]) {
      const answer = await daemon.call('GET', `${path}?${query}`);
      expect(answer.code, answer.text).toBe(code);
      expect(answer.json().message).toMatch(words);
    }
  });

  test.each(['DELETE', 'PATCH', 'PUT'])('%s of the past changes nothing', async (method) => {
    const before = (await daemon.call('GET', teams)).json();
    for (const path of [`${teams}/ops`, ...(method === 'DELETE' ? [teams] : [])]) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const options = method === 'DELETE' ? {} : { body: '{}', type };
      const answer = await daemon.call(method, `${path}?atRevision=${commit['created']}`, options);
      expect(answer.code).toBe(400);
      expect(answer.json().message).toMatch(/the past cannot be changed/);
    }
    expect((await daemon.call('GET', teams)).json()).toEqual(before);
  });

  test('a commit that the branch does not reach is not to be had', async () => {
    const clone = await daemon.clone();
    await daemon.git(['checkout', '-q', '-b', 'side'], clone);
    await daemon.git(['commit', '-q', '--allow-empty', '-m', 'beside'], clone);
    expect((await daemon.git(['push', '-q', 'origin', 'side'], clone)).code).toBe(0);
    const side = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    const answer = await daemon.call('GET', `${teams}/ops?atRevision=${side}`);
    expect(answer.code).toBe(404);
  });
});

describe('a list of the past', () => {
  test('is selected, paged and printed like any other', async () => {
    const at = `atRevision=${commit['other']}`;
    const list = (await daemon.call('GET', `${teams}?${at}&labelSelector=tier`)).json();
    expect(list.kind).toBe('TeamList');
    expect(list.metadata).toEqual({});
    const names = list.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(names).toEqual(['dev', 'ops']);
    expect(list.items[1].spec).toEqual({ displayName: 'Ops' });

    const seen: string[] = [];
    let token = '';
    do {
      const page = (await daemon.call('GET', `${teams}?${at}&limit=2&continue=${token}`)).json();
      for (const item of page.items) seen.push(item.metadata.name);
      token = page.metadata.continue ?? '';
    } while (token !== '');
    const all = (await daemon.call('GET', `${teams}?${at}`)).json().items;
    expect(seen).toEqual(all.map((item: { metadata: { name: string } }) => item.metadata.name));

    const raw = `${teams}?${at}&fieldSelector=metadata.name%3Dops`;
    const printed = await daemon.kubectl(['get', '--raw', raw]);
    expect(JSON.parse(printed.stdout).items).toHaveLength(1);
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const table = (await daemon.call('GET', raw, { headers: { accept } })).json();
    expect(table.rows.map((row: { cells: unknown[] }) => row.cells.slice(0, 2))).toEqual([
      ['ops', 'Ops'],
    ]);
  });

  test('a page of one list is no page of another', async () => {
    const at = `atRevision=${commit['other']}`;
    const past = (await daemon.call('GET', `${teams}?${at}&limit=1`)).json().metadata.continue;
    const present = (await daemon.call('GET', `${teams}?limit=1`)).json().metadata.continue;
    for (const query of [
      `continue=${past}`,
      `${at}&continue=${present}`,
      `atRevision=${commit['renamed']}&continue=${past}`,
    ]) {
      expect((await daemon.call('GET', `${teams}?${query}`)).code).toBe(400);
    }
  });
});

describe('the history of an object', () => {
  test('tells each commit that changed it, newest first, page by page', async () => {
    const first = (await daemon.call('GET', `${teams}/ops/history?limit=2`)).json();
    expect(first).toMatchObject({
      kind: 'ObjectHistory',
      apiVersion: 'management.gitplane.dev/v1',
      metadata: { remainingItemCount: 1 },
      items: [
        {
          revision: commit['labelled'],
          verb: 'updated',
          generation: 2,
          fields: ['metadata.labels.tier'],
        },
        {
          revision: commit['renamed'],
          verb: 'updated',
          generation: 2,
          fields: ['spec.displayName'],
        },
      ],
    });
    const next = `${teams}/ops/history?limit=2&continue=${first.metadata.continue}`;
    const second = (await daemon.call('GET', next)).json();
    expect(second.metadata).toEqual({});
    expect(second.items).toMatchObject([
      {
        revision: commit['created'],
        author: { name: 'admin' },
        message: 'create Team "ops"',
        verb: 'created',
        path: 'teams/ops.yaml',
      },
    ]);
    expect((await daemon.call('GET', `${teams}/never/history`)).code).toBe(404);
    expect((await daemon.call('GET', `${teams}/ops/constructor`)).code).toBe(404);
    expect((await daemon.call('PUT', `${teams}/ops/history`, { body: {} })).code).toBe(405);
  });
});

describe('a rollback', () => {
  const rollback = (path: string, body: object, token?: string): Promise<Answer> =>
    daemon.call('POST', `${path}/rollback`, token === undefined ? { body } : { body, token });

  test('is a commit that names the restored fields, and changes only their lines', async () => {
    const clone = await daemon.clone();
    const text =
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: web # the shop\nspec:\n  displayName: Web # as customers know it\n  users: [ada]\n';
    const push = async (content: string | undefined, message: string): Promise<string> => {
      await daemon.git(['pull', '-q', '--rebase'], clone);
      const path = join(clone, 'web.yaml');
      if (content === undefined) rmSync(path);
      else writeFileSync(path, content);
      await daemon.git(['add', '-A'], clone);
      await daemon.git(['commit', '-q', '-m', message], clone);
      const pushed = await daemon.git(['push', '-q'], clone);
      expect(pushed.code, pushed.stderr).toBe(0);
      return (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    };
    const first = await push(text, 'Add web');
    await push(text.replace('Web #', 'Shop #').replace('[ada]', '[ada, bob]'), 'Rename');
    const uid = (await daemon.call('GET', `${teams}/web`)).json().metadata.uid;

    const dry = await rollback(`${teams}/web`, { revision: first });
    expect(dry.code, dry.text).toBe(200);
    expect(dry.json()).toMatchObject({
      metadata: { uid, generation: 3 },
      spec: { displayName: 'Web', users: ['ada'] },
    });
    await daemon.git(['pull', '-q'], clone);
    expect(readFileSync(join(clone, 'web.yaml'), 'utf8')).toBe(text);
    const log = (await daemon.git(['log', '-1', '--format=%an%n%B'], clone)).stdout;
    expect(log).toContain(`admin\nrollback Team "web" to ${first.slice(0, 12)}\n`);
    expect(log).toContain(`Rollback-To: ${first}\n`);

    const again = await rollback(`${teams}/web`, { revision: first });
    expect(again.code).toBe(200);
    expect(again.headers['gitplane-commit']).toBeUndefined();

    await push(undefined, 'Remove web');
    const back = await rollback(`${teams}/web`, { revision: first.slice(0, 10), reason: 'needed' });
    expect(back.code, back.text).toBe(201);
    expect(back.json().metadata).toMatchObject({ generation: 1 });
    expect(back.json().metadata.uid).not.toBe(uid);
    await daemon.git(['pull', '-q'], clone);
    expect((await daemon.git(['log', '-1', '--format=%B'], clone)).stdout).toContain(
      '\n\nneeded\n\n',
    );
    expect(readFileSync(join(clone, 'web.yaml'), 'utf8')).toContain('displayName: Web');
    const told = (await daemon.call('GET', `${teams}/web/history`)).json().items;
    expect(told.map((item: { verb: string }) => item.verb)).toEqual([
      'created',
      'deleted',
      'updated',
      'updated',
      'created',
    ]);
  });

  test('a rollback of an object that is gone brings back its bytes, and no others', async () => {
    const document = (name: string): string =>
      [
        `# about ${name}`,
        'apiVersion: management.gitplane.dev/v1',
        `kind:   Team      # of ${name}`,
        'metadata: {name: %s, labels: {"tier": \'odd\'}}'.replace('%s', name),
        'spec:',
        '        # deep',
        '        description: |-',
        '            first line',
        '          # no comment',
        `        displayName: "${name}"`,
        '',
      ].join('\n');
    const clone = await daemon.clone();
    const paths = ['alone.yaml', 'two.yaml'];
    writeFileSync(join(clone, 'alone.yaml'), `# licence\n\n${document('alone')}`);
    writeFileSync(join(clone, 'two.yaml'), `${document('left')}---\n${document('right')}`);
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-q', '-m', 'By hand'], clone);
    expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
    const revision = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    const bytes = (): string[] => paths.map((path) => readFileSync(join(clone, path), 'utf8'));
    const [alone = '', two = ''] = bytes();
    const goneAndBack = async (...names: readonly string[]): Promise<void> => {
      for (const name of names) {
        expect((await daemon.call('DELETE', `${teams}/${name}`)).code).toBe(200);
      }
      for (const name of names) {
        const back = await rollback(`${teams}/${name}`, { revision });
        expect(back.code, back.text).toBe(201);
      }
      await daemon.git(['pull', '-q'], clone);
    };

    await goneAndBack('alone', 'right');
    expect(bytes()).toEqual([alone, two]);
    await goneAndBack('left', 'right');
    expect(bytes()).toEqual([alone, two]);
    await goneAndBack('left');
    expect(bytes()[1]).toBe(`---\n${document('right')}---\n${document('left')}`);
  });

  test('goes where new objects go when something else has its place', async () => {
    const clone = await daemon.clone();
    const push = async (): Promise<string> => {
      await daemon.git(['add', '-A'], clone);
      await daemon.git(['commit', '-q', '-m', 'Moves'], clone);
      expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
      return (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    };
    writeFileSync(
      join(clone, 'lost.yaml'),
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: lost\n',
    );
    const revision = await push();
    rmSync(join(clone, 'lost.yaml'));
    mkdirSync(join(clone, 'lost.yaml'));
    writeFileSync(join(clone, 'lost.yaml/README.md'), 'A folder');
    await push();

    const back = await rollback(`${teams}/lost`, { revision });

    expect(back.code, back.text).toBe(201);
    await daemon.git(['pull', '-q'], clone);
    expect(readFileSync(join(clone, 'teams/lost.yaml'), 'utf8')).toContain('name: lost');
    expect((await daemon.call('DELETE', `${teams}/lost`)).code).toBe(200);
  });

  test('has a dry run, and leaves concurrent changes of others', async () => {
    const before = (await daemon.call('GET', `${teams}/ops`)).json();
    const { resourceVersion } = before.metadata;
    const revision = commit['created'];
    const dry = await daemon.call('POST', `${teams}/ops/rollback?dryRun=All`, {
      body: { revision },
    });
    expect(dry.json().spec).toEqual({ displayName: 'Ops' });
    expect((await daemon.call('GET', `${teams}/ops`)).json()).toEqual(before);

    const stale = await rollback(`${teams}/ops`, { revision, resourceVersion: '1' });
    expect(stale.code).toBe(409);
    const fresh = await rollback(`${teams}/ops`, { revision, resourceVersion });
    expect(fresh.code, fresh.text).toBe(200);
    expect(fresh.json().metadata.labels).toEqual({ tier: 'one' });
  });

  test('refuses plans of one user above four at a time', async () => {
    const asked = Array.from({ length: 40 }, () =>
      daemon.call('POST', '/plan', { body: { ref: 'main' } }),
    );
    const answers = await Promise.all(asked);
    const codes = answers.map(({ code }) => code);

    expect(codes).toContain(200);
    expect(codes.filter((code) => code === 429).length).toBeGreaterThan(0);
    expect(codes.filter((code) => code !== 200 && code !== 429)).toEqual([]);
  });

  test.each([
    [{}, 400],
    [{ revision: 'main' }, 400],
    [{ revision: '--output=x' }, 400],
    [{ revision: 7 }, 400],
    [{ revision: '0123456789' }, 404],
    [{ revision: '0123456789', force: true }, 400],
    [[], 400],
  ])('a rollback of %j is a %d', async (body, code) => {
    const answer = await rollback(`${teams}/ops`, body);
    expect(answer.code, answer.text).toBe(code);
  });

  test('a rollback to a time without the object is a 404', async () => {
    const answer = await rollback(`${teams}/dev`, { revision: commit['created'] });
    expect(answer.code).toBe(404);
    expect(answer.json().message).toMatch(/"dev" not found at commit/);
  });

  test('takes the rights that the same change would take', async () => {
    const group = ['management.gitplane.dev'];
    const revision = commit['renamed'];
    const reads = await userWith('reads', [
      { apiGroups: group, resources: ['teams'], verbs: ['get'] },
    ]);
    const writes = await userWith('writes', [
      { apiGroups: group, resources: ['teams'], verbs: ['update', 'create'] },
    ]);
    const updates = await userWith('updates', [
      { apiGroups: group, resources: ['teams'], verbs: ['get', 'update'] },
    ]);
    expect((await rollback(`${teams}/ops`, { revision }, reads)).code).toBe(403);
    expect((await rollback(`${teams}/ops`, { revision }, writes)).code).toBe(403);
    expect((await rollback(`${teams}/ops`, { revision }, updates)).code).toBe(200);
    await daemon.call('DELETE', `${teams}/dev`);
    const gone = await rollback(`${teams}/dev`, { revision }, updates);
    expect(gone.code, gone.text).toBe(403);
    expect(gone.json().message).toMatch(/cannot create resource "teams"/);
  });

  test('grants nothing that its caller may not grant today', async () => {
    const roles = `${RBAC}/clusterroles`;
    const all = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
    const strong = await make(roles, { metadata: { name: 'helper' }, rules: [all] });
    await patch(`${roles}/helper`, { rules: [] });
    const clerk = await userWith('clerk', [
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['clusterroles'],
        verbs: ['get', 'update'],
      },
    ]);
    const refused = await rollback(`${roles}/helper`, { revision: commitOf(strong) }, clerk);
    expect(refused.code).toBe(403);
    expect(refused.json().message).toMatch(
      /attempting to grant RBAC permissions not currently held/,
    );
    expect((await daemon.call('GET', `${roles}/helper`)).json().rules).toEqual([]);
  });

  test('brings a key back as git has it, reports it, and never shows it', async () => {
    const keys = `${API}/ownedaccesskeys`;
    const made = await make(keys, { metadata: { name: 'turned' }, spec: { user: 'ada' } });
    const old = made.json().spec.key;
    const next = randomBytes(24).toString('hex');
    await patch(`${keys}/turned`, { spec: { key: next } });
    const works = async (token: string): Promise<boolean> =>
      (await daemon.call('GET', '/version', { token })).code !== 401 &&
      (await daemon.call('GET', `${keys}/turned`, { token })).code !== 401;
    expect([await works(old), await works(next)]).toEqual([false, true]);

    const answer = await rollback(`${keys}/turned`, { revision: commitOf(made) });
    expect(answer.code, answer.text).toBe(200);
    expect(answer.text).not.toMatch(new RegExp(`sha256:|${old}|${next}`));
    expect(String(answer.headers['warning'])).toMatch(
      /spec\.key: the value of that commit is in force/,
    );
    expect([await works(old), await works(next)]).toEqual([true, false]);
  });
});

describe('rights', () => {
  test('are those of the present on the same names', async () => {
    const group = ['management.gitplane.dev'];
    const reader = await userWith('reader', [
      { apiGroups: group, resources: ['teams'], verbs: ['get'], resourceNames: ['ops'] },
    ]);
    const at = `atRevision=${commit['other']}`;
    const code = async (path: string): Promise<number> =>
      (await daemon.call('GET', path, { token: reader })).code;
    expect(await code(`${teams}/ops?${at}`)).toBe(200);
    expect(await code(`${teams}/ops/history`)).toBe(200);
    expect(await code(`${teams}/dev?${at}`)).toBe(403);
    expect(await code(`${teams}/dev/history`)).toBe(403);
    expect(await code(`${teams}?${at}`)).toBe(403);
    expect((await daemon.call('GET', `${teams}/ops/history`, { token: null })).code).toBe(401);

    const may = async (verb: string, subresource: string): Promise<boolean> => {
      const resourceAttributes = {
        verb,
        group: group[0],
        resource: 'teams',
        subresource,
        name: 'ops',
      };
      const answer = await daemon.call(
        'POST',
        '/kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        { body: { spec: { resourceAttributes } }, token: reader },
      );
      expect(answer.code, answer.text).toBe(201);
      return answer.json().status.allowed;
    };
    expect([await may('get', 'history'), await may('create', 'rollback')]).toEqual([true, false]);
  });

  test('rights on a name give no rights on the object that had the name before', async () => {
    const value = Buffer.from('of somebody else').toString('base64');
    const old = await make(secrets, { metadata: { name: 'token' }, spec: { data: { value } } });
    const then = commitOf(old);
    await daemon.call('DELETE', `${secrets}/token`);
    const group = ['management.gitplane.dev'];
    const thief = await userWith('thief', [
      { apiGroups: group, resources: ['sharedsecrets'], verbs: ['create'] },
    ]);
    await make(secrets, { metadata: { name: 'token' }, spec: { owner: { user: 'thief' } } }, thief);
    const own = await daemon.call('GET', `${secrets}/token`, { token: thief });
    expect(own.code).toBe(200);

    const read = await daemon.call('GET', `${secrets}/token?atRevision=${then}`, { token: thief });
    expect(read.code).toBe(404);
    expect(read.text).not.toContain(value);
    const named = `${secrets}?atRevision=${then}&fieldSelector=metadata.name%3Dtoken`;
    const list = await daemon.call('GET', named, { token: thief });
    expect(list.text).not.toContain(value);
    const told = await daemon.call('GET', `${secrets}/token/history`, { token: thief });
    expect(told.json().items.map((item: { verb: string }) => item.verb)).toEqual(['created']);

    const stolen = await daemon.call('POST', `${secrets}/token/rollback`, {
      token: thief,
      body: { revision: then },
    });
    expect(stolen.code).toBe(404);

    const admin = await daemon.call('GET', `${secrets}/token?atRevision=${then}`);
    expect(admin.json().spec.data).toEqual({ value });
  });

  test('keys stay concealed in the past', async () => {
    const made = await make(`${API}/ownedaccesskeys`, {
      metadata: { name: 'k' },
      spec: { user: 'ada' },
    });
    const old = await daemon.call('GET', `${API}/ownedaccesskeys/k?atRevision=${commitOf(made)}`);
    expect(old.code).toBe(200);
    expect(old.json().spec.key).toBeUndefined();
    expect(old.text).not.toContain('sha256:');
  });
});

describe('a plan', () => {
  test('a plan of another branch shows its changes to users with the right to clone', async () => {
    const clone = await daemon.clone();
    await daemon.git(['checkout', '-q', '-b', 'feature'], clone);
    writeFileSync(
      join(clone, 'new.yaml'),
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: new}\n',
    );
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-q', '-m', 'Add new'], clone);
    expect((await daemon.git(['push', '-q', 'origin', 'feature'], clone)).code).toBe(0);
    const to = (await daemon.git(['rev-parse', 'HEAD'], clone)).stdout.trim();

    const byRef = await daemon.call('POST', '/plan', { body: { ref: 'feature' } });
    expect(byRef.code, byRef.text).toBe(200);
    expect(byRef.json()).toMatchObject({
      to,
      verdict: 'accepted',
      changes: [{ verb: 'create', kind: 'Team', name: 'new', path: 'new.yaml' }],
    });
    const byId = await daemon.call('POST', '/plan', { body: { revision: to.slice(0, 8) } });
    expect(byId.json()).toEqual(byRef.json());
    expect((await daemon.call('GET', `${teams}/new`)).code).toBe(404);

    const stranger = await userWith('stranger', [{ nonResourceURLs: ['/plan'], verbs: ['post'] }]);
    const denied = await daemon.call('POST', '/plan', {
      body: { ref: 'feature' },
      token: stranger,
    });
    expect(denied.code).toBe(403);
    const cloner = await userWith('cloner', [
      { nonResourceURLs: ['/git/platform.git'], verbs: ['get'] },
    ]);
    const told = await daemon.call('POST', '/plan', { body: { ref: 'feature' }, token: cloner });
    expect(told.json()).toMatchObject({ to, verdict: 'refused' });
    expect(told.json().objections.join('\n')).toMatch(/cannot create teams/);
  });

  test.each([
    [{}, 400],
    [{ revision: 'main' }, 400],
    [{ revision: '--output=x' }, 400],
    [{ ref: '--all' }, 400],
    [{ ref: 'feature', revision: 'abcd' }, 400],
    [{ ref: 'feature', force: true }, 400],
    [{ ref: 'nowhere' }, 404],
    [{ revision: '0123456789' }, 404],
  ])('a plan of %j is a %d', async (body, code) => {
    expect((await daemon.call('POST', '/plan', { body })).code).toBe(code);
  });
});
