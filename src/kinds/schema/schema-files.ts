/**
 * The JSON Schemas in `schemas/`: the single source of fields, types and defaults. Editors read the
 * files, the server serves them, and validation, OpenAPI and docs are made from them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';

/** The same folder from `src/kinds/schema` and from `dist/kinds/schema`. */
const FOLDER = new URL('../../../schemas/', import.meta.url);

/** A schema with its references resolved. */
export interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaNode;
  readonly items?: SchemaNode;
  readonly enum?: readonly JsonValue[];
  readonly default?: JsonValue;
  readonly deprecated?: boolean;
  readonly readOnly?: boolean;
  /** Values at and below this path never reach logs, audit or errors. */
  readonly 'x-gitplane-secret'?: boolean;
  /** A text that may refer to an environment variable. Secrets may too. */
  readonly 'x-gitplane-env'?: boolean;
  readonly [keyword: string]: unknown;
}

const documents = new Map<string, JsonObject>();
const resolved = new Map<string, SchemaNode>();

/** Names of all schemas, sorted: those of kinds and those that they share. */
export function schemaNames(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .sort();
}

/** The content of one file. Shared by all callers: never mutate. */
export function schemaDocument(name: string): JsonObject {
  let document = documents.get(name);
  if (document === undefined) {
    document = JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8')) as JsonObject;
    documents.set(name, document);
  }
  return document;
}

/** The schema as one tree without references. Shared by all callers: never mutate. */
export function schemaTree(name: string): SchemaNode {
  let tree = resolved.get(name);
  if (tree === undefined) {
    tree = inline(schemaDocument(name), name) as SchemaNode;
    resolved.set(name, tree);
  }
  return tree;
}

/** Resolves references. Keywords beside a `$ref` win over those of its target. Schemas have no cycles. */
function inline(value: JsonValue, file: string): JsonValue {
  if (Array.isArray(value)) return value.map((item) => inline(item, file));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, $id: _id, $schema: _schema, definitions: _definitions, ...own } = value;
  const result: JsonObject = {};
  if (typeof $ref === 'string') {
    const { title: _title, ...target } = follow($ref, file) as JsonObject;
    Object.assign(result, target);
  }
  for (const [key, item] of Object.entries(own)) result[key] = inline(item, file);
  return result;
}

function follow(ref: string, file: string): JsonValue {
  const local = /^#\/definitions\/(\w+)$/.exec(ref)?.[1];
  if (local === undefined) return schemaTree(ref.replace(/\.json$/, '')) as JsonValue;
  const definition = (schemaDocument(file)['definitions'] as JsonObject | undefined)?.[local];
  if (definition === undefined) throw new Error(`schemas/${file}.json has no ${ref}`);
  return inline(definition, file);
}

/** The schema of the value at a path of map keys and list indexes. */
export function schemaAt(
  root: SchemaNode,
  path: readonly (string | number)[],
): SchemaNode | undefined {
  let node: SchemaNode | undefined = root;
  for (const step of path) {
    if (node === undefined) return undefined;
    node = typeof step === 'number' ? node.items : childOf(node, step);
  }
  return node;
}

function childOf(node: SchemaNode, key: string): SchemaNode | undefined {
  if (node.properties !== undefined && Object.hasOwn(node.properties, key)) {
    return node.properties[key];
  }
  return typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined;
}

/** A place in a schema. `*` matches any list index and any map key. */
export interface SchemaPlace {
  readonly path: readonly string[];
  readonly node: SchemaNode;
}

/** Every place of a schema below its root, parents first. */
export function* schemaPlaces(
  node: SchemaNode,
  path: readonly string[] = [],
): IterableIterator<SchemaPlace> {
  const children: [string, SchemaNode][] = Object.entries(node.properties ?? {});
  if (node.items !== undefined) children.push(['*', node.items]);
  if (typeof node.additionalProperties === 'object')
    children.push(['*', node.additionalProperties]);
  for (const [key, child] of children) {
    const place = { path: [...path, key], node: child };
    yield place;
    yield* schemaPlaces(child, place.path);
  }
}

const LAST_APPLIED = [
  'metadata',
  'annotations',
  'kubectl.kubernetes.io/last-applied-configuration',
];

/**
 * Paths of secrets in objects with this schema; `*` matches any step. If there is one, the annotation
 * in which kubectl stores a copy of the object is secret too.
 */
export function secretPathsOf(name: string): string[][] {
  const paths = [...schemaPlaces(schemaTree(name))]
    .filter(({ node }) => node['x-gitplane-secret'] === true)
    .map(({ path }) => [...path]);
  return paths.length === 0 ? [] : [...paths, LAST_APPLIED];
}
