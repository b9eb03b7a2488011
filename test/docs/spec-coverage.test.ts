/** Every rule of the specification has a test, and the page has every rule. */
import { expect, test } from 'vitest';
import { coverageClaims, coveredFields, coveredRows } from '../../scripts/coverage.ts';
import { OPEN_ROWS } from '../support/spec-rows.ts';
import { pageText } from './markdown.ts';

test('every rule has a test, but for those that say why they have none', () => {
  const open = coveredRows().filter(({ tests }) => tests.length === 0);
  expect(open.map(({ id }) => id).sort()).toEqual(Object.keys(OPEN_ROWS).sort());
});

test('tests cover only fields and rules that there are', () => {
  const rules = coveredRows().filter(({ field }) => field === undefined);
  const known = new Set([...coveredFields().map(({ path }) => path), ...rules.map(({ id }) => id)]);
  const unknown = coverageClaims().filter(({ path }) => !known.has(path));
  expect(unknown).toEqual([]);
});

test('every rule is there once and whole, and every section has its table', () => {
  const rows = coveredRows();
  const ids = rows.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(200);
  expect(rows.filter(({ id, rule }) => id === '' || rule === '')).toEqual([]);
  const fields = new Set(coveredFields().map(({ path }) => path));
  expect(rows.filter(({ field }) => field !== undefined && !fields.has(field))).toEqual([]);
  const page = pageText('docs/spec-coverage.md');
  for (const { section } of rows) expect(page).toContain(`<!-- generated: rules ${section} -->`);
});

test.each([
  ['a row of a table', 'metadata.name.required', 'e2e/errors.test.ts', 'no name'],
  [
    'a case of a table',
    'metadata.ownerReferences.oneController',
    'conformance/api/cases/metadata.ts',
    'owner references are whole, and at most one controls',
  ],
  [
    'a table',
    'SharedSecret.spec.data.keys',
    'kinds/kinds.test.ts',
    '%s takes keys and base64 values',
  ],
])('a claim above %s has the title of it', (_what, path, file, title) => {
  expect(coverageClaims()).toContainEqual({ path, file, title });
});
