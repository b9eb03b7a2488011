/** Effects of writes beyond their codes: names, dry runs, races, deletion, and commits. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';
import { commitFiles, manifest } from './clones.ts';
import { collectionPath, generationAfter, objectOf, SAMPLES, settled } from './samples.ts';

const TEAMS = `${API}/teams`;
const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';

let daemon: Daemon;
let commits: string[] = [];

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});
beforeEach(async () => {
  commits = await log();
});

/** Subjects of all commits, oldest first. */
async function log(): Promise<string[]> {
  const repository = join(daemon.dataDir, 'repo.git');
  const { stdout } = await daemon.git(['log', '--reverse', '--format=%s', 'main'], repository);
  return stdout.trim().split('\n');
}

/** Subjects of the commits since the test began. */
async function newCommits(): Promise<string[]> {
  return (await log()).slice(commits.length);
}

async function files(): Promise<string> {
  const repository = join(daemon.dataDir, 'repo.git');
  return (await daemon.git(['ls-tree', '-r', '--name-only', 'main'], repository)).stdout;
}

function create(metadata: object, spec: object = {}, query = ''): Promise<Answer> {
  return daemon.call('POST', TEAMS + query, { body: { metadata, spec } });
}

function merge(name: string, body: object, query = ''): Promise<Answer> {
  return daemon.call('PATCH', `${TEAMS}/${name}${query}`, { body, type: MERGE_PATCH });
}

function remove(name: string, options: object = {}): Promise<Answer> {
  return daemon.call('DELETE', `${TEAMS}/${name}`, { body: options });
}

function get(name: string): Promise<Answer> {
  return daemon.call('GET', `${TEAMS}/${name}`);
}

