/**
 * Query options of writes: dryRun, fieldValidation, fieldManager, force (reference:
 * Kubernetes API, sections 2.4, 2.10 and 2.11). Wrong values are 422.
 */
import {
  type FieldError,
  forbidden,
  invalid,
  invalidObject,
  notSupported,
  required,
  type StatusError,
  tooLong,
} from '../../apimachinery/index.ts';
import { queryFlag } from './request-info.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** As the client gave it; empty when it gave none. */
  readonly fieldManager: string;
  /** Of server-side apply: take over fields that others own. */
  readonly force: boolean;
}

/** The operation that the options belong to; a patch is named by its type. */
export type WriteOperation = 'create' | 'update' | 'json' | 'merge' | 'strategic' | 'apply';

const OPTIONS_KIND: Readonly<Record<WriteOperation, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  json: 'PatchOptions',
  merge: 'PatchOptions',
  strategic: 'PatchOptions',
  apply: 'PatchOptions',
};
const FIELD_VALIDATIONS: readonly string[] = ['Strict', 'Warn', 'Ignore'];

export function parseWriteOptions(query: URLSearchParams, operation: WriteOperation): WriteOptions {
  const fieldManager = query.get('fieldManager') ?? '';
  const fieldValidation = query.get('fieldValidation') || 'Warn';
  const dryRun = query.getAll('dryRun');
  const errors = [
    ...forceErrors(query, operation),
    ...(operation === 'apply' && fieldManager === ''
      ? [required(['fieldManager'], 'is required for apply patch')]
      : []),
    ...fieldManagerErrors(fieldManager),
    ...dryRunErrors(dryRun),
    ...(FIELD_VALIDATIONS.includes(fieldValidation)
      ? []
      : [notSupported(['fieldValidation'], fieldValidation, ['', 'Ignore', 'Strict', 'Warn'])]),
  ];
  if (errors.length > 0) throw invalidOptions(OPTIONS_KIND[operation], errors);
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: fieldValidation as FieldValidation,
    fieldManager,
    force: queryFlag(query, 'force') ?? false,
  };
}

/** `ListOptions.meta.k8s.io "" is invalid: …`, for options of any kind. */
export function invalidOptions(kind: string, errors: readonly FieldError[]): StatusError {
  return invalidObject({ group: 'meta.k8s.io', plural: '', kind }, '', errors);
}

export function dryRunErrors(values: readonly unknown[]): FieldError[] {
  return values.every((value) => value === 'All')
    ? []
    : [notSupported(['dryRun'], values, ['All'])];
}

function forceErrors(query: URLSearchParams, operation: WriteOperation): FieldError[] {
  const isPatch = ['json', 'merge', 'strategic'].includes(operation);
  return isPatch && query.has('force')
    ? [forbidden(['force'], 'may not be specified for non-apply patch')]
    : [];
}

const MAX_FIELD_MANAGER_BYTES = 128;
/** Go's `unicode.IsPrint`. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

function fieldManagerErrors(name: string): FieldError[] {
  const path = ['fieldManager'];
  const errors: FieldError[] = [];
  if (Buffer.byteLength(name) > MAX_FIELD_MANAGER_BYTES) {
    errors.push(tooLong(path, MAX_FIELD_MANAGER_BYTES));
  }
  const found = UNPRINTABLE.exec(name);
  if (found !== null) {
    const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    errors.push(invalid(path, name, `invalid character U+${code} (at position ${found.index})`));
  }
  return errors;
}

/** Field manager of a write: the parameter, else the User-Agent up to its `/`. */
export function fieldManagerOf(options: WriteOptions, userAgent: string | undefined): string {
  if (options.fieldManager !== '') return options.fieldManager;
  const name = (userAgent ?? '').split('/', 1)[0] ?? '';
  const printable = [...name].filter((char) => !UNPRINTABLE.test(char)).join('');
  return printable.slice(0, MAX_FIELD_MANAGER_BYTES) || 'unknown';
}
