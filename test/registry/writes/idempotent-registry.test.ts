/** A write that comes twice with one idempotency key is one commit. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { StatusError } from '../../../src/apimachinery/status-error.ts';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { objectAtCommit } from '../../../src/daemon/replicated/leader.ts';
import { StorageError } from '../../../src/git/git-error.ts';
import { History } from '../../../src/history/history.ts';
import type { ObjectRegistry } from '../../../src/registry/registry.ts';
import { openIdempotentRegistry } from '../../../src/registry/writes/idempotent-registry.ts';
import { RecentWrites } from '../../../src/registry/writes/recent-writes.ts';
import type { WriteOptions } from '../../../src/registry/writes/write-context.ts';
import { git } from '../../support/git.ts';
import { ann, kindOf, kinds, openTestPlatform, type TestPlatform } from '../../support/platform.ts';

function options(idempotencyKey: string, user = ann): WriteOptions {
  return { user, dryRun: false, fieldValidation: 'Strict', idempotencyKey };
}

function teamBody(metadata: object, displayName = 'one'): object {
  const apiVersion = 'management.gitplane.dev/v1';
  return { apiVersion, kind: 'Team', metadata, spec: { displayName } };
}

const teams = kindOf('teams');
const target = { kind: teams, namespace: '', name: 'ops' };

interface Door {
  readonly door: Required<ObjectRegistry>;
  commits(): number;
  /** As another replica that takes over sees it. */
  next(): Promise<Required<ObjectRegistry>>;
}

async function open(
  of: { around?: (registry: TestPlatform['registry']) => Required<ObjectRegistry> } = {},
): Promise<Door & { platform: TestPlatform }> {
  const { around = (registry) => registry } = of;
  const platform = await openTestPlatform();
  const { repository, branch, registry } = platform;
  const reader = fileReader(kinds, '');
  const history = new History({ repository, branch, kinds, reader, under: '' });
  const next = (): Promise<Required<ObjectRegistry>> =>
    openIdempotentRegistry({
      ...{ registry: around(registry), repository },
      committed: (kind, key, commit) =>
        objectAtCommit({ branch, history, repository }, { kind, key, commit }),
    });
  const { gitDir } = repository;
  const commits = (): number => Number(git(gitDir, ['rev-list', '--count', 'HEAD']).trim());
  return { platform, door: await next(), next, commits };
}

/** A create of a request with this digest, which the commit tells as well unless it is private. */
function asked(
  door: ObjectRegistry,
  key: string,
  of: { digest?: string; name?: string; private?: true; user?: WriteOptions['user'] },
) {
  const { digest, name = 'ops', user = ann } = of;
  const idempotencyDigest = of.private === true ? undefined : digest;
  const told = { ...options(key, user), requestDigest: digest, idempotencyDigest };
  const body = teamBody({ name });
  return door.create({ kind: teams, namespace: '', body, duplicates: [], options: told });
}

const REUSED = { code: 422, message: expect.stringContaining('came with another request') };

function create(door: ObjectRegistry, key: string, metadata: object = { name: 'ops' }) {
  const body = teamBody(metadata);
  return door.create({ kind: teams, namespace: '', body, duplicates: [], options: options(key) });
}

test('a create that is sent again is answered with what it made, by the same leader and by the next', async () => {
  const { door, next, commits } = await open();
  const [made, meanwhile] = await Promise.all([create(door, 'k1'), create(door, 'k1')]);
  const count = commits();
  const later = await create(await next(), 'k1');
  expect(meanwhile).toEqual(made);
  expect(later.commit).toBe(made.commit);
  expect(later.object).toEqual(made.object);
  expect(commits()).toBe(count);
});

