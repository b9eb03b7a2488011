/** A right on one name is a right on one object: writes that wait do not reach the next one. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { forbiddenError } from '../../src/apimachinery/status-error.ts';
import type { Target, WriteResult } from '../../src/registry/writes/write-context.ts';
import type { StoredObject } from '../../src/state/store.ts';
import { kindOf, openTestPlatform, type TestPlatform, writeOptions } from '../support/platform.ts';

const kind = kindOf('teams');
const body = (displayName: string): object => ({
  apiVersion: 'management.gitplane.dev/v1',
  kind: 'Team',
  metadata: { name: 'ops' },
  spec: { displayName },
});
const common = { duplicates: [], options: { ...writeOptions, fieldManager: 'test' } };
const change = (current: KubeObject): object => ({ ...current, spec: { displayName: 'taken' } });

const WRITES: readonly [
  string,
  (registry: TestPlatform['registry'], target: Target) => Promise<WriteResult>,
][] = [
  ['update', (at, target) => at.update({ ...target, ...common, verb: 'update', change })],
  ['patch', (at, target) => at.update({ ...target, ...common, verb: 'patch', change })],
  [
    'apply',
    (at, target) =>
      at.apply({
        ...{ ...target, ...common, body: body('taken'), force: true },
        beforeCreate: () => expect.unreachable('the object is there'),
      }),
  ],
  ['delete', (at, target) => at.delete({ ...target, ...common, delete: {} })],
  [
    'delete that leaves dependents',
    (at, target) =>
      at.delete({ ...target, ...common, delete: { propagationPolicy: 'Background' } }),
  ],
];

test.each(WRITES)(
  '%s of an object that was deleted is refused where another one has its name',
  async (_title, write) => {
    const platform = await openTestPlatform();
    await platform.create('teams', body('first'));
    const rightOn = platform.find('teams', 'ops')?.object.metadata.uid;
    const target = { kind, namespace: '', name: 'ops', rightOn };
    // One group of the queue: each is decided on what the one before made.
    const deleted = platform.delete('teams', 'ops');
    const made = platform.create('teams', body('second'));
    const late = write(platform.registry, target);
    await expect(late).rejects.toMatchObject({
      code: 409,
      message: expect.stringContaining('another one has its name'),
    });
    await Promise.all([deleted, made]);
    const { object } = await made;
    expect(object.spec).toEqual({ displayName: 'second' });
    expect(platform.find('teams', 'ops')?.object.metadata.uid).toBe(object.metadata.uid);
  },
);

test.each(WRITES)('%s of the object that the right is on is done', async (_title, write) => {
  const platform = await openTestPlatform();
  await platform.create('teams', body('first'));
  const rightOn = platform.find('teams', 'ops')?.object.metadata.uid;
  await write(platform.registry, { kind, namespace: '', name: 'ops', rightOn });
});

test('a dry run shows nothing of another object that has the name', async () => {
  const platform = await openTestPlatform();
  await platform.create('teams', body('first'));
  const rightOn = platform.find('teams', 'ops')?.object.metadata.uid;
  await platform.delete('teams', 'ops');
  await platform.create('teams', body('second'));
  const options = { ...common.options, dryRun: true };
  const target = { kind, namespace: '', name: 'ops', rightOn, duplicates: [], options };
  const unseen = (): object => expect.unreachable('the patch is shown the object');
  await expect(
    platform.registry.update({ ...target, verb: 'patch', change: unseen }),
  ).rejects.toMatchObject({ code: 409 });
  await expect(platform.registry.delete({ ...target, delete: {} })).rejects.toMatchObject({
    code: 409,
  });
});

test.each(WRITES)('%s is checked on the version that it changes', async (_title, write) => {
  const platform = await openTestPlatform();
  await platform.create('teams', body('first'));
  const seen: unknown[] = [];
  const check = ({ object }: StoredObject): void => {
    seen.push(object.spec?.['displayName']);
    throw forbiddenError('not this version', kind, 'ops');
  };
  // One group of the queue.
  const changed = platform.registry.update({
    ...{ kind, namespace: '', name: 'ops', ...common, verb: 'patch' as const, change },
  });
  const late = write(platform.registry, { kind, namespace: '', name: 'ops', check });
  await expect(late).rejects.toMatchObject({ code: 403 });
  expect(seen).toEqual(['taken']);
  await changed;
});
