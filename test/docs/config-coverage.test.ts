/** Which fields of the configuration act, and that this does not get worse. */
import { expect, test } from 'vitest';
import { coverageClaims, coveredFields } from '../../scripts/config-coverage.ts';

/** May only become smaller. The fields are listed in docs/config-coverage.md. */
const WITHOUT_BEHAVIOUR_TEST = 152;

test('no more fields than before are without a test of what they do', () => {
  const open = coveredFields().filter(({ tests }) => tests.length === 0);
  expect(open.length, open.map(({ path }) => path).join(' ')).toBe(WITHOUT_BEHAVIOUR_TEST);
});

test('tests cover only fields that there are', () => {
  const known = new Set(coveredFields().map(({ path }) => path));
  expect([...coverageClaims().keys()].filter((path) => !known.has(path))).toEqual([]);
});

test('every field is in the table once', () => {
  const paths = coveredFields().map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  expect(paths.length).toBeGreaterThan(250);
});
