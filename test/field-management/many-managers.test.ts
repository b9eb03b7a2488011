/** Records of thousands of managers: any user may write them. */
import { expect, test } from 'vitest';
import { FieldSet } from '../../src/field-management/field-set.ts';
import { applyManagers } from '../../src/field-management/manage.ts';
import {
  capUpdaters,
  type Manager,
  managerId,
  type Owned,
} from '../../src/field-management/managers.ts';

/** Managers with a field each that no other one has. */
function records(count: number, operation: Manager['operation']): Map<string, Owned> {
  const all = Array.from({ length: count }, (_, at): [string, Owned] => {
    const manager = { name: `m${at}`, operation, apiVersion: 'v1', subresource: '' };
    const fields = new FieldSet();
    fields.insert(['f:data', `f:k${at}`]);
    return [managerId(manager), { manager, fields, time: undefined }];
  });
  return new Map(all);
}

test.each<[string, () => ReadonlyMap<string, Owned>]>([
  ['updates are merged into one entry', () => capUpdaters(records(20_000, 'Update'))],
  [
    'applies are respected by another apply',
    () => {
      const managers = records(20_000, 'Apply');
      const [manager] = [...managers.values()].map((owned) => owned.manager);
      if (manager === undefined) throw new Error('no manager');
      const applied = { data: { k1: 'new' } };
      const live = { data: { k0: 'old', k1: 'old' } };
      const apply = { shape: undefined, managers, manager, time: 'now', force: true };
      return applyManagers({ ...apply, live, applied }).managers;
    },
  ],
])('managers: 20,000 %s in less than three seconds', (_title, write) => {
  const start = process.cpuUsage();
  const managers = write();
  const { user, system } = process.cpuUsage(start);

  expect(managers.size).toBeGreaterThan(0);
  expect((user + system) / 1e6).toBeLessThan(3);
});

test('fields of merged updates are kept', () => {
  const managers = [...capUpdaters(records(30, 'Update')).values()];
  const fields = managers.flatMap((owned) =>
    Object.keys(owned.fields.toFieldsV1()['f:data'] ?? {}),
  );

  expect(managers).toHaveLength(10);
  expect(fields.sort()).toEqual(Array.from({ length: 30 }, (_, at) => `f:k${at}`).sort());
});
