/**
 * Problems of `sync.toHost.endpoints` and `sync.toHost.services` of a vcluster.yaml. Every problem is found, none is
 * thrown. Other settings of the file are not looked at: they belong to other programs.
 */
import { distance } from 'fastest-levenshtein';
import {
  type FieldError,
  type FieldPath,
  forbidden,
  formatPath,
  invalid,
  isRecord,
  required,
  typeInvalid,
  unknownField,
  valueAt,
} from '../apimachinery/index.ts';
import { expressionProblem } from './expressions/syntax.ts';
import { parsePath } from './paths/parse.ts';
import { type Path, PathSyntaxError } from './paths/path.ts';
import { readEndpointsSetting, SYNC_SETTINGS } from './settings.ts';

type Rule = (value: unknown, at: FieldPath) => FieldError[];

/** Limit of patches per list. Real lists are shorter, and each patch runs for every object. */
const MOST_PATCHES = 256;

const REFERENCE_FIELDS: Readonly<Record<string, Rule>> = {
  apiVersion: text,
  apiVersionPath: relativePath,
  kind: text,
  kindPath: relativePath,
  namePath: relativePath,
  namespacePath: relativePath,
};
const PATCH_FIELDS: Readonly<Record<string, Rule>> = {
  path: targetPath,
  expression,
  reverseExpression: expression,
  reference,
  labels: (value, at) => fieldsOf(value, at, {}),
};
const SETTING_FIELDS: Readonly<Record<string, Rule>> = { enabled: boolean, patches };

/**
 * `config` is the whole file as plain JSON values. Paths of the errors count from its root; the
 * place inside an expression or a path is in `at`.
 */
export function checkEndpointsSetting(config: unknown): FieldError[] {
  const above = checkPlace(config);
  if (above.length > 0) return above;
  const errors = Object.values(SYNC_SETTINGS).flatMap((at) => {
    const value = valueAt(config, at);
    return given(value) ? fieldsOf(value, at, SETTING_FIELDS) : [];
  });
  return errors.length > 0 ? errors : checkServicesAlone(config);
}

/** The maps that hold both settings. */
function checkPlace(config: unknown): FieldError[] {
  const steps = SYNC_SETTINGS.Endpoints.slice(0, -1);
  for (let depth = 0; depth <= steps.length; depth++) {
    const at = steps.slice(0, depth);
    const value = valueAt(config, at);
    if (!given(value)) return [];
    if (!isRecord(value)) return [notA('map', value, at)];
  }
  return [];
}

/** A Service without its Endpoints would lead nowhere. */
function checkServicesAlone(config: unknown): FieldError[] {
  const at = [...SYNC_SETTINGS.Service, 'enabled'];
  if (valueAt(config, at) !== true || readEndpointsSetting(config).enabled) return [];
  return [forbidden(at, 'Services are synced beside Endpoints: enable sync.toHost.endpoints, too')];
}

