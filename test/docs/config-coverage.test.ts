/** Which fields of the configuration act, and that this does not get worse. */
import { expect, test } from 'vitest';
import { coverageClaims, coveredFields } from '../../scripts/config-coverage.ts';
import { pageText } from './markdown.ts';

/** Sections of the specification in which every field has a test of what it does. */
const COMPLETE = [
  '2.8.1',
  '2.8.2',
  '2.8.3',
  '2.8.4',
  '2.8.5',
  '2.8.6',
  '2.8.7',
  '2.8.10',
  '2.8.12',
];

test.each(COMPLETE)('every field of section %s has a test of what it does', (section) => {
  const open = coveredFields().filter((field) => field.section === section && !field.tests.length);
  expect(open.map(({ path }) => path)).toEqual([]);
});

test('tests cover only fields that there are', () => {
  const known = new Set(coveredFields().map(({ path }) => path));
  const unknown = coverageClaims().filter(({ path }) => !known.has(path));
  expect(unknown).toEqual([]);
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
