/** Converts reports of Ajv to field errors, worded as in Kubernetes. */
import type { ErrorObject } from 'ajv';
import {
  duplicate,
  type FieldError,
  type FieldPath,
  formatPath,
  invalid,
  invalidSecret,
  notSupported,
  required,
  typeInvalid,
  unknownField,
  valueAt,
} from '../../apimachinery/index.ts';
import { fieldHint } from './did-you-mean.ts';
import { type SchemaNode, schemaAt } from './schema-files.ts';

/** One or more field errors per report. Values of secret fields are never printed. */
export function toFieldErrors(
  root: SchemaNode,
  object: unknown,
  reports: readonly ErrorObject[],
): FieldError[] {
  const { worded, more } = parted(reports);
  const wrongType = new Set(
    worded.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath),
  );
  const lastOf = new Map<string, FieldError>();
  const errors = worded
    .filter(({ keyword, instancePath }) => keyword === 'type' || !wrongType.has(instancePath))
    .flatMap((report, i) => {
      const found = [toFieldError({ root, object, report, guesses: i < MOST_GUESSES })].flat();
      const last = found.at(-1);
      if (last !== undefined) lastOf.set(groupOf(report), last);
      return found;
    });
  return errors.concat(more.flatMap((report) => lastOf.get(groupOf(report)) ?? []));
}

/**
 * Limit of errors by the same rule with words of their own; each later one is the last of them again. A list
 * of 3 MB has a million, and an answer shows a hundred.
 */
const MOST_WORDED = 1000;
/** Limit of the characters of their paths: a key may be as long as a body. */
const MOST_PATH_CHARACTERS = 1024 * 1024;

function parted(reports: readonly ErrorObject[]): Record<'worded' | 'more', ErrorObject[]> {
  const counts = new Map<string, number>();
  const worded: ErrorObject[] = [];
  const more: ErrorObject[] = [];
  let characters = 0;
  for (const report of reports) {
    const group = groupOf(report);
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    const isMore = count > 1 && (count > MOST_WORDED || characters > MOST_PATH_CHARACTERS);
    (isMore ? more : worded).push(report);
    if (!isMore) characters += report.instancePath.length;
  }
  return { worded, more };
}

/** Errors in metadata are apart: rules rely on its shape. */
function groupOf({ keyword, instancePath }: ErrorObject): string {
  const isRoot = instancePath === '';
  return `${keyword} ${isRoot || instancePath.startsWith('/metadata')}`;
}

/** Limit of unknown fields with a "did you mean", which takes time to find. */
const MOST_GUESSES = 100;

/** Path of the field of a report, including the name of a missing or unknown field. */
export function pathOf(object: unknown, report: ErrorObject): FieldPath {
  const path = parsePointer(object, report.instancePath);
  const { missingProperty, additionalProperty } = report.params;
  const last: unknown = missingProperty ?? additionalProperty;
  return typeof last === 'string' ? [...path, last] : path;
}

interface Found {
  readonly root: SchemaNode;
  readonly object: unknown;
  readonly report: ErrorObject;
  /** True: add a "did you mean" for an unknown field. */
  readonly guesses: boolean;
}

function toFieldError(found: Found): FieldError | FieldError[] {
  const { root, object, report, guesses } = found;
  const path = pathOf(object, report);
  switch (report.keyword) {
    case 'required':
      return required(path);
    case 'additionalProperties':
      return unknownField(path, guesses ? fieldHint(root, path) : undefined);
    case 'type':
      return wrongTypeError(path, valueAt(object, path), String(report.params['type']));
    case 'uniqueItems':
      return duplicates(path, valueAt(object, path));
    default:
      return ruleError(found, path);
  }
}

/** Error of a rule about a value. It prints the value, unless that is a secret. */
function ruleError({ root, object, report }: Found, path: FieldPath): FieldError {
  const value = valueAt(object, path);
  const detail = `${formatPath(path)} in body ${ruleWords(report)}`;
  if (isSecret(root, path)) return invalidSecret(path, detail);
  if (report.keyword === 'enum') {
    const supported: unknown = report.params['allowedValues'];
    return notSupported(path, value, Array.isArray(supported) ? supported.map(String) : []);
  }
  return report.keyword === 'format'
    ? typeInvalid(path, value, detail)
    : invalid(path, value, detail);
}

function ruleWords({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'enum':
      return 'should be one of the supported values';
    case 'pattern':
      return `should match '${params['pattern']}'`;
    case 'format':
      return `must be of type ${params['format']}`;
    case 'minimum':
      return `should be greater than or equal to ${params['limit']}`;
    case 'maximum':
      return `should be less than or equal to ${params['limit']}`;
    case 'minLength':
      return `should be at least ${params['limit']} chars long`;
    case 'minItems':
      return `should have at least ${params['limit']} items`;
    default:
      return message ?? `does not follow the rule "${keyword}"`;
  }
}

/** Names types, never values, as Kubernetes does; safe for secrets. */
function wrongTypeError(path: FieldPath, value: unknown, expected: string): FieldError {
  const found = typeName(value);
  const wanted = expected.replace(/,?null$/, '').replace(',', ' or ');
  const detail = `${formatPath(path)} in body must be of type ${wanted}: "${found}"`;
  return typeInvalid(path, found, detail);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function duplicates(path: FieldPath, list: unknown): FieldError[] {
  const seen = new Set<unknown>();
  const errors: FieldError[] = [];
  for (const [index, item] of (Array.isArray(list) ? list : []).entries()) {
    if (seen.has(item)) errors.push(duplicate([...path, index], item));
    seen.add(item);
  }
  return errors;
}

function isSecret(root: SchemaNode, path: FieldPath): boolean {
  return path.some(
    (_, index) => schemaAt(root, path.slice(0, index + 1))?.['x-gitplane-secret'] === true,
  );
}

/** Parses a JSON pointer (RFC 6901). The object tells which steps are list indexes. */
function parsePointer(object: unknown, pointer: string): FieldPath {
  const path: (string | number)[] = [];
  let value = object;
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const step = Array.isArray(value) ? Number(key) : key;
    path.push(step);
    value = valueAt(value, [step]);
  }
  return path;
}