/** A field that is null counts as absent, as in Go. */
function given(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function fieldsOf(
  value: unknown,
  at: FieldPath,
  fields: Readonly<Record<string, Rule>>,
): FieldError[] {
  if (!isRecord(value)) return [notA('map', value, at)];
  return Object.entries(value).flatMap(([name, item]) => {
    const rule = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (rule === undefined) return [unknownField([...at, name], closest(name, fields))];
    return given(item) ? rule(item, [...at, name]) : [];
  });
}

function closest(name: string, fields: Readonly<Record<string, Rule>>): string | undefined {
  const near = (known: string): number => distance(name.toLowerCase(), known.toLowerCase());
  return Object.keys(fields).find((known) => near(known) <= 2);
}

function notA(what: string, value: unknown, at: FieldPath): FieldError {
  return typeInvalid(at, value, `must be a ${what}`);
}

function boolean(value: unknown, at: FieldPath): FieldError[] {
  return typeof value === 'boolean' ? [] : [notA('boolean', value, at)];
}

function text(value: unknown, at: FieldPath): FieldError[] {
  return typeof value === 'string' ? [] : [notA('string', value, at)];
}

function patches(value: unknown, at: FieldPath): FieldError[] {
  if (!Array.isArray(value)) return [notA('list', value, at)];
  if (value.length > MOST_PATCHES) {
    const message = `Too many: ${value.length}: must have at most ${MOST_PATCHES} items`;
    return [{ type: 'FieldValueTooMany', path: at, message }];
  }
  return [
    ...value.flatMap((item, index) => patch(item, [...at, index])),
    ...duplicatePaths(value, at),
  ];
}

function patch(value: unknown, at: FieldPath): FieldError[] {
  const errors = fieldsOf(value, at, PATCH_FIELDS);
  if (!isRecord(value)) return errors;
  if (!given(value['path'])) {
    errors.push(required([...at, 'path'], '"" stands for the whole object'));
  }
  const expressions = given(value['expression']) || given(value['reverseExpression']);
  const modes = [expressions, given(value['reference']), given(value['labels'])];
  const count = modes.filter(Boolean).length;
  if (count === 1) return errors;
  const verb = count > 1 ? 'can only use' : 'need to use';
  const message = `${formatPath(at)} ${verb} one of: expression, labels or reference`;
  const type = count > 1 ? 'FieldValueForbidden' : 'FieldValueRequired';
  return [...errors, { type, path: at, message }];
}

/** Paths are compared as they are read: `a[0]` and `a.0` are the same. */
function duplicatePaths(patches: readonly unknown[], at: FieldPath): FieldError[] {
  const first = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [index, patch] of patches.entries()) {
    const path = isRecord(patch) ? patch['path'] : undefined;
    const meaning = typeof path === 'string' ? meaningOf(path) : undefined;
    if (meaning === undefined) continue;
    const earlier = first.get(meaning);
    if (earlier === undefined) {
      first.set(meaning, index);
      continue;
    }
    const places = `${formatPath([...at, earlier])} and ${formatPath([...at, index])}`;
    const message = `${places} have the same path ${JSON.stringify(path)}`;
    errors.push({ type: 'FieldValueDuplicate', path: [...at, index, 'path'], message });
  }
  return errors;
}

function meaningOf(path: string): string | undefined {
  try {
    return JSON.stringify(parsePath(path));
  } catch {
    return undefined;
  }
}

const REFUSED = ['name', 'namespace'];

function targetPath(value: unknown, at: FieldPath): FieldError[] {
  const path = parsed(value, at);
  if (!('path' in path)) return path.errors;
  const [first, second, ...rest] = path.path.map((step) => ('key' in step ? step.key : undefined));
  if (first !== 'metadata' || second === undefined || rest.length > 0) return [];
  if (!REFUSED.includes(second)) return [];
  const detail = `metadata.${second} is given by the sync and cannot be patched`;
  return [forbidden(at, detail)];
}

function relativePath(value: unknown, at: FieldPath): FieldError[] {
  const path = parsed(value, at);
  if (!('path' in path)) return path.errors;
  if (path.path.length === 0) return [required(at, 'name a field below the path of the patch')];
  if (path.path.every((step) => 'key' in step)) return [];
  return [
    invalid(at, value, 'must lead to one field: wildcards belong into the path of the patch'),
  ];
}

function parsed(value: unknown, at: FieldPath): { path: Path } | { errors: FieldError[] } {
  if (typeof value !== 'string') return { errors: [notA('string', value, at)] };
  try {
    return { path: parsePath(value) };
  } catch (error) {
    if (!(error instanceof PathSyntaxError)) throw error;
    return { errors: [{ ...invalid(at, value, error.message), at: positionIn(value, error) }] };
  }
}

function positionIn(text: string, { offset }: PathSyntaxError): { line: number; col: number } {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, col: [...(lines.at(-1) ?? '')].length + 1 };
}

function expression(value: unknown, at: FieldPath): FieldError[] {
  if (typeof value !== 'string') return [notA('string', value, at)];
  const problem = expressionProblem(value);
  if (problem === undefined) return [];
  const { line, col, message } = problem;
  const type = 'FieldValueInvalid';
  const text = `Invalid value: ${message} (line ${line}, column ${col} of the expression)`;
  return [{ type, path: at, message: text, at: { line, col } }];
}

const NEED_A_NAME = ['namespacePath', 'kindPath', 'apiVersionPath'];

function reference(value: unknown, at: FieldPath): FieldError[] {
  const errors = fieldsOf(value, at, REFERENCE_FIELDS);
  if (!isRecord(value)) return errors;
  for (const field of ['apiVersion', 'kind']) {
    if (!given(value[field]) || value[field] === '') errors.push(required([...at, field]));
  }
  const path = NEED_A_NAME.find((field) => given(value[field]));
  if (path !== undefined && !given(value['namePath'])) {
    errors.push(required([...at, 'namePath'], `${path} is set`));
  }
  return errors;
}
