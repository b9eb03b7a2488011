/**
 * Kinds as CustomResourceDefinitions of Kubernetes (`apiextensions.k8s.io/v1`): for tools that read
 * definitions, and for tests that compare this API with a real API server.
 */
import { isRecord, type JsonObject } from '../../apimachinery/index.ts';
import type { Kind, PrinterColumn } from '../kind.ts';
import { openApiSchema } from './openapi-schema.ts';

/** Undefined for kinds of Kubernetes itself, and for kinds that are not stored. */
export function customResourceDefinition(kind: Kind): JsonObject | undefined {
  const { group, plural, singular, shortNames, categories, scope, version } = kind;
  const isOurs = kind.storedIn === 'git' || kind.storedIn === 'file';
  if (!isOurs || !kind.schema || isOfKubernetes(group)) return undefined;
  const schema = structural(openApiSchema(kind.schema));
  const hasStatus = isRecord(schema['properties']) && 'status' in schema['properties'];
  const columns = kind.columns.flatMap(printerColumn);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural,
        singular,
        ...(shortNames.length > 0 ? { shortNames: [...shortNames] } : {}),
        ...(categories.length > 0 ? { categories: [...categories] } : {}),
      },
      scope,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...(hasStatus ? { subresources: { status: {} } } : {}),
          ...(kind.selectableFields.length > 0
            ? { selectableFields: kind.selectableFields.map((path) => ({ jsonPath: `.${path}` })) }
            : {}),
          ...(columns.length > 0 ? { additionalPrinterColumns: columns } : {}),
        },
      ],
    },
  };
}

/** Groups of Kubernetes: a definition in one would need an approval annotation. */
function isOfKubernetes(group: string): boolean {
  return group === '' || /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

/** Definitions have only columns with a path. */
function printerColumn(column: PrinterColumn): JsonObject[] {
  const { name, type, description, priority = 0, jsonPath } = column;
  if (jsonPath === undefined) return [];
  return [{ name, type, description, ...(priority > 0 ? { priority } : {}), jsonPath }];
}

/** Fields that the server fills in. */
const INFERRED: readonly unknown[] = ['apiVersion', 'kind', 'metadata'];

function structural(schema: JsonObject): JsonObject {
  const { required, properties, ...rest } = withoutForeignKeywords(schema);
  const { metadata: _metadata, ...own } = isRecord(properties) ? properties : {};
  const left = Array.isArray(required) ? required.filter((name) => !INFERRED.includes(name)) : [];
  return {
    ...rest,
    ...(left.length > 0 ? { required: left } : {}),
    properties: {
      ...own,
      apiVersion: textNamed(own['apiVersion']),
      kind: textNamed(own['kind']),
      metadata: { type: 'object' },
    },
  };
}

/** A text without further rules: Kubernetes allows none for `apiVersion` and `kind`. */
function textNamed(schema: unknown): JsonObject {
  const description = isRecord(schema) ? schema['description'] : undefined;
  return { type: 'string', ...(typeof description === 'string' ? { description } : {}) };
}

/** Keywords of JSON Schema and OpenAPI that definitions do not have. */
const FOREIGN = ['deprecated'];

function withoutForeignKeywords(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [word, value] of Object.entries(schema)) {
    if (FOREIGN.includes(word)) continue;
    if (word === 'properties' && isRecord(value)) {
      result[word] = Object.fromEntries(
        Object.entries(value).map(([name, of]) => [
          name,
          isRecord(of) ? withoutForeignKeywords(of) : of,
        ]),
      );
    } else if ((word === 'items' || word === 'additionalProperties') && isRecord(value)) {
      result[word] = withoutForeignKeywords(value);
    } else result[word] = value;
  }
  return result;
}
