/** A write that comes twice with one idempotency key is one commit. */
import { expect, test } from 'vitest';
import { openIdempotentRegistry } from '../../src/registry/idempotent-registry.ts';
import type { ObjectRegistry } from '../../src/registry/registry.ts';
import type { WriteOptions } from '../../src/registry/write-context.ts';
import { git } from '../support/git.ts';
import { ann, kindOf, openTestPlatform, type TestPlatform } from '../support/platform.ts';

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

async function open(): Promise<Door & { platform: TestPlatform }> {
  const platform = await openTestPlatform();
  const next = (): Promise<Required<ObjectRegistry>> =>
    openIdempotentRegistry({ ...platform, registry: platform.registry, clock: Date });
  const { gitDir } = platform.repository;
  const commits = (): number => Number(git(gitDir, ['rev-list', '--count', 'HEAD']).trim());
  return { platform, door: await next(), next, commits };
}

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

test('another key, another user, and what failed, are decided anew', async () => {
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

test('a delete and an update that are sent again change nothing', async () => {
  const { door, next, commits, platform } = await open();
  await create(door, 'k1');
  const update = (through: ObjectRegistry, displayName: string) =>
    through.update({
      ...target,
      verb: 'update',
      duplicates: [],
      options: options('k2'),
      change: (current) => ({ ...current, spec: { displayName } }),
    });
  const changed = await update(door, 'two');
  const again = await update(await next(), 'two');
  expect(again.commit).toBe(changed.commit);
  await door.delete({ ...target, delete: {}, options: options('k3') });
  const count = commits();
  const gone = await (await next()).delete({ ...target, delete: {}, options: options('k3') });
  expect(gone.gone).toBe(true);
  expect(commits()).toBe(count);
  expect(platform.names('teams')).toEqual([]);
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