test('another key, another user, and what failed, are decided again', async () => {
  const { door, next, commits } = await open();
  await create(door, 'k1');
  await expect(create(door, 'k2')).rejects.toMatchObject({ code: 409 });
  const later = await next();
  await expect(create(later, 'k2')).rejects.toMatchObject({ code: 409 });
  const bob = options('k1', { name: 'bob', groups: [] });
  const body = teamBody({ name: 'ops' });
  const asBob = later.create({ kind: teams, namespace: '', body, duplicates: [], options: bob });
  await expect(asBob).rejects.toMatchObject({ code: 409 });
  const count = commits();
  await door.delete({ ...target, delete: {}, options: options('k3') });
  await create(door, 'k2');
  expect(commits()).toBe(count + 2);
});

test('a name that the server chose is chosen once', async () => {
  const { door, next, platform } = await open();
  const made = await create(door, 'k1', { generateName: 'team-' });
  const later = await create(await next(), 'k1', { generateName: 'team-' });
  expect(later.object.metadata.name).toBe(made.object.metadata.name);
  expect(platform.names('teams')).toHaveLength(1);
});

function update(through: ObjectRegistry, key: string, displayName: string) {
  return through.update({
    ...target,
    verb: 'update',
    duplicates: [],
    options: options(key),
    change: (current) => ({ ...current, spec: { displayName } }),
  });
}

test('a delete and an update that are sent again change nothing', async () => {
  const { door, next, commits, platform } = await open();
  await create(door, 'k1');
  const changed = await update(door, 'k2', 'two');
  const again = await update(await next(), 'k2', 'two');
  expect(again.commit).toBe(changed.commit);
  expect(again.object).toEqual(changed.object);
  await door.delete({ ...target, delete: {}, options: options('k3') });
  const count = commits();
  const gone = await (await next()).delete({ ...target, delete: {}, options: options('k3') });
  expect(gone.gone).toBe(true);
  expect(commits()).toBe(count);
  expect(platform.names('teams')).toEqual([]);
});

/** The part of an object that is in git. */
function desired({ metadata, spec }: KubeObject & { readonly spec?: unknown }): object {
  const { name, uid, generation, creationTimestamp } = metadata;
  return { name, uid, generation, creationTimestamp, spec };
}

test('the next leader answers with what the write made, whatever others made of it since', async () => {
  const { door, next } = await open();
  const made = await create(door, 'k1');
  const changed = await update(door, 'k2', 'two');
  await update(door, 'k3', 'three');
  const expectThem = async (): Promise<void> => {
    const leader = await next();
    const again = await create(leader, 'k1');
    expect(desired(again.object)).toEqual(desired(made.object));
    expect(again.object.metadata.resourceVersion).toBeUndefined();
    const changedAgain = await update(leader, 'k2', 'two');
    expect(desired(changedAgain.object)).toEqual(desired(changed.object));
    expect([again.commit, changedAgain.commit]).toEqual([made.commit, changed.commit]);
  };
  await expectThem();
  await door.delete({ ...target, delete: {}, options: options('k4') });
  await expectThem();
  await create(door, 'k5');
  await expectThem();
  const gone = await (await next()).delete({ ...target, delete: {}, options: options('k4') });
  expect(gone.gone).toBe(true);
});

test('a write that failed behind its commit is found when it is sent again', async () => {
  let failures = 0;
  const around = (registry: TestPlatform['registry']): Required<ObjectRegistry> => ({
    get: (of) => registry.get(of),
    update: (of) => registry.update(of),
    apply: (of) => registry.apply(of),
    delete: (of) => registry.delete(of),
    create: async (of) => {
      const made = await registry.create(of);
      if (failures++ === 0) throw new StorageError('the disk', { cause: 'full', moved: true });
      return made;
    },
  });
  const { door, commits } = await open({ around });
  await expect(create(door, 'k1')).rejects.toThrow(StorageError);
  const count = commits();
  const [made, again] = await Promise.all([create(door, 'k1'), create(door, 'k1')]);
  expect(made.object.metadata.name).toBe('ops');
  expect(again.commit).toBe(made.commit);
  expect([commits(), failures]).toEqual([count, 1]);
});

