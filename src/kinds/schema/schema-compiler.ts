/**
 * Compiler of schemas to functions. The bundle replaces this module by functions that the build has
 * compiled (`scripts/schema-functions.mjs`): compiling the schema of one kind takes longer than
 * reading hundreds of manifests, and blocks the event loop.
 */
import { Ajv, type CodeOptions, type ValidateFunction } from 'ajv';
import { isRecord, type JsonObject } from '../../apimachinery/index.ts';
import { schemaDocument, schemaNames } from './schema-files.ts';
import { formats } from './schema-formats.ts';

const VOCABULARY = [
  'x-gitplane-env',
  'x-gitplane-secret',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
];

/** One compiler for all schemas, so that shared definitions are compiled once. Tests check the schemas
 * against the meta-schema, so this does not. */
export function newCompiler(code: CodeOptions = {}): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    meta: false,
    validateSchema: false,
    code,
  });
  ajv.addVocabulary(VOCABULARY);
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format);
  for (const name of schemaNames()) ajv.addSchema(withOpenStatus(schemaDocument(name)), name);
  return ajv;
}

/** Reduces `status` to a map, because only the server writes it. The status of Config alone would take
 * longer to compile than all other schemas. */
function withOpenStatus(schema: JsonObject): JsonObject {
  const properties = schema['properties'];
  const isKind = isRecord(properties) && Object.hasOwn(properties, 'metadata');
  return isKind && Object.hasOwn(properties, 'status')
    ? { ...schema, properties: { ...properties, status: { type: 'object' } } }
    : schema;
}

let compiler: Ajv | undefined;

/** The function of a schema. Undefined: there is no such schema. It stays here: the bundle has another one. */
export function validatorOf(name: string): ValidateFunction | undefined {
  compiler ??= newCompiler();
  return compiler.getSchema(name);
}
