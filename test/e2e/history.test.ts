/** The past from the outside: reading it, what became of an object, and what nobody may see. */
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
  test('reads as it was, without a resourceVersion, and says of which commit it is', async () => {
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
      },
      spec: { displayName: 'Ops' },
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
  ])('%s is a %d that says why', async (query, code, words) => {
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
  });

  test('on a name are no rights on what had the name before', async () => {
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
