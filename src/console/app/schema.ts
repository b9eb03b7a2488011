/** JSON schemas of kinds, from the server: what a field means, and which values are secret. */
import { client } from './session.ts';

export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly $ref?: string;
  readonly readOnly?: boolean;
  readonly deprecated?: boolean;
  readonly [extension: `x-${string}`]: unknown;
}

const known = new Map<string, Promise<Schema | undefined>>();

/** With the schemas that it refers to in place. Undefined: the kind has none. */
export function schemaOf(kind: string): Promise<Schema | undefined> {
  return read(`${kind.toLowerCase()}.json`, []);
}

function read(file: string, within: readonly string[]): Promise<Schema | undefined> {
  const found = known.get(file) ?? load(file, within).catch(() => undefined);
  known.set(file, found);
  return found;
}

async function load(file: string, within: readonly string[]): Promise<Schema> {
  const schema = await client.json<Schema>(`/schemas/${encodeURIComponent(file)}`);
  return await resolved(schema, [...within, file]);
}

async function resolved(schema: Schema, within: readonly string[]): Promise<Schema> {
  const { $ref, properties, items, additionalProperties, ...own } = schema;
  const isFile = $ref !== undefined && /^[\w-]+\.json$/.test($ref) && !within.includes($ref);
  const base = isFile ? await read($ref, within) : undefined;
  const fields = await Promise.all(
    Object.entries(properties ?? {}).map(
      async ([name, field]) => [name, await resolved(field, within)] as const,
    ),
  );
  return {
    ...base,
    ...own,
    ...(fields.length > 0 ? { properties: Object.fromEntries(fields) } : {}),
    ...(items === undefined ? {} : { items: await resolved(items, within) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: await resolved(additionalProperties, within) }
      : {}),
  };
}

/** The schema of a field of an object with this schema. */
export function fieldSchema(schema: Schema | undefined, name: string): Schema | undefined {
  const own = schema?.properties?.[name];
  if (own !== undefined) return own;
  const others = schema?.additionalProperties;
  return typeof others === 'object' ? others : undefined;
}

export function isSecret(schema: Schema | undefined): boolean {
  return schema?.['x-gitplane-secret'] === true;
}
