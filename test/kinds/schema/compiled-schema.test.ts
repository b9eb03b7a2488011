import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatFieldError, formatPath } from '../../../src/apimachinery/field-error.ts';
import type { JsonObject, JsonValue } from '../../../src/apimachinery/object.ts';
import { compileSchema } from '../../../src/kinds/schema/compiled-schema.ts';
import { openApiSchema } from '../../../src/kinds/schema/openapi-schema.ts';
import {
  type SchemaNode,
  schemaDocument,
  schemaNames,
  schemaPlaces,
  schemaTree,
} from '../../../src/kinds/schema/schema-files.ts';
import { runs } from '../../support/properties.ts';
import { object, problems, table } from '../objects.ts';

const MAPS = [
  'byName',
  'labels',
  'annotations',
  'data',
  'limits',
  'requests',
  'customHttpHeaders',
  'matchLabels',
];

/** Every map in a document, the ones below `definitions` included. */
function* subschemas(value: JsonValue): IterableIterator<JsonObject> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value;
  for (const item of Object.values(value)) yield* subschemas(item as JsonValue);
}

describe('the files', () => {
  test.each(schemaNames())('%s names itself, its draft and a title', (name) => {
    expect(schemaDocument(name)).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $id: `https://gitplane.dev/schemas/${name}.json`,
      title: expect.any(String),
    });
  });

  test.each(schemaNames())('%s is valid, and every $ref leads somewhere', (name) => {
    const ajv = new Ajv({ strict: false });
    addFormats.default(ajv);
    for (const format of ['int32', 'int64']) ajv.addFormat(format, true);
    for (const each of schemaNames()) ajv.addSchema(schemaDocument(each));
    expect(ajv.getSchema(`https://gitplane.dev/schemas/${name}.json`)).toBeTypeOf('function');
  });

  test.each(schemaNames())('%s refers to files beside it, so that editors find them', (name) => {
    for (const schema of subschemas(schemaDocument(name))) {
      const ref = schema['$ref'];
      if (typeof ref === 'string') expect(ref).toMatch(/^([a-z-]+\.json|#\/definitions\/\w+)$/);
    }
  });

  test.each(table.kinds.map(({ schema }) => schema))('%s knows all its fields', (name) => {
    const root = { path: [], node: schemaTree(name) };
    for (const { path, node } of [root, ...schemaPlaces(root.node)]) {
      if (![node.type].flat().includes('object')) continue;
      if (node['x-kubernetes-preserve-unknown-fields'] === true) continue;
      const isMap = MAPS.includes(String(path.at(-1)));
      expect([path.join('.'), typeof node.additionalProperties === 'object']).toEqual([
        path.join('.'),
        isMap,
      ]);
      if (!isMap) expect(node.additionalProperties, path.join('.')).toBe(false);
    }
  });

  test.each(table.kinds.map(({ schema }) => schema))('%s describes every field', (name) => {
    for (const { path, node } of schemaPlaces(schemaTree(name))) {
      if (path.at(-1) !== '*') expect(node.description, path.join('.')).toMatch(/\w.*\.$/s);
    }
  });

  test('a document of any kind has its branch in the schema for mixed files', () => {
    const manifest = JSON.stringify(schemaDocument('manifest'));
    for (const kind of table.kinds) {
      expect(manifest.includes(`"${kind.schema}.json"`)).toBe(kind.storedIn === 'git');
    }
  });
});

