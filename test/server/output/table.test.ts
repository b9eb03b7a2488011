import { describe, expect, test } from 'vitest';
import type { PrinterColumn } from '../../../src/kinds/kind.ts';
import {
  buildEventTable,
  buildTable,
  parseIncludeObject,
  partialMetadata,
  type TableOptions,
} from '../../../src/server/output/table.ts';
import { kindNamed, NOW, team } from '../sample-objects.ts';

const options: TableOptions = { version: 'v1', includeObject: 'Metadata', now: NOW };
const TEAM = kindNamed('Team');
const metadata = { resourceVersion: '99' };
const ops = team('ops');

describe('a table', () => {
  test('has the name first and then the columns of the kind', () => {
    const table = buildTable(TEAM, { metadata, objects: [ops] }, options);
    expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata });
    expect(table.columnDefinitions[0]).toMatchObject({
      name: 'Name',
      type: 'string',
      format: 'name',
      priority: 0,
    });
    expect(table.columnDefinitions.map(({ name, priority }) => `${name} ${priority}`)).toEqual([
      'Name 0',
      ...TEAM.columns.slice(0, -1).map((column) => `${column.name} ${column.priority ?? 0}`),
      'Health 0',
      'Age 0',
    ]);
    expect(table.rows[0]?.cells).toHaveLength(table.columnDefinitions.length);
    expect(table.rows[0]?.cells.slice(0, 3)).toEqual(['ops', 'The ops', 2]);
  });

  test('a table of a kind without columns shows the age', () => {
    const table = buildTable({ columns: [] }, { metadata, objects: [ops] }, options);
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Age']);
    expect(table.rows[0]?.cells).toEqual(['ops', '4m30s']);
  });

  test('keeps the metadata of its list and has no row for no object', () => {
    const listMeta = { resourceVersion: '7', continue: 'abc', remainingItemCount: 3 };
    const table = buildTable(TEAM, { metadata: listMeta, objects: [] }, options);
    expect(table.metadata).toEqual(listMeta);
    expect(table.rows).toEqual([]);
  });

  test.each([
    ['None', null],
    [
      'Metadata',
      { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: ops.metadata },
    ],
    ['Object', ops],
  ] as const)('a table with includeObject=%s has that object form', (includeObject, object) => {
    const table = buildTable(TEAM, { metadata, objects: [ops] }, { ...options, includeObject });
    expect(table.rows[0]?.object).toEqual(object);
  });

  test('a table of v1beta1 names its version everywhere', () => {
    const table = buildTable(
      TEAM,
      { metadata, objects: [ops] },
      { ...options, version: 'v1beta1' },
    );
    expect(table.apiVersion).toBe('meta.k8s.io/v1beta1');
    expect(table.rows[0]?.object).toMatchObject({ apiVersion: 'meta.k8s.io/v1beta1' });
  });
});

describe('cells', () => {
  const column = (type: PrinterColumn['type'], value: ReturnType<PrinterColumn['value']>) => ({
    columns: [{ name: 'X', type, description: 'x', value: () => value }],
  });
  test.each<[PrinterColumn['type'], ReturnType<PrinterColumn['value']>, unknown]>([
    ['string', 'text', 'text'],
    ['string', undefined, null],
    ['integer', 0, 0],
    ['boolean', false, false],
    ['date', undefined, null],
    ['date', '', '<unknown>'],
    ['date', 'yesterday', '<invalid>'],
    ['date', '2026-03-01T11:59:15Z', '45s'],
    ['date', '2026-03-01T11:55:00Z', '5m'],
    ['date', '2026-02-27T12:00:00Z', '2d'],
    ['date', '2024-01-01T00:00:00Z', '2y60d'],
    ['date', '2026-03-01T12:01:00Z', '<invalid>'],
    ['string', '2026-03-01T11:59:15Z', '2026-03-01T11:59:15Z'],
  ])('%s %j is %j', (type, value, expected) => {
    const table = buildTable(column(type, value), { metadata, objects: [ops] }, options);
    expect(table.rows[0]?.cells[1]).toBe(expected);
  });
});

describe('the table of an event', () => {
  test('names the columns in the first event only', () => {
    const first = buildEventTable(TEAM, { object: ops, first: true }, options);
    const later = buildEventTable(TEAM, { object: ops, first: false }, options);
    expect(first.columnDefinitions.length).toBeGreaterThan(1);
    expect(later).toEqual({ ...first, columnDefinitions: [] });
    expect(first.metadata).toEqual({ resourceVersion: '41' });
  });

  test('the table of a bookmark has one row without a name', () => {
    const bookmark = { ...ops, metadata: { resourceVersion: '50', creationTimestamp: null } };
    const table = buildEventTable(TEAM, { object: bookmark, first: false }, options);
    expect(table.rows[0]?.cells[0]).toBe('');
    expect(table.rows[0]?.object).toMatchObject({ metadata: { resourceVersion: '50' } });
  });
});

test('PartialObjectMetadata holds metadata and nothing else', () => {
  expect(Object.keys(partialMetadata(ops, 'v1'))).toEqual(['kind', 'apiVersion', 'metadata']);
});

describe('includeObject', () => {
  test.each([
    ['', 'Metadata'],
    ['includeObject=', 'Metadata'],
    ['includeObject=None', 'None'],
    ['includeObject=Object', 'Object'],
  ])('?%s is %s', (query, expected) => {
    expect(parseIncludeObject(new URLSearchParams(query))).toBe(expected);
  });

  test('any other word is 400', () => {
    expect(() => parseIncludeObject(new URLSearchParams('includeObject=none'))).toThrow(
      expect.objectContaining({
        code: 400,
        message: `Unable to convert to Table as requested: includeObject: Invalid value: "none": must be 'Metadata', 'Object', 'None', or empty`,
      }),
    );
  });
});

test('no kind shows a secret in a column', () => {
  const secret = kindNamed('SharedSecret');
  const object = { ...ops, kind: 'SharedSecret', spec: { data: { password: 's3cr3t' } } };
  const table = buildTable(secret, { metadata, objects: [object] }, options);
  expect(JSON.stringify(table.rows)).not.toContain('s3cr3t');
});
