/**
 * The validator for manifests from git and bodies from HTTP: both fail with the same messages
 * (design: two roads meet at one validator).
 */
import {
  type FieldError,
  forbidden,
  invalid,
  jsonEqual,
  type KubeObject,
} from '../apimachinery/index.ts';
import type { CompiledSchema, Kind } from '../kinds/index.ts';
import { metadataProblems, metadataWarnings } from './metadata.ts';

/**
 * Every problem of an object on its own, in one pass. Rules about a field run only if its shape is
 * valid; an unknown field does not stop any rule. `old` is the object to be replaced, if any.
 */
export function objectProblems(
  kind: Kind,
  schema: CompiledSchema,
  change: { object: KubeObject; old?: KubeObject | undefined },
): FieldError[] {
  const { object, old } = change;
  const shape = schema.check(object);
  const misshapen = shape.filter((error) => error.unknownField !== true);
  if (misshapen.some((error) => error.path.length === 0 || error.path[0] === 'metadata')) {
    return shape;
  }
  const errors = [...shape, ...metadataProblems(kind, object)];
  if (misshapen.length > 0) return errors;
  const transition = old === undefined ? [] : transitionProblems(object, old);
  return [...errors, ...kind.validate(object, old), ...transition];
}

/** Mutates `object`. Fields of the wrong shape stay: `objectProblems` reports them. */
export function fillDefaults(kind: Kind, schema: CompiledSchema, object: KubeObject): void {
  const isShaped = schema.check(object).every((error) => error.unknownField === true);
  if (isShaped) kind.setDefaults(object);
}

export function objectWarnings(kind: Kind, object: KubeObject): string[] {
  return [...metadataWarnings(object), ...kind.warnings(object)];
}

/** Immutable fields, and changes that a running deletion forbids (spec section 2.2). */
function transitionProblems(object: KubeObject, old: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['name', 'namespace'] as const) {
    if ((object.metadata[field] ?? '') !== (old.metadata[field] ?? '')) {
      errors.push(invalid(['metadata', field], object.metadata[field], 'field is immutable'));
    }
  }
  const before = new Set(old.metadata.finalizers ?? []);
  const added = (object.metadata.finalizers ?? []).filter((name) => !before.has(name));
  if (old.metadata.deletionTimestamp !== undefined && added.length > 0) {
    const list = added.map((name) => JSON.stringify(name)).join(', ');
    errors.push(
      forbidden(
        ['metadata', 'finalizers'],
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
      ),
    );
  }
  return errors;
}

const OUTSIDE_DESIRED_STATE = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/**
 * True if two versions of an object have the same desired state. Labels, annotations and other
 * metadata do not count, as in Kubernetes: `generation` grows only if this is false.
 */
export function sameDesiredState(a: KubeObject, b: KubeObject): boolean {
  const fields = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const field of fields) {
    if (!OUTSIDE_DESIRED_STATE.has(field) && !jsonEqual(a[field], b[field])) return false;
  }
  return true;
}
