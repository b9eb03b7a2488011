import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/object.ts';
import { buildOpenApi, openApiV3 } from '../../../src/server/documents/openapi.ts';
import { modelName } from '../../../src/server/documents/openapi-names.ts';
import { buildOpenApiV2, openApiV2 } from '../../../src/server/documents/openapi-v2.ts';
import { GROUP, kindNamed, kinds } from '../sample-objects.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const options = { root: '/kubernetes/management', version: '0.1.0', serverSideApply: false };
const api = buildOpenApi(kinds, options);
const path = `apis/${GROUP}/v1`;
/** Compared by its shape. */
const parse = (body: Buffer | undefined) => JSON.parse(body?.toString() ?? 'null');
const document = parse(api.document(path)?.body);
const v2 = openApiV2(kinds, options) as Record<string, JsonObject>;

/** Every map below a value, with the path to it. */
function* maps(value: unknown, at = ''): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [at, value as Record<string, unknown>];
  for (const [key, child] of Object.entries(value)) yield* maps(child, `${at}/${key}`);
}

describe('the index of version 3', () => {
  test('leads to every group by a URL below the root that names the content', () => {
    const { paths } = parse(api.index().body);
    expect(Object.keys(paths)).toEqual([path, 'apis/rbac.authorization.k8s.io/v1']);
    expect(paths[path].serverRelativeURL).toBe(api.document(path)?.url);
    expect(api.document(path)?.url).toMatch(
      new RegExp(`^/kubernetes/management/openapi/v3/${path}\\?hash=[0-9A-F]{128}$`),
    );
  });

  test('changes when a document changes', () => {
    const other = buildOpenApi(kinds, { ...options, serverSideApply: true });
    expect(other.document(path)?.hash).not.toBe(api.document(path)?.hash);
    expect(other.index().etag).not.toBe(api.index().etag);
    expect(buildOpenApi(kinds, options).index().etag).toBe(api.index().etag);
  });

  test('encodes once, and knows no other path', () => {
    expect(api.document(path)).toBe(api.document(path));
    expect(api.document('apis/nope/v1')).toBeUndefined();
    expect(api.document('constructor')).toBeUndefined();
  });
});

