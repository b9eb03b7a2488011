/** Reverse expressions that never run are refused when they are written. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { reversePathGuard } from '../../../src/daemon/guards/reverse-path-guard.ts';
import { ann, kindOf } from '../../support/platform.ts';

function tenant(path: string): KubeObject {
  const { group, kind } = kindOf('tenants');
  const spec = {
    sync: { toHost: { endpoints: { patches: [{ path, reverseExpression: 'value' }] } } },
  };
  return { apiVersion: `${group}/v1`, kind, metadata: { name: 'blue' }, spec };
}

test.each([
  ['metadata.labels', undefined, undefined],
  ['subsets', 422, undefined],
  ['subsets', 422, tenant('subsets')],
])('a tenant with a way back for %s: %s', (path, code, old) => {
  const change = { user: ann, kind: kindOf('tenants'), object: tenant(path), old };

  expect(reversePathGuard(change)?.code).toBe(code);
});

test('a tenant that goes, and other kinds, are not asked', () => {
  const [old, kind] = [tenant('subsets'), kindOf('tenants')];

  expect(reversePathGuard({ user: ann, kind, object: undefined, old })).toBeUndefined();
  const team = { user: ann, kind: kindOf('teams'), object: old, old: undefined };
  expect(reversePathGuard(team)).toBeUndefined();
});
