/** That no field of the configuration is without a test of what it does. */
import { expect, test } from 'vitest';
import { coveredFields } from '../../scripts/coverage.ts';
import { pageText } from './markdown.ts';

test('every field has a test of what it does', () => {
  const open = coveredFields().filter(({ tests }) => tests.length === 0);
  expect(open.map(({ path }) => path)).toEqual([]);
});

test('every field is in the table once, and every section has a page', () => {
  const fields = coveredFields();
  const paths = fields.map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  expect(paths.length).toBeGreaterThan(250);
  for (const section of new Set(fields.map((field) => field.section))) {
    const page = pageText(`docs/config-coverage/${section}.md`);
    expect(page).toContain(`<!-- generated: coverage ${section} -->`);
  }
});
