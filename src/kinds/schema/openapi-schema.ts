/**
 * Schemas in OpenAPI v3: structural, self-contained, without keywords that OpenAPI does not have
 * (reference: Kubernetes API, sections 1.2 and 2.15).
 */
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';
import { type SchemaNode, schemaTree } from './schema-files.ts';

const DROPPED = new Set([
  'title',
  'uniqueItems',
  'readOnly',
  'x-gitplane-env',
  'x-gitplane-secret',
]);

/** A new schema for `components.schemas`, without any `$ref`. */
export function openApiSchema(name: string): JsonObject {
  return convert(schemaTree(name));
}

/** True if objects of the kind have a status. */
export function hasStatus({ schema }: { readonly schema: string }): boolean {
  return schemaTree(schema).properties?.['status'] !== undefined;
}

function convert(node: SchemaNode): JsonObject {
  const result: JsonObject = {};
  for (const [keyword, value] of Object.entries(node)) {
    if (!DROPPED.has(keyword)) Object.assign(result, convertKeyword(keyword, value, node));
  }
  return result;
}

function convertKeyword(keyword: string, value: unknown, node: SchemaNode): JsonObject {
  switch (keyword) {
    case 'properties': {
      const properties = Object.entries(value as Record<string, SchemaNode>);
      return { properties: Object.fromEntries(properties.map(([key, of]) => [key, convert(of)])) };
    }
    case 'items':
      return { items: convert(value as SchemaNode) };
    case 'additionalProperties':
      return value === false ? {} : { additionalProperties: convert(value as SchemaNode) };
    case 'type':
      return convertType(value as string | string[], node);
    default:
      return { [keyword]: structuredClone(value) as JsonValue };
  }
}

function convertType(type: string | string[], node: SchemaNode): JsonObject {
  if (typeof type === 'string') return { type };
  if (node['x-kubernetes-int-or-string'] === true) return {};
  const [only = 'object'] = type.filter((name) => name !== 'null');
  return { type: only, ...(type.includes('null') ? { nullable: true } : {}) };
}
