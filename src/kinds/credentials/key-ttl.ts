/** `spec.ttl` of keys and tokens, in seconds. 0 or absent: no expiry. */
import { type FieldError, invalid, type KubeObject, valueAt } from '../../apimachinery/index.ts';

/** A sane limit: now plus this is still a valid date. */
const LONGEST = 100 * 365 * 24 * 3600;

export function ttlOf(object: KubeObject): number {
  return Number(valueAt(object, ['spec', 'ttl']) ?? 0);
}

export function ttlProblems(object: KubeObject): FieldError[] {
  const ttl = ttlOf(object);
  const detail = `must not be more than ${LONGEST} seconds; leave it out for no expiry of its own`;
  return ttl > LONGEST ? [invalid(['spec', 'ttl'], ttl, detail)] : [];
}
