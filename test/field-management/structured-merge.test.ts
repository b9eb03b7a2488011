/** Field management does what structured-merge-diff does, the library of every Kubernetes API server. */
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/apimachinery/object.ts';
import type { FieldSet } from '../../src/field-management/field-set.ts';
import {
  applyManagers,
  FieldConflictError,
  updateManagers,
} from '../../src/field-management/manage.ts';
import type { Manager, Owned } from '../../src/field-management/managers.ts';
import type { ShapeNode } from '../../src/field-management/shape.ts';
import { buildGoProgram } from '../bench/go-program.ts';

const structuredMerge = buildGoProgram('structured-merge');

const SCHEMA = `
types:
- name: object
  map:
    fields:
    - {name: spec, type: {namedType: spec}}
- name: spec
  map:
    fields:
    - {name: text, type: {scalar: string}}
    - {name: number, type: {scalar: numeric}}
    - name: labels
      type: {map: {elementType: {scalar: string}}}
    - name: whole
      type: {map: {elementType: {scalar: string}, elementRelationship: atomic}}
    - name: words
      type: {list: {elementType: {scalar: string}, elementRelationship: associative}}
    - name: items
      type: {list: {elementType: {namedType: item}, elementRelationship: associative, keys: [name]}}
    - name: plain
      type: {list: {elementType: {scalar: string}, elementRelationship: atomic}}
    - {name: inner, type: {namedType: inner}}
- name: inner
  map:
    fields:
    - {name: a, type: {scalar: string}}
    - {name: b, type: {scalar: string}}
    - name: more
      type: {map: {elementType: {namedType: inner}}}
- name: item
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: string}}
    - {name: inner, type: {namedType: inner}}
`;

const TEXT: ShapeNode = { type: 'string' };
const INNER_LEAF: ShapeNode = { type: 'object', properties: { a: TEXT, b: TEXT } };
const INNER: ShapeNode = {
  type: 'object',
  properties: { a: TEXT, b: TEXT, more: { type: 'object', additionalProperties: INNER_LEAF } },
};
const ITEM: ShapeNode = { type: 'object', properties: { name: TEXT, value: TEXT, inner: INNER } };
const SHAPE: ShapeNode = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        text: TEXT,
        number: { type: 'number' },
        labels: { type: 'object', additionalProperties: TEXT },
        whole: {
          type: 'object',
          additionalProperties: TEXT,
          'x-kubernetes-map-type': 'atomic',
        },
        words: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'set' },
        items: {
          type: 'array',
          items: ITEM,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
        plain: { type: 'array', items: TEXT, 'x-kubernetes-list-type': 'atomic' },
        inner: INNER,
      },
    },
  },
};

const word = fc.constantFrom('x', 'y', 'z');
const texts = fc.dictionary(fc.constantFrom('k', 'l', 'm'), word, { maxKeys: 3 });
const leaf = fc.record({ a: word, b: word }, { requiredKeys: [] });
const inner = fc.record(
  { a: word, b: word, more: fc.dictionary(fc.constantFrom('p', 'q'), leaf, { maxKeys: 2 }) },
  { requiredKeys: [] },
);
const item = fc.record(
  { name: fc.constantFrom('i', 'j', 'k'), value: word, inner },
  { requiredKeys: ['name'] },
);
const object = fc.record(
  {
    spec: fc.record(
      {
        text: word,
        number: fc.integer({ min: 0, max: 2 }),
        labels: texts,
        whole: texts,
        words: fc.uniqueArray(word, { maxLength: 3 }),
        items: fc.uniqueArray(item, { maxLength: 3, selector: ({ name }) => name }),
        plain: fc.array(word, { maxLength: 3 }),
        inner,
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<JsonObject>;
const operation = fc.record({
  apply: fc.boolean(),
  force: fc.boolean(),
  manager: fc.constantFrom('one', 'two', 'three') as fc.Arbitrary<string>,
  object,
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

interface Result {
  readonly object: JsonValue;
  readonly managers: JsonObject;
  readonly conflicts?: JsonObject;
  readonly error?: string;
}

const HISTORIES = 500;

if (structuredMerge === undefined) {
  test.skip('structured-merge-diff is not built without Go, and judges nothing', () => {});
}

describe.skipIf(structuredMerge === undefined)('field management', () => {
  test('histories of applies and updates end as with structured-merge-diff', () => {
    const histories = fc.sample(fc.array(managed(operation), { minLength: 1, maxLength: 6 }), {
      numRuns: HISTORIES,
      seed: fc.readConfigureGlobal().seed ?? 0,
    });
    // The first that differs is a short one.
    histories.sort((a, b) => JSON.stringify(a).length - JSON.stringify(b).length);
    const answers = ask(histories);

    for (const [at, operations] of histories.entries()) {
      expect({ operations, results: run(operations) }).toEqual({
        operations,
        results: answers[at],
      });
    }
  });
});

/** A manager either applies or updates: the library knows managers by name alone. */
function managed(of: fc.Arbitrary<Operation>): fc.Arbitrary<Operation> {
  return of.map((one) => ({
    ...one,
    manager: `${one.manager}-${one.apply ? 'applies' : 'updates'}`,
  }));
}

function ask(histories: readonly Operation[][]): Result[][] {
  const lines = histories.map((operations) => JSON.stringify({ schema: SCHEMA, operations }));
  const { stdout, stderr, status } = spawnSync(structuredMerge ?? '', {
    input: `${lines.join('\n')}\n`,
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Result[]);
}

function run(operations: readonly Operation[]): Result[] {
  let live: JsonValue = {};
  let managers = new Map<string, Owned>();
  return operations.map(({ apply, force, manager: name, object: wanted }) => {
    const manager: Manager = {
      name,
      operation: apply ? 'Apply' : 'Update',
      apiVersion: 'v1',
      subresource: '',
    };
    const common = { shape: SHAPE, managers, manager, time: '2026-01-01T00:00:00Z' };
    try {
      if (apply) {
        const applied = applyManagers({ ...common, live, applied: wanted, force });
        ({ managers } = applied);
        live = applied.object;
      } else {
        managers = updateManagers({ ...common, before: live, after: wanted });
        live = wanted;
      }
    } catch (error) {
      if (!(error instanceof FieldConflictError)) throw error;
      const conflicts: JsonObject = {};
      for (const { owner, fields } of error.conflicts) {
        conflicts[owner.manager.name] = plain(fields);
      }
      return { object: live, managers: setsOf(managers), conflicts, error: 'conflict' };
    }
    return { object: live, managers: setsOf(managers) };
  });
}

function setsOf(managers: ReadonlyMap<string, Owned>): JsonObject {
  return Object.fromEntries(
    [...managers.values()].map(({ manager, fields }) => [manager.name, plain(fields)]),
  );
}

/** With a prototype again, and through JSON, as the other side comes. */
function plain(fields: FieldSet): JsonObject {
  return JSON.parse(JSON.stringify(fields.toFieldsV1())) as JsonObject;
}