describe('operations', () => {
  const methodsOf = (suffix: string) =>
    Object.keys(document.paths[`/apis/${GROUP}/v1${suffix}`] ?? {}).toSorted();

  test.each([
    ['/teams', ['delete', 'get', 'post']],
    ['/teams/{name}', ['delete', 'get', 'patch', 'put']],
    ['/sharedsecrets', ['get']],
    ['/namespaces/{namespace}/sharedsecrets', ['delete', 'get', 'post']],
    ['/namespaces/{namespace}/sharedsecrets/{name}', ['delete', 'get', 'patch', 'put']],
    ['/directclusterendpointtokens', ['post']],
    ['/directclusterendpointtokens/{name}', []],
    ['/config', ['get', 'post']],
    ['/configs', []],
    ['/tenants/{name}/sync', ['get']],
    ['/tenants/{name}/patches:preview', ['post']],
    ['/tenants/{name}/history', []],
    ['/teams/{name}/sync', []],
  ])('%s has %j', (suffix, methods) => {
    expect(methodsOf(suffix)).toEqual(methods);
  });

  test('carry their kind as a map and what kubectl looks for', () => {
    const { patch } = document.paths[`/apis/${GROUP}/v1/teams/{name}`];
    expect(patch['x-kubernetes-group-version-kind']).toEqual({
      group: GROUP,
      version: 'v1',
      kind: 'Team',
    });
    expect(patch['x-kubernetes-action']).toBe('patch');
    expect(patch.parameters).toContainEqual(
      expect.objectContaining({ name: 'fieldValidation', in: 'query' }),
    );
    for (const name of ['dryRun', 'fieldManager', 'force', 'pretty', 'name']) {
      expect(patch.parameters).toContainEqual(expect.objectContaining({ name }));
    }
  });

  test.each([
    [false, ['application/json-patch+json', 'application/merge-patch+json']],
    [
      true,
      [
        'application/json-patch+json',
        'application/merge-patch+json',
        'application/apply-patch+yaml',
      ],
    ],
  ])(
    'a patch takes what is accepted and never strategic merge (apply: %s)',
    (serverSideApply, types) => {
      const text = JSON.stringify(openApiV3(kinds.kinds, { ...options, serverSideApply }));
      expect(text).not.toContain('strategic');
      const { paths } = JSON.parse(text);
      const { patch } = paths[`/apis/${GROUP}/v1/teams/{name}`];
      expect(Object.keys(patch.requestBody.content)).toEqual(types);
    },
  );

  test('operations of a preview take one kind and answer with another', () => {
    const { post } = document.paths[`/apis/${GROUP}/v1/tenants/{name}/patches:preview`];
    const schemaOf = (of: { content: Record<string, { schema: { $ref: string } }> }) =>
      of.content['application/json']?.schema.$ref.split('.').at(-1);
    expect(post.operationId).toBe('createManagementGitplaneDevV1TenantPatchesPreview');
    expect(schemaOf(post.requestBody)).toBe('PatchesPreviewRequest');
    expect(schemaOf(post.responses['200'])).toBe('PatchesPreview');
    expect(Object.keys(post.responses)).toEqual(['200', '401']);
    const { PatchesPreview, TenantSync } = Object.fromEntries(
      Object.entries(document.components.schemas).map(([name, of]) => [name.split('.').at(-1), of]),
    ) as Record<string, { properties: object }>;
    expect(Object.keys(PatchesPreview?.properties ?? {})).toContain('items');
    expect(Object.keys(TenantSync?.properties ?? {})).toContain('items');
  });

  test('have ids of their own', () => {
    const ids = [...maps(openApiV3(kinds.kinds, options)['paths'])].flatMap(
      ([, map]) => map['operationId'] ?? [],
    );
    expect(ids.length).toBeGreaterThan(50);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('schemas', () => {
  const schemas = document.components.schemas;

  test.each(kinds.kinds.filter(({ group }) => group === GROUP))(
    'schemas describe $kind',
    (kind) => {
      const schema = schemas[modelName(kind)];
      expect(schema['x-kubernetes-group-version-kind']).toEqual([
        { group: GROUP, version: 'v1', kind: kind.kind },
      ]);
      expect(schema.properties.metadata.allOf).toEqual([
        { $ref: `#/components/schemas/${META}.ObjectMeta` },
      ]);
      expect(Object.keys(schema.properties)).toEqual(
        expect.arrayContaining(['apiVersion', 'kind', 'spec']),
      );
      const list = schemas[`${modelName(kind)}List`];
      expect(list.properties.items.items.$ref).toBe(`#/components/schemas/${modelName(kind)}`);
    },
  );

  test('schemas of a kind are named as the apiserver names them', () => {
    expect(modelName(kindNamed('Team'))).toBe(`${GROUP.split('.').reverse().join('.')}.v1.Team`);
  });

  test('schemas of metadata are complete', () => {
    const names = [
      'ObjectMeta',
      'ListMeta',
      'OwnerReference',
      'ManagedFieldsEntry',
      'DeleteOptions',
      'Status',
      'Time',
      'Patch',
    ];
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining(names.map((name) => `${META}.${name}`)),
    );
    expect(schemas[`${META}.ObjectMeta`].properties.ownerReferences.items).toEqual({
      $ref: `#/components/schemas/${META}.OwnerReference`,
    });
  });

  test('describe every field and its type', () => {
    for (const [at, { properties }] of maps(schemas)) {
      if (properties === undefined || at.endsWith('/properties')) continue;
      for (const [name, field] of Object.entries(properties as Record<string, JsonObject>)) {
        expect(field['description'], `${at}/${name}`).toBeTruthy();
        const typed = [
          'type',
          'allOf',
          '$ref',
          'x-kubernetes-int-or-string',
          'x-kubernetes-preserve-unknown-fields',
        ];
        expect(
          typed.some((key) => key in field),
          `${at}/${name}`,
        ).toBe(true);
      }
    }
  });

  test.each([
    ['version 3', document, '#/components/schemas/', schemas],
    ['version 2', v2, '#/definitions/', v2['definitions']],
  ])('references of %s lead somewhere', (_, whole, prefix, targets) => {
    const refs = [...maps(whole)].flatMap(([, map]) =>
      typeof map['$ref'] === 'string' ? map['$ref'] : [],
    );
    expect(refs.length).toBeGreaterThan(30);
    for (const ref of refs) {
      expect(ref.startsWith(prefix)).toBe(true);
      expect(targets).toHaveProperty([ref.slice(prefix.length)]);
    }
  });
});

describe('version 2', () => {
  test('says nothing that it does not know, and no type where values may have another', () => {
    for (const [at, schema] of maps(v2['definitions'])) {
      if (at.endsWith('/properties')) continue;
      for (const keyword of ['nullable', 'anyOf', 'oneOf', 'allOf', 'not']) {
        expect(schema, at).not.toHaveProperty(keyword);
      }
      const open =
        schema['x-kubernetes-preserve-unknown-fields'] === true ||
        schema['x-kubernetes-int-or-string'] === true;
      if (open) {
        expect(schema, at).not.toHaveProperty('type');
        expect(schema, at).not.toHaveProperty('properties');
      }
      if (schema['type'] === 'array') expect(schema, at).toHaveProperty('items');
    }
  });

  test('covers the paths of all groups', () => {
    const rbac = parse(api.document('apis/rbac.authorization.k8s.io/v1')?.body);
    expect(Object.keys(v2['paths'] ?? {}).toSorted()).toEqual(
      [...Object.keys(document.paths), ...Object.keys(rbac.paths)].toSorted(),
    );
  });

  test('comes in two encodings, each made once', () => {
    const ready = buildOpenApiV2(kinds, options);
    expect(ready('json').contentType).toBe('application/json');
    expect(parse(ready('json').body)).toEqual(v2);
    expect(ready('protobuf').contentType).toBe(
      'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
    );
    expect(ready('protobuf')).toBe(ready('protobuf'));
  });
});

/** The part of gnostic's OpenAPIv2.proto (Apache-2.0) that the documents use. */
const GNOSTIC = `
  syntax = "proto3";
  package openapi.v2;
  message Document { string swagger = 1; Info info = 2; Paths paths = 8; Definitions definitions = 9; }
  message Info { string title = 1; string version = 2; }
  message Any { string yaml = 2; }
  message NamedAny { string name = 1; Any value = 2; }
  message Definitions { repeated NamedSchema additional_properties = 1; }
  message Properties { repeated NamedSchema additional_properties = 1; }
  message NamedSchema { string name = 1; Schema value = 2; }
  message TypeItem { repeated string value = 1; }
  message ItemsItem { repeated Schema schema = 1; }
  message AdditionalPropertiesItem { oneof oneof { Schema schema = 1; bool boolean = 2; } }
  message Schema {
    string _ref = 1; string format = 2; string title = 3; string description = 4; Any default = 5;
    double multiple_of = 6; double maximum = 7; bool exclusive_maximum = 8; double minimum = 9;
    bool exclusive_minimum = 10; int64 max_length = 11; int64 min_length = 12; string pattern = 13;
    int64 max_items = 14; int64 min_items = 15; bool unique_items = 16; int64 max_properties = 17;
    int64 min_properties = 18; repeated string required = 19; repeated Any enum = 20;
    AdditionalPropertiesItem additional_properties = 21; TypeItem type = 22; ItemsItem items = 23;
    repeated Schema all_of = 24; Properties properties = 25; repeated NamedAny vendor_extension = 31;
  }
  message Paths { repeated NamedPathItem path = 2; }
  message NamedPathItem { string name = 1; PathItem value = 2; }
  message PathItem { Operation get = 2; Operation put = 3; Operation post = 4; Operation delete = 5; Operation patch = 8; }
  message Operation {
    repeated string tags = 1; string description = 3; string operation_id = 5;
    repeated string produces = 6; repeated string consumes = 7;
    repeated ParametersItem parameters = 8; Responses responses = 9; repeated string schemes = 10;
    repeated NamedAny vendor_extension = 13;
  }
  message ParametersItem { oneof oneof { Parameter parameter = 1; } }
  message Parameter { oneof oneof { BodyParameter body_parameter = 1; NonBodyParameter non_body_parameter = 2; } }
  message BodyParameter { string description = 1; string name = 2; string in = 3; bool required = 4; Schema schema = 5; }
  message NonBodyParameter { oneof oneof { QueryParameterSubSchema query_parameter_sub_schema = 3; PathParameterSubSchema path_parameter_sub_schema = 4; } }
  message QueryParameterSubSchema { bool required = 1; string in = 2; string description = 3; string name = 4; string type = 6; bool unique_items = 20; }
  message PathParameterSubSchema { bool required = 1; string in = 2; string description = 3; string name = 4; string type = 5; bool unique_items = 19; }
  message Responses { repeated NamedResponseValue response_code = 1; }
  message NamedResponseValue { string name = 1; ResponseValue value = 2; }
  message ResponseValue { oneof oneof { Response response = 1; } }
  message Response { string description = 1; SchemaItem schema = 2; }
  message SchemaItem { oneof oneof { Schema schema = 1; } }
`;

/** Read by its shape. */
type Message = ReturnType<typeof JSON.parse>;
type Pair = { name: string; value: Message };

/** A decoded schema as JSON again. */
function schemaOf(message: Message): JsonObject {
  const result: JsonObject = {};
  const copy = (key: string, value: unknown) => {
    if (value !== undefined && value !== '') result[key] = value as never;
  };
  copy('$ref', message._ref);
  copy('format', message.format);
  copy('description', message.description);
  copy('default', message.default && JSON.parse(message.default.yaml));
  copy('maximum', message.maximum);
  copy('minimum', message.minimum);
  copy('minLength', message.minLength);
  copy('maxLength', message.maxLength);
  copy('maxItems', message.maxItems);
  copy('minItems', message.minItems);
  copy('pattern', message.pattern);
  copy('required', message.required);
  copy(
    'enum',
    message.enum?.map(({ yaml }: { yaml: string }) => JSON.parse(yaml)),
  );
  copy('type', message.type?.value[0]);
  copy('items', message.items && schemaOf(message.items.schema[0]));
  copy(
    'additionalProperties',
    message.additionalProperties && schemaOf(message.additionalProperties.schema),
  );
  copy(
    'properties',
    message.properties && namedSchemas(message.properties.additionalProperties ?? []),
  );
  for (const { name, value } of (message.vendorExtension ?? []) as Pair[]) {
    result[name] = JSON.parse(value.yaml);
  }
  return result;
}

function namedSchemas(pairs: Pair[]): JsonObject {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, schemaOf(value)]));
}