describe('merge semantics', () => {
  test.each([
    ['team', 'spec.users', 'set'],
    ['team', 'spec.groups', 'set'],
    ['team', 'spec.access', 'atomic'],
    ['team', 'spec.access.*.verbs', 'set'],
    ['team', 'spec.access.*.teams', 'set'],
    ['sharedsecret', 'status.conditions', 'map'],
    ['team', 'metadata.ownerReferences', 'map'],
    ['team', 'metadata.finalizers', 'set'],
    ['team', 'metadata.managedFields', 'atomic'],
  ])('%s: %s is a list of type %s', (name, path, type) => {
    const place = [...schemaPlaces(schemaTree(name))].find((at) => at.path.join('.') === path);
    expect(place?.node['x-kubernetes-list-type']).toBe(type);
  });

  test('lists that are maps say by which key', () => {
    const keys = (path: string): unknown =>
      [...schemaPlaces(schemaTree('team'))].find((at) => at.path.join('.') === path)?.node[
        'x-kubernetes-list-map-keys'
      ];
    expect(keys('status.conditions')).toEqual(['type']);
    expect(keys('metadata.ownerReferences')).toEqual(['uid']);
  });
});

describe('check', () => {
  test.each<[string, JsonObject, string]>([
    [
      'a wrong type',
      { spec: { users: 'ada' } },
      'spec.users: Invalid value: "string": spec.users in body must be of type array: "string"',
    ],
    [
      'a null',
      { spec: { users: null } },
      'spec.users: Invalid value: "null": spec.users in body must be of type array: "null"',
    ],
    [
      'a wrong entry',
      { spec: { users: [7] } },
      'spec.users[0]: Invalid value: "integer": spec.users[0] in body must be of type string: "integer"',
    ],
    [
      'a pattern',
      { spec: { access: [{ verbs: ['GET'] }] } },
      `spec.access[0].verbs[0]: Invalid value: "GET": spec.access[0].verbs[0] in body should match '^[a-z*][a-z-]*$'`,
    ],
    ['a missing field', { spec: { access: [{}] } }, 'spec.access[0].verbs: Required value'],
    [
      'an empty list',
      { spec: { access: [{ verbs: [] }] } },
      'spec.access[0].verbs: Invalid value: []: spec.access[0].verbs in body should have at least 1 items',
    ],
    [
      'each duplicate of a set',
      { spec: { users: ['a', 'b', 'a'] } },
      'spec.users[2]: Duplicate value: "a"',
    ],
    ['an unknown field', { spec: { colour: 'red' } }, 'spec.colour: Forbidden: unknown field'],
    [
      'no timestamp',
      { metadata: { deletionTimestamp: 'yesterday' } },
      'metadata.deletionTimestamp: Invalid value: "yesterday": metadata.deletionTimestamp in body must be of type date-time',
    ],
    [
      'a label that is no text',
      { metadata: { labels: { 'a.b/c': 1 } } },
      'metadata.labels["a.b/c"]: Invalid value: "integer": metadata.labels["a.b/c"] in body must be of type string: "integer"',
    ],
  ])('reports %s in the words of Kubernetes', (_, fields, message) => {
    expect(problems(object('Team', fields))).toEqual([message]);
  });

  test.each<[string, JsonObject, string]>([
    [
      'a value out of a list',
      { spec: { user: 'ada', type: 'Robot' } },
      'spec.type: Unsupported value: "Robot": supported values: "", "Login", "User", "Other", "Reset", "OIDCRefreshToken", "NetworkPeer", "Workspace"',
    ],
    [
      'a number that is too small',
      { spec: { user: 'ada', ttl: -1 } },
      'spec.ttl: Invalid value: -1: spec.ttl in body should be greater than or equal to 0',
    ],
    [
      'a text for a number',
      { spec: { user: 'ada', ttl: '3600' } },
      'spec.ttl: Invalid value: "string": spec.ttl in body must be of type integer: "string"',
    ],
    [
      'a fraction',
      { spec: { user: 'ada', ttl: 1.5 } },
      'spec.ttl: Invalid value: "number": spec.ttl in body must be of type integer: "number"',
    ],
    [
      'a number that would change on its way',
      { spec: { user: 'ada', ttl: 2 ** 60 } },
      'spec.ttl: Invalid value: 1152921504606847000: spec.ttl in body must be of type int64',
    ],
  ])('reports %s', (_, fields, message) => {
    expect(problems(object('OwnedAccessKey', fields))).toEqual([message]);
  });

  test('reports every problem, not only the first', () => {
    const subject = object('Team', { spec: { displayname: 'x', users: [1, 2], owner: 'me' } });
    expect(
      compileSchema('team')
        .check(subject)
        .map(({ path }) => formatPath(path))
        .sort(),
    ).toEqual(['spec.displayname', 'spec.owner', 'spec.users[0]', 'spec.users[1]']);
  });

  test('does not change the object', () => {
    const subject = object('Team', { spec: { access: [{ verbs: ['get'] }], nonsense: 1 } });
    const before = structuredClone(subject);
    compileSchema('team').check(subject);
    expect(subject).toEqual(before);
  });

  test('marks unknown fields, so that strict decoding can report them apart', () => {
    const [error] = compileSchema('team').check(object('Team', { spec: { nonsense: 1 } }));
    expect(error).toMatchObject({ unknownField: true, path: ['spec', 'nonsense'] });
  });

  test('accepts any status that the server wrote', () => {
    expect(problems(object('Team', { status: { conditions: [], anything: 1 } }))).toEqual([]);
  });

  test('takes the null creationTimestamp that Go clients send', () => {
    expect(problems(object('Team', { metadata: { creationTimestamp: null } }))).toEqual([]);
  });

  test('never fails on JSON of any shape', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const kind of table.kinds) {
          for (const error of table.schemaOf(kind).check(value)) {
            expect(formatFieldError(error)).not.toContain('undefined');
          }
        }
      }),
      { numRuns: runs(50) },
    );
  });
});

