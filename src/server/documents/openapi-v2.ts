/**
 * OpenAPI v2 of all groups in one document, made from version 3. kubectl up to 1.28 needs it, in
 * protobuf; later ones only for `explain --output=plaintext-openapiv2`.
 */
import { isRecord, type JsonObject, type JsonValue } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { acceptedPatchTypes } from '../input/patch.ts';
import { JSON_TYPE, OPENAPI_V2_PROTOBUF, YAML_TYPE } from '../output/negotiation.ts';
import { encodeOpenApiV2 } from './gnostic.ts';
import { commonFields, DESCRIPTIONS, type OpenApiOptions, pathsOf } from './openapi.ts';
import { type Operation, operationsOf, type Parameter } from './openapi-operations.ts';
import { schemasOf } from './openapi-schemas.ts';
import { memoized, type ReadyDocument, readyDocument } from './ready-document.ts';

/** The two encodings of `/openapi/v2`; each is made when it is first asked for. */
export function buildOpenApiV2(
  table: KindTable,
  options: OpenApiOptions,
): (encoding: 'json' | 'protobuf') => ReadyDocument {
  return memoized((encoding) => {
    const document = openApiV2(table, options);
    return encoding === 'json'
      ? readyDocument(JSON_TYPE, Buffer.from(JSON.stringify(document)))
      : readyDocument(OPENAPI_V2_PROTOBUF, encodeOpenApiV2(document));
  });
}

/** The document as plain JSON. */
export function openApiV2({ kinds }: KindTable, options: OpenApiOptions): JsonObject {
  const schemas = Object.entries(schemasOf(kinds));
  return {
    swagger: '2.0',
    info: { title: 'gitplane', version: options.version },
    paths: pathsOf(kinds.flatMap(operationsOf), (operation) => operationV2(operation, options)),
    definitions: Object.fromEntries(
      schemas.map(([name, schema]) => [name, isRecord(schema) ? schemaV2(schema) : schema]),
    ),
    securityDefinitions: {
      BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  };
}

function operationV2(operation: Operation, options: OpenApiOptions): JsonObject {
  const { body, method, parameters } = operation;
  return {
    ...commonFields(operation),
    consumes: method === 'patch' ? acceptedPatchTypes(options) : [JSON_TYPE, YAML_TYPE],
    produces: [JSON_TYPE, YAML_TYPE],
    schemes: ['https'],
    parameters: [...(body === undefined ? [] : [bodyV2(body)]), ...parameters.map(parameterV2)],
    responses: Object.fromEntries(responses(operation)),
  };
}

function bodyV2({ schema, required }: NonNullable<Operation['body']>): JsonObject {
  return {
    in: 'body',
    name: 'body',
    ...(required ? { required: true } : {}),
    schema: refV2(schema),
  };
}

function parameterV2({ name, in: where, type, description, limits }: Parameter): JsonObject {
  const required = where === 'path' ? { required: true } : {};
  return { name, in: where, description, type, uniqueItems: true, ...limits, ...required };
}

function responses(operation: Operation): [string, JsonObject][] {
  const named = Object.entries(operation.responses).map(([code, schema]): [string, JsonObject] => [
    code,
    { description: DESCRIPTIONS[code] ?? '', schema: refV2(schema) },
  ]);
  return [...named, ['401', { description: 'Unauthorized' }]];
}

function refV2(name: string): JsonObject {
  return { $ref: `#/definitions/${name}` };
}

/** Keywords that version 2 does not have. */
const DROPPED = new Set(['nullable', 'deprecated', 'anyOf', 'oneOf', 'not', 'allOf']);

/**
 * As the apiserver does it for custom resources: what version 2 cannot say is left out, and where
 * that would make kubectl refuse valid values the type is left out too.
 */
function schemaV2(schema: JsonObject): JsonObject {
  const reference = referenceIn(schema);
  if (reference !== undefined) {
    const { description } = schema;
    return { ...(description === undefined ? {} : { description }), $ref: reference };
  }
  const result: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!DROPPED.has(keyword)) result[keyword] = keywordV2(keyword, value);
  }
  const open =
    schema['nullable'] === true ||
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    schema['x-kubernetes-int-or-string'] === true;
  return open ? without(result, ['type', 'properties', 'items', 'format']) : result;
}

/** Of the schema itself, or of the one that it wraps to describe it. */
function referenceIn(schema: JsonObject): string | undefined {
  const [only] = Array.isArray(schema['allOf']) ? schema['allOf'] : [];
  const reference = schema['$ref'] ?? (isRecord(only) ? only['$ref'] : undefined);
  return typeof reference === 'string'
    ? reference.replace('#/components/schemas/', '#/definitions/')
    : undefined;
}

function keywordV2(keyword: string, value: JsonValue): JsonValue {
  if (!isRecord(value)) return value;
  if (keyword === 'items' || keyword === 'additionalProperties') {
    return schemaV2(value);
  }
  if (keyword !== 'properties') return value;
  const properties = Object.entries(value);
  return Object.fromEntries(
    properties.map(([name, property]) => [
      name,
      isRecord(property) ? schemaV2(property) : property,
    ]),
  );
}

function without(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !keywords.includes(name)));
}
