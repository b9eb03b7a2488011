/** The time of an entry in managedFields is that of the last change of its fields. */
import { expect, test } from 'vitest';
import { kindOf, openTestPlatform, writeOptions } from '../support/platform.ts';

// covers: metadata.managedFields.time metadata.managedFields.time.removed
test('a manager that adds, changes or removes a field gets the time of it, and no other does', async () => {
  const START = Date.parse('2026-01-01T00:00:00Z');
  let now = START;
  const { registry } = await openTestPlatform({ clock: { now: () => now } });
  const kind = kindOf('teams');
  const as = (fieldManager: string) => ({ ...writeOptions, fieldManager });
  const made = await registry.create({
    kind,
    namespace: '',
    body: { metadata: { name: 'a' }, spec: { displayName: 'A' } },
    duplicates: [],
    options: as('one'),
  });
  const times = ({ object }: typeof made): Record<string, number> =>
    Object.fromEntries(
      (object.metadata.managedFields ?? []).map(({ manager, time }) => [
        manager,
        (Date.parse(String(time)) - START) / 1000,
      ]),
    );
  expect(times(made)).toEqual({ one: 0 });

  const write = (fieldManager: string, spec: object): Promise<typeof made> => {
    now += 10_000;
    const change = (current: object) => ({ ...current, spec });
    const of = { verb: 'patch', kind, namespace: '', name: 'a', duplicates: [] } as const;
    return registry.update({ ...of, options: as(fieldManager), change });
  };
  const both = { displayName: 'A', description: 'B' };
  expect(times(await write('two', both))).toEqual({ one: 0, two: 10 });
  expect(times(await write('two', both))).toEqual({ one: 0, two: 10 });
  expect(times(await write('two', { ...both, description: 'C' }))).toEqual({ one: 0, two: 30 });
  expect(times(await write('one', { ...both, description: 'C', users: ['x'] }))).toEqual({
    one: 40,
    two: 30,
  });
  const less = { ...both, description: 'C' };
  expect(times(await write('one', less))).toEqual({ one: 50, two: 30 });
  // Another one takes the field away: it was not the act of its manager.
  expect(times(await write('one', { displayName: 'A' }))).toEqual({ one: 50 });
});