describe('did you mean', () => {
  const hint = (kind: string, fields: JsonObject): string | undefined =>
    /did you mean "(.*)"/.exec(problems(object(kind, fields))[0] ?? '')?.[1];

  test.each<[string, string, JsonObject, string | undefined]>([
    ['a slip', 'Team', { spec: { displyName: 'x' } }, 'displayName'],
    ['a wrong case', 'Team', { spec: { displayname: 'x' } }, 'displayName'],
    ['a singular', 'Team', { spec: { user: ['a'] } }, 'users'],
    ['a field of spec at the root', 'Team', { users: ['a'] }, 'spec.users'],
    ['a field of metadata in spec', 'Team', { spec: { labels: {} } }, 'metadata.labels'],
    ['a field of a map below', 'Team', { spec: { team: 'a' } }, 'spec.owner.team'],
    ['a slip inside a list', 'Team', { spec: { access: [{ verbs: ['get'], usrs: [] }] } }, 'users'],
    ['a field one level too deep', 'SharedSecret', { spec: { owner: { data: {} } } }, 'spec.data'],
    ['nothing like it', 'Team', { spec: { replicas: 3 } }, undefined],
    ['nothing that only the server writes', 'Team', { spec: { fieldsV1: {} } }, undefined],
  ])('%s', (_, kind, fields, expected) => {
    expect(hint(kind, fields)).toBe(expected);
  });
});

describe('prune', () => {
  test('removes unknown fields in place and names their places', () => {
    const subject = object('Team', {
      users: ['a'],
      spec: { users: ['a'], nonsense: { deep: true }, access: [{ verbs: ['get'], verb: 1 }] },
    });
    const paths = compileSchema('team').prune(subject);
    expect(paths.map((path) => formatPath(path)).sort()).toEqual([
      'spec.access[0].verb',
      'spec.nonsense',
      'users',
    ]);
    expect(subject).toEqual(
      object('Team', { spec: { users: ['a'], access: [{ verbs: ['get'] }] } }),
    );
  });

  test('leaves wrong values and free-form maps alone', () => {
    const subject = object('OwnedAccessKey', {
      metadata: { annotations: { 'x/y': 'z' } },
      spec: { ttl: 'soon', identity: { extraClaims: { any: { depth: 1 } } } },
    });
    const before = structuredClone(subject);
    expect(compileSchema('ownedaccesskey').prune(subject)).toEqual([]);
    expect(subject).toEqual(before);
  });

  test('leaves nothing unknown behind', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (spec) => {
        const subject = object('Team', { spec: spec as JsonObject });
        compileSchema('team').prune(subject);
        expect(
          compileSchema('team')
            .check(subject)
            .filter((error) => error.unknownField),
        ).toEqual([]);
      }),
    );
  });
});

