/**
 * The schemas as functions. A bundle has them ready-made in place of this module
 * (`scripts/schema-functions.mjs`): compiling those of one kind takes longer than reading hundreds of
 * manifests, and is one piece.
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

/** One for all schemas, so that what they share is compiled once. They are ours and tested, so
 * they are not checked against the meta-schema here. */
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

/** Only the server writes `status`, so nothing but its being a map is checked: the status of
 * Config alone would take longer to compile than everything else. */
function withOpenStatus(schema: JsonObject): JsonObject {
  const properties = schema['properties'];
  const isKind = isRecord(properties) && Object.hasOwn(properties, 'metadata');
  return isKind && Object.hasOwn(properties, 'status')
    ? { ...schema, properties: { ...properties, status: { type: 'object' } } }
    : schema;
}

let compiler: Ajv | undefined;

/** Undefined: there is no such schema. */
export function validatorOf(name: string): ValidateFunction | undefined {
  compiler ??= newCompiler();
  return compiler.getSchema(name);
}
