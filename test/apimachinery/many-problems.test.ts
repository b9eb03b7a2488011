import { expect, test } from 'vitest';
import { applyConflict } from '../../src/apimachinery/apply-conflict.ts';
import { invalid, invalidObject, type StatusError } from '../../src/apimachinery/index.ts';

const CONFIG_MAP = { group: '', plural: 'configmaps', kind: 'ConfigMap' };

function invalidKeys(count: number): StatusError {
  const problems = Array.from({ length: count }, (_, at) => invalid(['data', `!${at}`], '!', 'no'));
  return invalidObject(CONFIG_MAP, 'settings', problems);
}

function conflicts(count: number): StatusError {
  return applyConflict(
    Array.from({ length: count }, (_, at) => ({ manager: `m${at}`, path: '.a' })),
  );
}

test.each([
  ['an invalid object', invalidKeys],
  ['a conflict of fields', conflicts],
])('%s: an answer has the first hundred problems and the number of the others', (_title, error) => {
  expect(error(100).details?.causes).toHaveLength(100);
  expect(error(100).message).not.toContain('more');
  expect(error(20_000).details?.causes).toHaveLength(100);
  expect(error(20_000).message).toContain('and 19900 more');
  expect(error(20_000).message.length).toBeLessThan(10_000);
});