describe('dropNulls', () => {
  test('takes a null for an absent field', () => {
    const subject = object('Team', {
      spec: {
        users: null,
        owner: { user: null, team: 'a' },
        access: [{ verbs: ['get'], users: null }],
      },
    });
    compileSchema('team').dropNulls(subject);
    expect(subject.spec).toEqual({ owner: { team: 'a' }, access: [{ verbs: ['get'] }] });
  });

  test('keeps nulls that mean something, and those that must be reported', () => {
    const subject = object('Team', { metadata: { creationTimestamp: null, labels: { a: null } } });
    const before = structuredClone(subject);
    compileSchema('team').dropNulls(subject);
    expect(subject).toEqual(before);
  });
});

describe('OpenAPI', () => {
  test.each(table.kinds.map(({ schema }) => schema))(
    '%s is self-contained and structural',
    (name) => {
      const forbidden = [
        '$ref',
        '$id',
        '$schema',
        'definitions',
        'uniqueItems',
        'if',
        'allOf',
        'const',
      ];
      for (const schema of subschemas(openApiSchema(name))) {
        for (const keyword of forbidden) expect(schema).not.toHaveProperty([keyword]);
        expect(schema['additionalProperties']).not.toBe(false);
        if (Array.isArray(schema['enum'])) expect(schema['type']).toBe('string');
        expect(Array.isArray(schema['type'])).toBe(false);
      }
    },
  );

  test('keeps descriptions for explain and keys for merging', () => {
    const team = openApiSchema('team') as SchemaNode;
    expect(team.properties?.['spec']?.properties?.['users']).toEqual({
      type: 'array',
      description: 'Names of the users who are in the team.',
      items: { type: 'string' },
      'x-kubernetes-list-type': 'set',
    });
    expect(team.properties?.['metadata']?.properties?.['creationTimestamp']).toMatchObject({
      type: 'string',
      nullable: true,
    });
  });

  test('is a copy that callers may change', () => {
    const first = openApiSchema('team');
    first['properties'] = {};
    expect(openApiSchema('team')['properties']).not.toEqual({});
  });
});

test('hundreds of thousands of errors are counted, and the first thousand of a kind have their words', () => {
  const metadata = { name: 'x', finalizers: Array(400_000).fill(1), unknown: 1 };
  const start = process.cpuUsage();
  const errors = compileSchema('configmap').check({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
  });
  const { user, system } = process.cpuUsage(start);

  expect(errors).toHaveLength(400_001);
  expect(errors.filter(({ unknownField }) => unknownField === true)).toHaveLength(1);
  expect(new Set(errors.map(({ path }) => formatPath(path))).size).toBe(1001);
  expect((user + system) / 1e6).toBeLessThan(4);
});

test('errors in metadata are found beside thousands of errors in data', () => {
  const data = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`k${at}`, 1]));
  const metadata = { name: 'x', labels: { a: 1 } };
  const errors = compileSchema('configmap').check({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    data,
    metadata,
  });

  expect(errors).toHaveLength(3001);
  expect(errors.map(({ path }) => formatPath(path))).toContain('metadata.labels.a');
});

test('errors below a key of half a megabyte are counted, and the first have their words', () => {
  const extra = { ['k'.repeat(500_000)]: Array(400).fill(1) };
  const start = process.cpuUsage();
  const errors = compileSchema('subjectaccessreview').check({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    metadata: {},
    spec: { user: 'ann', resourceAttributes: { verb: 'get', resource: 'teams' }, extra },
  });
  const { user, system } = process.cpuUsage(start);

  expect(errors).toHaveLength(400);
  expect((user + system) / 1e6).toBeLessThan(3);
});
