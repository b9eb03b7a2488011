/** Parts that schemas of documents are made of. Every field has a description. */
import type { JsonObject } from '../../../apimachinery/index.ts';
import { META } from '../openapi-names.ts';

export const text = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'string',
  description,
  ...more,
});
export const count = (description: string, more: JsonObject = {}): JsonObject => ({
  type: 'integer',
  description,
  ...more,
});
export const flag = (description: string): JsonObject => ({ type: 'boolean', description });
export const time = (description: string): JsonObject => text(description, { format: 'date-time' });
export const oneOf = (values: readonly string[], description: string): JsonObject =>
  text(description, { enum: [...values] });

export const listOf = (items: JsonObject, description: string): JsonObject => ({
  type: 'array',
  description,
  items,
});
export const mapOf = (values: JsonObject, description: string): JsonObject => ({
  type: 'object',
  description,
  additionalProperties: values,
});
/** A value of any type. */
export const anything = (description: string): JsonObject => ({ description });
/** An object whose fields the document does not list. */
export const openObject = (description: string): JsonObject => ({
  type: 'object',
  description,
  additionalProperties: true,
});
export const nullable = (schema: JsonObject): JsonObject => ({ ...schema, nullable: true });

/** Fields of an object. A name that ends with `?` is optional. */
export function shape(
  description: string,
  fields: Readonly<Record<string, JsonObject>>,
): JsonObject {
  const names = Object.keys(fields);
  const required = names.filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    description,
    properties: Object.fromEntries(
      names.map((name) => [name.replace(/\?$/, ''), fields[name] ?? {}]),
    ),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Another schema of the same document. */
export const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
/** The same with a description of its own: nothing counts beside `$ref`. */
export const described = (name: string, description: string): JsonObject => ({
  description,
  allOf: [ref(name)],
});

export const STATUS_SCHEMA = `${META}.Status`;
export const LIST_META = described(`${META}.ListMeta`, 'Continuation of a list.');

/** `kind` and `apiVersion` of a document. */
export const head = (kind: string): Record<string, JsonObject> => ({
  kind: oneOf([kind], 'Kind of the document.'),
  apiVersion: text('Group and version of the platform.'),
});
/** Names of an object. */
export const NAMES: Readonly<Record<string, JsonObject>> = {
  apiVersion: text('Group and version of the kind.'),
  kind: text('Kind of the object.'),
  'namespace?': text('Namespace of the object; absent: its kind has none.'),
  name: text('Name of the object.'),
};
export const LINKED: Readonly<Record<string, JsonObject>> = {
  ...NAMES,
  plural: text('Plural of the kind, as in URLs.'),
};
export const AUTHOR = shape('Author of a commit.', {
  name: text('Name.'),
  email: text('Address.'),
});
