import { expect, test } from 'vitest';
import { formatFieldError } from '../../src/apimachinery/field-error.ts';
import { deadReverseExpressions } from '../../src/endpoint-patches/reverse-paths.ts';

function dead(path: string, patch: object = { reverseExpression: 'value' }): string[] {
  const setting = { patches: [{ path, ...patch }] };
  const config = { sync: { toHost: { endpoints: setting, services: setting } } };
  return deadReverseExpressions(config).map(formatFieldError);
}

test.each([
  '',
  'metadata',
  '*',
  'metadata.*',
  'metadata.labels',
  '*.labels',
  'metadata[*].team',
  'metadata.labels["a.b/c"]',
  'metadata.annotations.*',
])('a reverse expression may stand at %j', (path) => {
  expect(dead(path)).toEqual([]);
});

test.each([
  'subsets',
  'subsets[*].addresses[*].ip',
  'spec.ports[*].name',
  'metadata.finalizers',
  'metadata.ownerReferences[0]',
  'spec.labels',
])('an expression at %j would never run', (path) => {
  const why = `Forbidden: ${JSON.stringify(path)} never flows back to the tenant: only metadata.labels and metadata.annotations do`;

  expect(dead(path)).toEqual([
    `sync.toHost.endpoints.patches[0].reverseExpression: ${why}`,
    `sync.toHost.services.patches[0].reverseExpression: ${why}`,
  ]);
  expect(dead(path, { expression: 'value' })).toEqual([]);
  expect(dead(path, { expression: 'value', reverseExpression: null })).toEqual([]);
});

test.each([[null], [{}], [{ sync: { toHost: { endpoints: { patches: null } } } }]])(
  'nothing stands against %j',
  (config) => {
    expect(deadReverseExpressions(config)).toEqual([]);
  },
);