test('a key that comes with another request is refused, by the same leader and by the next', async () => {
  const { door, next, commits } = await open();
  const first = asked(door, 'k1', { digest: 'a' });
  // While the first is under way.
  await expect(asked(door, 'k1', { digest: 'b' })).rejects.toMatchObject(REUSED);
  const made = await first;
  const count = commits();
  for (const leader of [door, await next()]) {
    await expect(asked(leader, 'k1', { digest: 'b' })).rejects.toMatchObject(REUSED);
    await expect(asked(leader, 'k1', { digest: 'b', name: 'b' })).rejects.toMatchObject(REUSED);
    const told = { ...options('k1'), requestDigest: 'c' };
    const gone = leader.delete({ ...target, delete: {}, options: told });
    await expect(gone).rejects.toMatchObject(REUSED);
    expect((await asked(leader, 'k1', { digest: 'a' })).commit).toBe(made.commit);
  }
  expect(commits()).toBe(count);
  const bob = { name: 'bob', groups: [] };
  await asked(door, 'k1', { digest: 'b', name: 'b', user: bob });
  expect(commits()).toBe(count + 1);
});

test('a digest of 64 bits, as former versions wrote it, is compared with none after a restart', async () => {
  const { door, next } = await open();
  const made = await asked(door, 'k1', { digest: '0123456789abcdef' });
  const again = await asked(await next(), 'k1', { digest: '0123456789abcdef'.repeat(2) });
  expect(again.commit).toBe(made.commit);
});

test('a key whose request was refused may come with another request', async () => {
  const { door } = await open();
  await create(door, 'k1');
  await expect(asked(door, 'k2', { digest: 'a' })).rejects.toMatchObject({ code: 409 });
  expect((await asked(door, 'k2', { digest: 'b', name: 'b' })).commit).toBeDefined();
});

test('a refused request stays refused, also when a copy of it arrives late', async () => {
  const { door, commits } = await open();
  await create(door, 'k1');
  const refused = { code: 409, reason: 'AlreadyExists' };
  await expect(asked(door, 'k2', { digest: 'a' })).rejects.toMatchObject(refused);
  await door.delete({ ...target, delete: {}, options: options('k3') });
  const told = { ...options('k4'), requestDigest: 'c' };
  const absent = { ...target, delete: {}, options: told };
  await expect(door.delete(absent)).rejects.toMatchObject({ code: 404 });
  const count = commits();
  await expect(asked(door, 'k2', { digest: 'a' })).rejects.toMatchObject(refused);
  expect(commits()).toBe(count);
  await create(door, 'k5');
  await expect(door.delete(absent)).rejects.toMatchObject({ code: 404 });
  expect(commits()).toBe(count + 1);
});

test.each([
  [429, 'TooManyRequests'],
  [503, 'ServiceUnavailable'],
] as const)(
  'a write that failed with %i is carried out when it comes again',
  async (code, reason) => {
    let failures = 0;
    const around = (registry: TestPlatform['registry']): Required<ObjectRegistry> => ({
      get: (of) => registry.get(of),
      update: (of) => registry.update(of),
      apply: (of) => registry.apply(of),
      delete: (of) => registry.delete(of),
      create: async (of) => {
        if (failures++ === 0) throw new StatusError(code, reason, 'try again');
        return registry.create(of);
      },
    });
    const { door } = await open({ around });
    await expect(asked(door, 'k1', { digest: 'a' })).rejects.toMatchObject({ code });
    expect((await asked(door, 'k1', { digest: 'a' })).commit).toBeDefined();
  },
);

test('a commit without a digest is the one of any request for its object', async () => {
  const { door, next } = await open();
  const old = await create(door, 'k1');
  const hidden = await asked(door, 'k2', { digest: 'a', name: 'b', private: true });
  await expect(asked(door, 'k2', { digest: 'b', name: 'b' })).rejects.toMatchObject(REUSED);
  const later = await next();
  expect((await asked(later, 'k1', { digest: 'b' })).commit).toBe(old.commit);
  expect((await asked(later, 'k2', { digest: 'b', name: 'b' })).commit).toBe(hidden.commit);
});

