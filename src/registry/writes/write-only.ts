/** Write-only values, which are never served again, such as the text of a key. */
import {
  cloneJson,
  type FieldError,
  type FieldPath,
  invalidSecret,
  isRecord,
  type JsonObject,
  type KubeObject,
  valueAt,
} from '../../apimachinery/index.ts';
import { type Kind, LAST_APPLIED } from '../../kinds/index.ts';

/** Values for git, by path of the field. */
export type Concealed = ReadonlyMap<readonly (string | number)[], string>;

export interface TakenValues {
  readonly concealed: Concealed;
  /** Values that the server generated, shown only in the answer to this create. */
  readonly generated: ReadonlyMap<readonly (string | number)[], string>;
  readonly problems: readonly FieldError[];
}

/** Takes the values out of `object`; with `generate`, generates absent ones. */
export function takeWriteOnly(kind: Kind, object: KubeObject, generate: boolean): TakenValues {
  const concealed = new Map<readonly (string | number)[], string>();
  const generated = new Map<readonly (string | number)[], string>();
  const problems: FieldError[] = [];
  scrubLastApplied(kind, object);
  for (const field of kind.writeOnly) {
    const written = valueAt(object, field.path);
    // Clients that want a generated key send an empty field or none.
    const given = written === '' ? undefined : written;
    const made = given === undefined && generate ? field.generate?.(object) : undefined;
    const value = given ?? made;
    remove(object, field.path);
    if (value === undefined) continue;
    const wrong = field.validate(value);
    problems.push(...wrong.map((text) => invalidSecret(field.path, text)));
    if (wrong.length > 0 || typeof value !== 'string') continue;
    concealed.set(field.path, field.conceal(value));
    if (made !== undefined) generated.set(field.path, made);
  }
  return { concealed, generated, problems };
}

/** Removes write-only values from the annotation of `kubectl apply`. */
function scrubLastApplied(kind: Kind, object: KubeObject): void {
  const text = object.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined || kind.writeOnly.length === 0) return;
  const copy = parseJson(text);
  if (!isRecord(copy)) {
    delete object.metadata.annotations?.[LAST_APPLIED];
    return;
  }
  for (const field of kind.writeOnly) remove(copy, field.path);
  Object.assign(object.metadata.annotations ?? {}, { [LAST_APPLIED]: `${JSON.stringify(copy)}\n` });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Values in the form stored with an object: `spec.key`. */
export function byPath(values: Concealed): JsonObject {
  return Object.fromEntries([...values].map(([path, value]) => [path.join('.'), value]));
}

/** A copy of the manifest with the concealed values. */
export function withConcealed(manifest: JsonObject, values: Concealed): JsonObject {
  if (values.size === 0) return manifest;
  const copy = cloneJson(manifest);
  for (const [path, value] of values) put(copy, path, value);
  return copy;
}

/** A copy of the manifest without the fields. */
export function withoutFields(manifest: JsonObject, paths: readonly FieldPath[]): JsonObject {
  if (paths.length === 0) return manifest;
  const copy = cloneJson(manifest);
  for (const path of paths) remove(copy, path);
  return copy;
}

function remove(object: unknown, path: readonly (string | number)[]): void {
  const parent = valueAt(object, path.slice(0, -1));
  const field = path.at(-1);
  if (isRecord(parent) && field !== undefined) delete parent[field];
}

function put(root: JsonObject, path: readonly (string | number)[], value: string): void {
  let at: Record<string, unknown> = root;
  for (const step of path.slice(0, -1)) {
    const next = at[step];
    if (isRecord(next)) at = next;
    else {
      const made: Record<string, unknown> = {};
      at[step] = made;
      at = made;
    }
  }
  const field = path.at(-1);
  if (field !== undefined) at[field] = value;
}
