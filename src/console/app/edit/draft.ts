/**
 * The text that a person edits, and the object that it means. Secret values are not in the text: a
 * placeholder stands for the present value, and another one for a value that was set beside the editor.
 */
import { type Document, isScalar, LineCounter, parseDocument, stringify } from 'yaml';
import type { KubeObject } from '../../api/objects.ts';
import { fieldSchema, isSecret, type Schema } from '../schema.ts';
import type { Path } from './splice.ts';

export const UNCHANGED = '(unchanged)';
export const NEW_VALUE = '(new value)';

export interface DraftProblem {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** Fields that the server writes. */
const SERVER_META = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields'];

/** Text to edit: the manifest with its comments where there is one, else the object as YAML. */
export function textOf(
  object: KubeObject,
  of: { readonly source: string | undefined; readonly schema: Schema | undefined },
): string {
  const { source, schema } = of;
  const secrets = secretPaths(object, schema);
  if (source !== undefined && secrets.length === 0 && !/^sops:/m.test(source)) return source;
  const document = source === undefined ? undefined : parseDocument(source);
  if (document !== undefined && document.errors.length === 0) {
    document.delete('sops');
    return hidden(document, secrets).toString();
  }
  return hidden(parseDocument(stringify(desired(object))), secrets).toString();
}

/** Without status, and without what the server writes. */
export function desired(object: KubeObject): Record<string, unknown> {
  const { status: _status, metadata, ...rest } = object;
  const kept = Object.entries(metadata).filter(([name]) => !SERVER_META.includes(name));
  return { ...rest, metadata: Object.fromEntries(kept) };
}

function hidden(document: Document, secrets: readonly Path[]): Document {
  for (const path of secrets) {
    if (document.hasIn(path)) document.setIn(path, UNCHANGED);
  }
  return document;
}

/** Places of secret values that the object has. */
export function secretPaths(object: unknown, schema: Schema | undefined): readonly Path[] {
  if (typeof object !== 'object' || object === null) return [];
  return Object.entries(object).flatMap(([name, value]): Path[] => {
    const field = Array.isArray(object) ? schema?.items : fieldSchema(schema, name);
    const step = Array.isArray(object) ? Number(name) : name;
    if (isSecret(field)) return [[step]];
    return secretPaths(value, field).map((path) => [step, ...path]);
  });
}

export interface Draft {
  /** The text as JSON, with its placeholders. */
  readonly shown: Record<string, unknown> | undefined;
  /** Undefined: the text cannot be read. */
  readonly object: Record<string, unknown> | undefined;
  readonly problems: readonly DraftProblem[];
  /** Place of a field of the API, such as `spec.access[0].verbs`. */
  placeOf(field: string | undefined): { readonly from: number; readonly to: number };
}

/** Reads the text; placeholders become values of `current` or of `values`, by path with dots. */
export function readDraft(
  text: string,
  of: {
    readonly current: KubeObject | undefined;
    readonly values: ReadonlyMap<string, string>;
  },
): Draft {
  const document = parseDocument(text, { lineCounter: new LineCounter(), prettyErrors: false });
  const problems = document.errors.map(({ pos: [from, to], message }) => ({ from, to, message }));
  const value: unknown = problems.length > 0 ? undefined : document.toJS();
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (problems.length === 0 && !isObject) {
    problems.push({ from: 0, to: text.length, message: 'This is not an object' });
  }
  const shown = isObject ? (value as Record<string, unknown>) : undefined;
  const object = shown && (filled(shown, [], of) as Record<string, unknown>);
  return { shown, object, problems, placeOf: (field) => placeIn(document, text, field) };
}

function filled(value: unknown, path: Path, of: Parameters<typeof readDraft>[1]): unknown {
  if (Array.isArray(value)) return value.map((item, index) => filled(item, [...path, index], of));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, filled(item, [...path, name], of)]),
    );
  }
  if (value === NEW_VALUE) return of.values.get(path.join('.')) ?? value;
  return value === UNCHANGED ? valueAt(of.current, path) : value;
}

export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null
        ? (value as Record<string | number, unknown>)[step]
        : undefined,
    document,
  );
}

/** The field, or the nearest above it that the text has. */
function placeIn(
  document: Document,
  text: string,
  field: string | undefined,
): { readonly from: number; readonly to: number } {
  const path = stepsOf(field ?? '');
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : null;
    if (!Array.isArray(range)) continue;
    const [from, to] = range as [number, number];
    const end = isScalar(node) ? to : from + (/[^\n]*/.exec(text.slice(from))?.[0].length ?? 0);
    return { from, to: end };
  }
  return { from: 0, to: /[^\n]*/.exec(text)?.[0].length ?? 0 };
}

function stepsOf(field: string): Path {
  return [...field.matchAll(/\[(\d+)\]|\[([^\]]+)\]|([^.[\]]+)/g)].map(([, index, key, name]) =>
    index === undefined ? (key ?? name ?? '') : Number(index),
  );
}

/** Manifest of a new object. */
export function template(of: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly schema: Schema | undefined;
}): string {
  const { apiVersion, kind, namespace, schema } = of;
  const spec = fieldSchema(schema, 'spec');
  const metadata = { name: '', ...(namespace === undefined ? {} : { namespace }) };
  const fields = (spec?.required ?? []).map((name) => [name, emptyOf(fieldSchema(spec, name))]);
  const hasName = spec?.properties?.['displayName'] !== undefined;
  const first = hasName && !spec?.required?.includes('displayName') ? { displayName: '' } : {};
  const value = { ...first, ...Object.fromEntries(fields) };
  return stringify({ apiVersion, kind, metadata, ...(spec === undefined ? {} : { spec: value }) });
}

function emptyOf(schema: Schema | undefined): unknown {
  if (schema?.enum !== undefined) return schema.enum[0];
  return { array: [], object: {}, boolean: false, integer: 0, number: 0 }[schema?.type ?? ''] ?? '';
}