test('an object of another group is another object', () => {
  const recent = new RecentWrites();
  const key = { group: 'a.dev', kind: 'Team', namespace: '', name: 'ops' };
  recent.record({ user: 'ann', idempotencyKey: 'k', verb: 'create', key, commit: 'c' });
  const find = (group: string) =>
    recent.find('ann', 'k', { verbs: ['create'], key: { ...key, group } });
  expect([find('a.dev')?.commit, find('b.dev')]).toEqual(['c', undefined]);
});

test('a delete that finalizers hold is not reported as done by the next leader', async () => {
  const { door, next } = await open();
  await create(door, 'k1', { name: 'ops', finalizers: ['example.com/hold'] });
  const first = await door.delete({ ...target, delete: {}, options: options('k2') });
  const again = await (await next()).delete({ ...target, delete: {}, options: options('k2') });
  expect([first.gone, again.gone]).toEqual([false, false]);
  expect(again.object.metadata).toMatchObject({
    uid: first.object.metadata.uid,
    deletionTimestamp: first.object.metadata.deletionTimestamp,
  });
});

test('a change outside of the generation is answered as the write made it, too', async () => {
  const { door, next } = await open();
  const hold = (through: ObjectRegistry, key: string, finalizer: string) =>
    through.update({
      ...{ ...target, verb: 'update', duplicates: [], options: options(key) },
      change: (current) => ({
        ...current,
        metadata: { ...current.metadata, finalizers: [finalizer] },
      }),
    });
  await create(door, 'k1');
  await hold(door, 'k2', 'example.com/a');
  await hold(door, 'k3', 'example.com/b');
  const again = await hold(await next(), 'k2', 'example.com/a');
  expect(again.object.metadata.finalizers).toEqual(['example.com/a']);
});

test('a push that plays a write of the API is shown nothing of what others made', async () => {
  const { platform, next } = await open();
  const secrets = kindOf('sharedsecrets');
  const body = (password: string): object => ({
    apiVersion: 'management.gitplane.dev/v1',
    kind: 'SharedSecret',
    metadata: { name: 's', namespace: 'a' },
    spec: { data: { password: Buffer.from(password).toString('base64') } },
  });
  const make = (through: ObjectRegistry, password: string, of: WriteOptions) =>
    through.create({
      ...{ kind: secrets, namespace: 'a', duplicates: [], options: of },
      body: body(password),
    });
  await make(platform.registry, 'hunter2', options('', { name: 'bob', groups: [] }));
  const { gitDir } = platform.repository;
  const tree = git(gitDir, ['rev-parse', 'HEAD^{tree}']).trim();
  const message = 'create SharedSecret "a/s"\n\nIdempotency-Key: k9\n';
  const env = { GIT_AUTHOR_NAME: 'ann', GIT_COMMITTER_NAME: 'gitplane' };
  const id = git(gitDir, ['commit-tree', tree, '-p', 'HEAD', '-m', message], { env }).trim();
  expect((await platform.push(id)).ok).toBe(true);
  const asked = make(await next(), 'guess', options('k9'));
  await expect(asked).rejects.toMatchObject({ code: 409, reason: 'AlreadyExists' });
});

test('a push cannot say that a write was made', async () => {
  const { platform, next } = await open();
  await platform.commit({ 'x.txt': 'x' });
  const { gitDir } = platform.repository;
  const tree = git(gitDir, ['rev-parse', 'HEAD^{tree}']).trim();
  const message = 'create Team "ops"\n\nIdempotency-Key: k1\n';
  const env = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.com'];
  const id = git(gitDir, [...env, 'commit-tree', tree, '-p', 'HEAD', '-m', message]).trim();
  git(gitDir, ['update-ref', 'HEAD', id]);
  await platform.branch.sync();
  const made = await create(await next(), 'k1');
  expect(made.stored).toBeDefined();
  expect(platform.names('teams')).toEqual(['ops']);
});
