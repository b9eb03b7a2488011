/**
 * Kinds as CustomResourceDefinitions of Kubernetes (`apiextensions.k8s.io/v1`), for API servers that
 * are to know them without this platform behind: tools that look for definitions, and the tests that
 * compare our answers with those of a real server.
 */
import { isRecord, type JsonObject } from '../../apimachinery/index.ts';
import type { Kind, PrinterColumn } from '../kind.ts';
import { openApiSchema } from './openapi-schema.ts';

/** Undefined for kinds that a definition cannot describe: those that Kubernetes has, and those that
 * nothing keeps. */
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

/** Groups that belong to Kubernetes need an approval that ours do not have. */
function isOfKubernetes(group: string): boolean {
  return group === '' || /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

/** A cell that is more than the value at a path cannot be told to Kubernetes. */
function printerColumn(column: PrinterColumn): JsonObject[] {
  const { name, type, description, priority = 0, jsonPath } = column;
  if (jsonPath === undefined) return [];
  return [{ name, type, description, ...(priority > 0 ? { priority } : {}), jsonPath }];
}

/** The server completes these, so no client has to send them. */
const INFERRED: readonly unknown[] = ['apiVersion', 'kind', 'metadata'];

function structural(schema: JsonObject): JsonObject {
  const { required, properties, ...rest } = withoutForeignWords(schema);
  const { metadata: _metadata, ...own } = properties as JsonObject;
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

/** Kubernetes allows no further rules about these two. */
function textNamed(schema: unknown): JsonObject {
  const description = isRecord(schema) ? schema['description'] : undefined;
  return { type: 'string', ...(typeof description === 'string' ? { description } : {}) };
}

/** Words of JSON Schema and OpenAPI that definitions do not know. */
const FOREIGN = ['deprecated'];

function withoutForeignWords(schema: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [word, value] of Object.entries(schema)) {
    if (FOREIGN.includes(word)) continue;
    if (word === 'properties' && isRecord(value)) {
      const fields = Object.entries(value as Record<string, JsonObject>);
      result[word] = Object.fromEntries(
        fields.map(([name, of]) => [name, withoutForeignWords(of)]),
      );
    } else if ((word === 'items' || word === 'additionalProperties') && isRecord(value)) {
      result[word] = withoutForeignWords(value as JsonObject);
    } else result[word] = value;
  }
  return result;
}