describe('names', () => {
  // covers: envelope.kind.inferred envelope.nameRequired metadata.generateName
  // covers: metadata.generateName.truncated
  test('a generated name is in the answer, in the file and in the commit', async () => {
    const long = `${'a'.repeat(80)}-`;
    const answers = await Promise.all([
      create({ generateName: 'gen-' }),
      create({ generateName: long }),
    ]);
    const [short = '', cut = ''] = answers.map((answer) => answer.json().metadata.name as string);
    expect(short).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(cut).toMatch(/^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(await files()).toContain(`teams/${short}.yaml\n`);
    expect(await newCommits()).toContain(`create Team "${short}"`);
    const { stdout } = await daemon.git(
      ['show', `main:teams/${short}.yaml`],
      join(daemon.dataDir, 'repo.git'),
    );
    expect(stdout).toContain(`name: ${short}\n`);
    expect(stdout).not.toMatch(/generateName|uid|resourceVersion|creationTimestamp|generation/);
  });

  test('names of every allowed length lead to files that can be checked out', async () => {
    const long = 'n'.repeat(253);
    expect((await create({ name: long })).code).toBe(201);
    expect((await create({ name: `${long.slice(0, -1)}m` })).code).toBe(201);
    const clone = await daemon.clone();
    const paths = (await daemon.git(['ls-files', 'teams/nnn*'], clone)).stdout.trim().split('\n');
    expect(paths).toHaveLength(2);
    for (const path of paths)
      expect(Buffer.byteLength(path.slice('teams/'.length))).toBeLessThanOrEqual(255);
    expect((await remove(long)).code).toBe(200);
  });

  test('a name whose file path is a folder causes a conflict', async () => {
    const clone = await daemon.clone();
    await commitFiles(daemon, clone, { 'teams/taken.yaml/inner.yaml': manifest('Team', 'inner') });
    expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
    const answer = await create({ name: 'taken' });
    expect([answer.code, answer.json().message]).toEqual([
      409,
      'Cannot write Team "taken": Cannot write "teams/taken.yaml": it is a directory',
    ]);
    expect((await create({ name: 'not-taken' })).code).toBe(201);
  });

  // covers: metadata.generateName.ignored
  test('a name wins over generateName', async () => {
    const { metadata } = (await create({ name: 'named', generateName: 'gen-' })).json();
    expect(metadata.name).toBe('named');
  });
});

// covers: envelope.status
test('a client cannot set the status', async () => {
  const conditions = [{ type: 'Synced', status: 'True', reason: 'Forged' }];
  const body = { metadata: { name: 'forged' }, spec: {}, status: { conditions } };
  const created = (await daemon.call('POST', TEAMS, { body })).json();
  const patched = (await merge('forged', { status: { conditions } })).json();
  const put = await daemon.call('PUT', `${TEAMS}/forged`, { body });

  for (const { status } of [created, patched, put.json()]) {
    expect(status).toEqual({
      conditions: [expect.objectContaining({ type: 'Ready', status: 'True' })],
    });
  }
  expect((await get('forged')).json()).toEqual(created);
});

describe('a dry run', () => {
  test.each<[string, () => Promise<Answer>, number]>([
    ['create', () => create({ name: 'dry' }, {}, '?dryRun=All'), 201],
    ['a create that fails', () => create({ name: 'payments' }, {}, '?dryRun=All'), 409],
    ['patch', () => merge('payments', { spec: { displayName: 'Dry' } }, '?dryRun=All'), 200],
    ['an invalid patch', () => merge('payments', { spec: { displayName: 1 } }, '?dryRun=All'), 422],
    ['delete', () => remove('payments', { dryRun: ['All'] }), 200],
  ])('a dry run of %s writes no commit and changes nothing', async (_title, send, code) => {
    const before = (await daemon.call('GET', TEAMS)).text;
    expect((await send()).code).toBe(code);
    expect((await daemon.call('GET', TEAMS)).text).toBe(before);
    expect(await newCommits()).toEqual([]);
  });

  test('answers as the real thing would', async () => {
    const { metadata } = (await get('payments')).json();
    const dry = (await merge('payments', { spec: { displayName: 'Dry' } }, '?dryRun=All')).json();
    expect(dry.spec.displayName).toBe('Dry');
    const { managedFields, ...shown } = dry.metadata;
    const { managedFields: _before, ...rest } = metadata;
    expect(shown).toEqual({ ...rest, generation: metadata.generation + 1 });
    const managers = managedFields.map(({ manager }: { manager: string }) => manager);
    expect(managers).toEqual(['git', 'unknown']);
    const created = (await create({ name: 'dry' }, {}, '?dryRun=All')).json();
    expect(created.metadata).toMatchObject({
      uid: expect.any(String),
      creationTimestamp: expect.any(String),
    });
    expect(created.metadata).not.toHaveProperty('resourceVersion');
  });
});

describe('commits of writes', () => {
  // covers: metadata.resourceVersion.changes metadata.generation
  test.each(SAMPLES)(
    'a write of $kind is one commit, and a write that changes nothing is none',
    async (sample) => {
      const collection = collectionPath(sample, API);
      const path = `${collection}/zz-writes`;
      await daemon.call('POST', collection, { body: objectOf(sample, 'zz-writes') });
      const before = (await settled(daemon, sample, path)).json();
      const patch = (body: object) => daemon.call('PATCH', path, { body, type: MERGE_PATCH });
      const put = await daemon.call('PUT', path, { body: before });
      expect(put.json()).toEqual(before);
      expect((await patch({})).json()).toEqual(before);
      expect((await patch({ metadata: { annotations: {} } })).json()).toEqual(before);
      const { field, value } = sample.change;
      const changed = (await patch({ [field]: value })).json();
      expect(changed.metadata.generation).toBe(generationAfter(sample, 1));
      const labelled = (await patch({ metadata: { labels: { a: 'b' } } })).json();
      expect(labelled.metadata.generation).toBe(generationAfter(sample, 1));
      await daemon.call('DELETE', path);
      const what = `${sample.kind} "${sample.namespaced ? 'samples/' : ''}zz-writes"`;
      expect(await newCommits()).toEqual([
        `create ${what}`,
        `patch ${what}`,
        `patch ${what}`,
        `delete ${what}`,
      ]);
    },
  );

  test('a commit names the caller, the request and the reason', async () => {
    const { headers } = await daemon.call('POST', `${TEAMS}?fieldManager=curl`, {
      body: { metadata: { name: 'told' }, spec: {} },
      headers: { 'gitplane-reason': 'because we can', 'idempotency-key': 'k-1' },
    });
    const args = ['log', '-1', '--format=%an|%cn|%B', String(headers['gitplane-commit'])];
    const { stdout } = await daemon.git(args, join(daemon.dataDir, 'repo.git'));
    const digest = /Idempotency-Digest: ([0-9a-f]{32})$/.exec(stdout.trim())?.[1];
    expect(stdout.trim()).toBe(
      `admin|gitplane|create Team "told"\n\nbecause we can\n\nRequest-Id: ${headers['audit-id']}\nField-Manager: curl\nIdempotency-Key: k-1\nIdempotency-Digest: ${digest}`,
    );
  });

  test('shows no digest of a request that may hold a secret', async () => {
    const { code, headers } = await daemon.call('POST', `${API}/users`, {
      body: { metadata: { name: 'secretive' } },
      headers: { 'idempotency-key': 'k-2' },
    });
    const args = ['log', '-1', '--format=%B', String(headers['gitplane-commit'])];
    const { stdout } = await daemon.git(args, join(daemon.dataDir, 'repo.git'));
    expect(code).toBe(201);
    expect(stdout).toContain('Idempotency-Key: k-2');
    expect(stdout).not.toContain('Idempotency-Digest');
  });

  test.each([
    ['of 257 characters', 'x'.repeat(257)],
    ['beyond ASCII', 'caf\u00e9'],
  ])('has no key %s', async (_, key) => {
    const body = { metadata: { name: 'untold' }, spec: {} };
    const headers = { 'idempotency-key': key };
    const created = await daemon.call('POST', TEAMS, { body, headers });
    const deleted = await daemon.call('DELETE', `${TEAMS}/told`, { headers });
    expect([created.code, deleted.code]).toEqual([400, 400]);
    expect(created.json().message).toContain('at most 256 printable ASCII characters');
  });
});

describe('races', () => {
  // covers: metadata.resourceVersion.concurrency
  test('exactly one of many updates with one resourceVersion wins', async () => {
    const object = (await create({ name: 'raced' })).json();
    const put = (i: number): Promise<Answer> =>
      daemon.call('PUT', `${TEAMS}/raced`, { body: { ...object, spec: { displayName: `v${i}` } } });
    const codes = (await Promise.all(Array.from({ length: 20 }, (_, i) => put(i)))).map(
      ({ code }) => code,
    );
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.filter((code) => code === 409)).toHaveLength(19);
    expect((await get('raced')).json().metadata.generation).toBe(2);
  });

  // covers: metadata.name.unique
  test('exactly one of many creates of one name wins', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: 'once' })));
    expect(answers.map(({ code }) => code).sort()).toEqual([201, ...Array(19).fill(409)]);
  });

  test('patches without resourceVersion all count', async () => {
    await create({ name: 'counted' }, { users: [] });
    const add = (i: number): Promise<Answer> =>
      daemon.call('PATCH', `${TEAMS}/counted`, {
        body: [{ op: 'add', path: '/spec/users/-', value: `user-${i}` }],
        type: JSON_PATCH,
      });
    const codes = (await Promise.all(Array.from({ length: 20 }, (_, i) => add(i)))).map(
      ({ code }) => code,
    );
    expect(new Set(codes)).toEqual(new Set([200]));
    const { metadata, spec } = (await get('counted')).json();
    expect(new Set(spec.users).size).toBe(20);
    expect(metadata.generation).toBe(21);
    expect((await newCommits()).filter((subject) => subject.startsWith('patch'))).toHaveLength(20);
  });
});

