/** Validator of answers by an OpenAPI 3.0 document. It also finds fields that a schema does not list. */
import { Ajv } from 'ajv';
import { fullFormats } from 'ajv-formats/dist/formats.js';

type Json = Record<string, unknown>;

/** Returns the problems of a value; none: it fits the schema. */
export function answerValidator(document: Json): (schema: unknown, value: unknown) => string[] {
  const ajv = new Ajv({ strict: false, allErrors: true, formats: fullFormats });
  ajv.addSchema({ $id: 'api', ...closed(document) });
  return (schema, value) => {
    const absolute = JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/', '"api#/'));
    const validate = ajv.compile(absolute);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
    );
  };
}

/** The same with `additionalProperties: false` where a schema lists its fields, and with null as a type. */
function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const all: Json = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closed(value)]),
  );
  const { nullable, ...rest } = all;
  const isClosed =
    rest['type'] === 'object' &&
    'properties' in rest &&
    !('additionalProperties' in rest) &&
    rest['x-kubernetes-preserve-unknown-fields'] !== true;
  const own: Json = isClosed ? { ...rest, additionalProperties: false } : rest;
  return (nullable === true ? { anyOf: [{ type: 'null' }, own] } : own) as T;
}
