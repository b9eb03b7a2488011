/** Checks of a schema: shape problems, unknown fields, nulls, defaults. */
import type { ValidateFunction } from 'ajv';
import { type FieldError, type FieldPath, isRecord, valueAt } from '../../apimachinery/index.ts';
import { validatorOf } from './schema-compiler.ts';
import { pathOf, toFieldErrors } from './schema-errors.ts';
import { type SchemaNode, schemaTree } from './schema-files.ts';

export interface CompiledSchema {
  readonly name: string;
  /** Every problem of the shape. Does not mutate. */
  check(object: unknown): FieldError[];
  /** Fields of `status` that the schema does not have. `check` ignores them. */
  unknownInStatus(object: unknown): FieldPath[];
  /** Removes fields that the schema does not have. Mutates `object`; returns their paths. */
  prune(object: unknown): FieldPath[];
  /**
   * Removes null fields that are not nullable: in Kubernetes they count as absent. Keys of maps and
   * items of lists stay, and `check` reports them. Mutates `object`.
   */
  dropNulls(object: unknown): void;
  /** Fills in defaults of the schema, within maps that exist. Mutates `object`. */
  fillDefaults(object: unknown): void;
}

const compiled = new Map<string, CompiledSchema>();

/** The checks of `schemas/<name>.json`. They are compiled at first use, and cached. */
export function compileSchema(name: string): CompiledSchema {
  let schema = compiled.get(name);
  if (schema === undefined) {
    schema = newSchema(name);
    compiled.set(name, schema);
  }
  return schema;
}

function newSchema(name: string): CompiledSchema {
  const tree = schemaTree(name);
  const validator = lazy(() => compiledFunction(name));
  return {
    name,
    check: (object) => {
      const validate = validator();
      return validate(object) ? [] : toFieldErrors(tree, object, validate.errors ?? []);
    },
    unknownInStatus: (object) => {
      const status = tree.properties?.['status'];
      const value = isRecord(object) ? object['status'] : undefined;
      return status === undefined ? [] : unknownFields(status, value, ['status']);
    },
    prune: (object) => prune(validator(), object),
    dropNulls: (object) => dropNulls(tree, object),
    fillDefaults: (object) => fillDefaults(tree, object),
  };
}

function compiledFunction(name: string): ValidateFunction {
  const validate = validatorOf(name);
  if (validate === undefined) throw new Error(`There is no schemas/${name}.json`);
  return validate;
}

function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function prune(validate: ValidateFunction, object: unknown): FieldPath[] {
  if (validate(object)) return [];
  const paths = (validate.errors ?? [])
    .filter(({ keyword }) => keyword === 'additionalProperties')
    .map((report) => pathOf(object, report));
  for (const path of paths) {
    const parent = valueAt(object, path.slice(0, -1));
    if (isRecord(parent)) delete parent[String(path.at(-1))];
  }
  return paths;
}

function unknownFields(node: SchemaNode, value: unknown, path: FieldPath): FieldPath[] {
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return [];
    return value.flatMap((item, index) => unknownFields(items, item, [...path, index]));
  }
  if (!isRecord(value)) return [];
  return Object.keys(value).flatMap((key) => {
    const child = propertyOf(node, key);
    const below = [...path, key];
    if (child !== undefined) return unknownFields(child, value[key], below);
    return node.additionalProperties === false ? [below] : [];
  });
}

function dropNulls(node: SchemaNode, value: unknown): void {
  if (Array.isArray(value)) {
    if (node.items !== undefined) for (const item of value) dropNulls(node.items, item);
    return;
  }
  if (!isRecord(value)) return;
  // Iterates over the object, which has far fewer fields than the schema.
  for (const key of Object.keys(value)) {
    const child = propertyOf(node, key);
    if (child === undefined) continue;
    if (value[key] === null && !isNullable(child)) delete value[key];
    else dropNulls(child, value[key]);
  }
  if (typeof node.additionalProperties === 'object') {
    for (const item of Object.values(value)) dropNulls(node.additionalProperties, item);
  }
}

function propertyOf({ properties }: SchemaNode, key: string): SchemaNode | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

function fillDefaults(node: SchemaNode, value: unknown): void {
  if (Array.isArray(value)) {
    if (node.items !== undefined) for (const item of value) fillDefaults(node.items, item);
    return;
  }
  if (!isRecord(value)) return;
  for (const [key, child] of Object.entries(node.properties ?? {})) {
    if (!Object.hasOwn(value, key)) {
      if (child.default === undefined) continue;
      value[key] = structuredClone(child.default);
    }
    fillDefaults(child, value[key]);
  }
}

function isNullable(node: SchemaNode): boolean {
  return Array.isArray(node.type) && node.type.includes('null');
}
