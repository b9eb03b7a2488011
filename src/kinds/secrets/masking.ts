/** Masking of secret values, for users who may not see them. */
import { type FieldPath, isRecord } from '../../apimachinery/index.ts';

/** Text in place of a secret value. */
export const MASK = '***';

/** Paths; the step `*` matches every field and every item. */
export type SecretPaths = readonly (readonly string[])[];

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

/** True if the whole value at the path is secret. */
function covers(secret: readonly string[], path: FieldPath): boolean {
  return (
    secret.length <= path.length &&
    secret.every((step, i) => step === '*' || step === String(path[i]))
  );
}