describe('the protobuf of version 2', () => {
  const type = protobuf.parse(GNOSTIC).root.lookupType('openapi.v2.Document');
  const bytes = buildOpenApiV2(kinds, options)('protobuf').body;
  const decoded: Message = type.toObject(type.decode(bytes), { longs: Number });

  test('holds every definition of the JSON', () => {
    expect(decoded.swagger).toBe('2.0');
    // Proto3 does not tell an absent number from 0 and an empty list from none.
    const expected = JSON.parse(
      JSON.stringify(v2['definitions'], (key, value) =>
        (key === 'minimum' && value === 0) || (key === 'required' && value.length === 0)
          ? undefined
          : value,
      ),
    );
    expect(namedSchemas(decoded.definitions.additionalProperties)).toEqual(expected);
  });

  test('holds every operation of the JSON', () => {
    const paths = v2['paths'] as Record<string, Record<string, JsonObject>>;
    expect(decoded.paths.path.map(({ name }: Pair) => name)).toEqual(Object.keys(paths));
    for (const { name, value } of decoded.paths.path as Pair[]) {
      expect(Object.keys(value).toSorted()).toEqual(Object.keys(paths[name] ?? {}).toSorted());
      for (const [method, operation] of Object.entries<Message>(value)) {
        const json = paths[name]?.[method] as Message;
        expect(operation.operationId).toBe(json.operationId);
        expect(operation.consumes).toEqual(json.consumes);
        expect(operation.parameters.map(parameterOf)).toEqual(
          json.parameters.map((one: Message) => ({
            name: one.name,
            in: one.in,
            required: one.required,
            type: one.type,
          })),
        );
        expect(operation.responses.responseCode.map((pair: Pair) => pair.name)).toEqual(
          Object.keys(json.responses),
        );
        const extensions = Object.fromEntries(
          operation.vendorExtension.map((pair: Pair) => [pair.name, JSON.parse(pair.value.yaml)]),
        );
        expect(json).toMatchObject(extensions);
      }
    }
  });
});

function parameterOf({ parameter }: Message) {
  const { bodyParameter, nonBodyParameter: other } = parameter;
  const one = bodyParameter ?? other.queryParameterSubSchema ?? other.pathParameterSubSchema;
  return { name: one.name, in: one.in, required: one.required, type: one.type };
}

test('no kind is defined twice, which parsers of schemas refuse', () => {
  const schemas = Object.values({ ...v2['definitions'] }) as JsonObject[];
  const named = schemas.flatMap((schema) =>
    ((schema['x-kubernetes-group-version-kind'] ?? []) as JsonObject[]).map((gvk) =>
      JSON.stringify(gvk),
    ),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named).toEqual([...new Set(named)]);
});
