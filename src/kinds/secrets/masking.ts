/** Masking of secret values, for users who may not see them. */
import { type FieldPath, isRecord } from '../../apimachinery/index.ts';
import type { Kind } from '../kind.ts';
import { LAST_APPLIED } from './last-applied.ts';

/** Text in place of a secret value. */
export const MASK = '***';

/** Paths; the step `*` matches every field and every item. */
export type SecretPaths = readonly (readonly string[])[];

/**
 * Paths of the secret values of an object: those of its kind, and those that its file encrypts beside
 * them. The annotation of `kubectl apply` and the records of field managers have copies of these.
 */
export function secretsOf(
  { secretPaths, writeOnly }: Pick<Kind, 'secretPaths' | 'writeOnly'>,
  ...encrypted: (SecretPaths | undefined)[]
): SecretPaths {
  const own = [...secretPaths, ...writeOnly.map(({ path }) => path.map(String))];
  const others = encrypted.flatMap((paths) => paths ?? []);
  return others.length === 0 ? own : [...own, ...others, ...COPIES];
}

const COPIES: SecretPaths = [
  ['metadata', 'annotations', LAST_APPLIED],
  // Items of a list are in the record by their values.
  ['metadata', 'managedFields', '*', 'fieldsV1'],
];

/** Fields that name an object: they are in every list of names, and never secret. */
const IDENTITY = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace'];

/** The paths that the kind does not declare secret, and that do not name the object; undefined: none. */
export function besideSecrets(kind: Kind, paths: SecretPaths): SecretPaths | undefined {
  const own = secretsOf(kind);
  const others = paths.filter(
    (path) => !IDENTITY.includes(path.join('.')) && !own.some((secret) => covers(secret, path)),
  );
  return others.length === 0 ? undefined : others;
}

/** A copy of the value at `path` with its secrets masked. */
export function masked(value: unknown, path: FieldPath, secrets: SecretPaths): unknown {
  if (value === undefined) return undefined;
  if (secrets.some((secret) => covers(secret, path))) return MASK;
  if (Array.isArray(value)) return value.map((item, i) => masked(item, [...path, i], secrets));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, masked(item, [...path, key], secrets)]),
  );
}

/** Texts and numbers at the paths, for `withoutValues`. */
export function valuesAt(object: unknown, paths: SecretPaths): string[] {
  const found = new Set<string>();
  for (const path of paths) collectValues(found, object, path);
  return [...found];
}

function collectValues(found: Set<string>, value: unknown, path: readonly string[]): void {
  if (typeof value !== 'object' || value === null) {
    if (path.length > 0) return;
    if (typeof value === 'string' || typeof value === 'number') found.add(String(value));
    return;
  }
  const [step, ...rest] = path;
  for (const [key, item] of Object.entries(value)) {
    if (step === undefined || step === '*' || step === key) collectValues(found, item, rest);
  }
}

/** True if the whole value at the path is secret. */
function covers(secret: readonly string[], path: FieldPath): boolean {
  return (
    secret.length <= path.length &&
    secret.every((step, i) => step === '*' || step === String(path[i]))
  );
}
