/** Fields without a manager, for every writer. */
import { expect, test } from 'vitest';
import { applyManagers, updateManagers } from '../../src/field-management/manage.ts';
import type { Manager } from '../../src/field-management/managers.ts';
import { UNMANAGED_META } from '../../src/field-management/shape.ts';

const MANAGER: Manager = { name: 'm', operation: 'Apply', apiVersion: 'g/v1', subresource: '' };
const META = Object.fromEntries(UNMANAGED_META.map((name) => [name, 'x']));
const WHOLE = { apiVersion: 'g/v1', kind: 'K', metadata: { ...META, labels: { a: 'b' } }, spec: 1 };
const OWNED = { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } }, 'f:spec': {} };
const OF = { shape: undefined, managers: new Map(), manager: MANAGER, time: 'now' };

test.each([
  ['an apply', () => applyManagers({ ...OF, live: {}, applied: WHOLE, force: false }).managers],
  ['an update', () => updateManagers({ ...OF, before: {}, after: WHOLE })],
  [
    'an update of metadata',
    () => updateManagers({ ...OF, before: { metadata: {} }, after: WHOLE }),
  ],
])('%s owns neither the identity of an object nor what the server writes', (_what, write) => {
  expect([...write().values()].map(({ fields }) => fields.toFieldsV1())).toEqual([OWNED]);
});

test('an empty metadata has no owner', () => {
  const managers = updateManagers({ ...OF, before: {}, after: { metadata: {}, kind: 'K' } });
  expect([...managers]).toEqual([]);
});

test.each([
  ['of its own', { a: 1 }, { a: 1, b: 1 }, 'later'],
  ['of another', { a: 1, b: 1 }, { a: 1, b: 1 }, 'now'],
])('a field %s that a manager removes: its entry has the time %s', (_what, after, owned, time) => {
  const before = { a: 1, b: 1, c: 1 };
  const [all, own] = [before, owned].map((of) => updateManagers({ ...OF, before: {}, after: of }));
  const managers = own ?? all ?? new Map();
  const changed = updateManagers({ ...OF, before, after, managers, time: 'later' });
  expect([...changed.values()].map((one) => one.time)).toEqual([time]);
});