describe('deletion', () => {
  const FINALIZERS = ['example.com/one', 'example.com/two'];

  // covers: metadata.deletionTimestamp metadata.deletionGracePeriodSeconds metadata.finalizers
  // covers: metadata.finalizers.onlyRemoved states.gracefulDeletion states.removed states.blocked
  // covers: metadata.uid
  test('deletion with finalizers removes the manifest and keeps the object until the last one is gone', async () => {
    const { metadata } = (await create({ name: 'held', finalizers: FINALIZERS })).json();
    const deleted = await remove('held');
    expect([deleted.code, deleted.json().metadata]).toMatchObject([
      200,
      { uid: metadata.uid, generation: 2, deletionGracePeriodSeconds: 0, finalizers: FINALIZERS },
    ]);
    expect(Date.parse(deleted.json().metadata.deletionTimestamp)).not.toBeNaN();
    expect(await files()).not.toContain('teams/held.yaml');
    expect((await get('held')).code).toBe(200);
    expect((await remove('held')).json().metadata).toEqual(deleted.json().metadata);
    expect((await create({ name: 'held' })).code).toBe(409);
    const added = await merge('held', {
      metadata: { finalizers: [...FINALIZERS, 'example.com/new'] },
    });
    expect([added.code, added.json().message]).toEqual([
      422,
      expect.stringContaining('no new finalizers can be added if the object is being deleted'),
    ]);
    expect((await merge('held', { metadata: { finalizers: FINALIZERS.slice(1) } })).code).toBe(200);
    expect((await get('held')).json().metadata.finalizers).toEqual(FINALIZERS.slice(1));
    const last = await merge('held', { metadata: { finalizers: null } });
    expect([last.code, last.json().metadata.uid]).toEqual([200, metadata.uid]);
    expect((await get('held')).code).toBe(404);
    expect(await newCommits()).toEqual(['create Team "held"', 'delete Team "held"']);

    const again = (await create({ name: 'held' })).json();
    expect(again.metadata.generation).toBe(1);
    expect(again.metadata.uid).not.toBe(metadata.uid);
  });

  // covers: metadata.finalizers.order
  test.each([0, 1])('ends, whichever finalizer goes first: %i', async (first) => {
    const name = `order-${first}`;
    await create({ name, finalizers: FINALIZERS });
    await remove(name);
    const rest = FINALIZERS.filter((_, index) => index !== first);
    expect((await merge(name, { metadata: { finalizers: rest } })).code).toBe(200);
    expect((await get(name)).json().metadata.finalizers).toEqual(rest);
    expect((await merge(name, { metadata: { finalizers: [] } })).code).toBe(200);
    expect((await get(name)).code).toBe(404);
  });

  // covers: metadata.deletionTimestamp{,.shortened} metadata.deletionGracePeriodSeconds
  // covers: states.gracefulDeletion states.removed
  test('deletion with a grace period ends when that has passed, and the period can only get shorter', async () => {
    await create({ name: 'graceful' });
    const first = (await remove('graceful', { gracePeriodSeconds: 60 })).json().metadata;
    expect(first.deletionGracePeriodSeconds).toBe(60);
    const longer = (await remove('graceful', { gracePeriodSeconds: 600 })).json().metadata;
    expect(longer.deletionTimestamp).toBe(first.deletionTimestamp);
    expect((await get('graceful')).code).toBe(200);
    const shorter = (await remove('graceful', { gracePeriodSeconds: 1 })).json().metadata;
    expect(Date.parse(shorter.deletionTimestamp)).toBeLessThan(Date.parse(first.deletionTimestamp));
    await vi.waitFor(async () => expect((await get('graceful')).code).toBe(404), { timeout: 4000 });
    expect((await newCommits()).filter((subject) => subject.startsWith('delete'))).toHaveLength(1);
  });

  test.each<[string, (meta: { uid: string; resourceVersion: string }) => object, number]>([
    ['another uid', () => ({ uid: 'another' }), 409],
    ['an old resourceVersion', () => ({ resourceVersion: '1' }), 409],
    ['the right uid', ({ uid }) => ({ uid }), 200],
    ['the right resourceVersion', ({ resourceVersion }) => ({ resourceVersion }), 200],
  ])('deletion checks the precondition %s', async (title, preconditions, code) => {
    const name = title.replaceAll(' ', '-').toLowerCase();
    const { metadata } = (await create({ name })).json();
    const answer = await remove(name, { preconditions: preconditions(metadata) });
    expect(answer.code).toBe(code);
    expect((await get(name)).code).toBe(code === 200 ? 404 : 200);
    if (code === 409) expect(answer.json().message).toContain('in the precondition');
  });

  // covers: metadata.labels
  test('deletion of a collection goes by its selector', async () => {
    const labels = { batch: 'x' };
    for (const name of ['many-a', 'many-b', 'many-c']) await create({ name, labels });
    const answer = await daemon.call('DELETE', `${TEAMS}?labelSelector=batch%3Dx`);
    const names = answer
      .json()
      .items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect([answer.code, names]).toEqual([200, ['many-a', 'many-b', 'many-c']]);
    expect((await get('payments')).code).toBe(200);
    expect((await newCommits()).filter((subject) => subject.startsWith('delete'))).toHaveLength(3);
  });

  test.each([
    ['Background', 200, undefined],
    ['Foreground', 200, undefined],
    ['Orphan', 200, []],
  ])('%s decides the fate of dependents', async (propagationPolicy, code, left) => {
    const name = propagationPolicy.toLowerCase();
    const { apiVersion, kind, metadata } = (await create({ name })).json();
    const reference = { apiVersion, kind, name, uid: metadata.uid, blockOwnerDeletion: true };
    const child = `${name}-child`;
    await create({ name: child, ownerReferences: [reference] });
    expect((await remove(name, { propagationPolicy })).code).toBe(code);
    await vi.waitFor(async () => {
      expect((await get(name)).code).toBe(404);
      const found = await get(child);
      expect(found.code).toBe(left === undefined ? 404 : 200);
      if (left !== undefined) expect(found.json().metadata.ownerReferences ?? []).toEqual(left);
    }, 10_000);
  });

  test('deletion that waits for dependents is accepted, where the old option asked for it', async () => {
    await create({ name: 'accepted', finalizers: FINALIZERS });
    expect((await remove('accepted', { orphanDependents: false })).code).toBe(202);
  });

  test('is refused where an annotation protects the object', async () => {
    await create({ name: 'kept', annotations: { 'gitplane.dev/non-deletable': 'true' } });
    const answer = await remove('kept');
    expect([answer.code, answer.json().message]).toEqual([
      403,
      expect.stringContaining('non-deletable'),
    ]);
  });
});
