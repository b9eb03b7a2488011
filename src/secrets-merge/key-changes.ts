/** The keys of a step as changes: of values to write, and of fingerprints to store. */
import type { FingerprintMap, SecretValues } from './fingerprints.ts';

/**
 * The change that gives another side `values` for these keys; keys absent from `values` are
 * removed.
 */
export function changeOf(
  keys: readonly string[],
  values: SecretValues,
): { set: SecretValues; remove: string[] } {
  const set = new Map<string, Uint8Array>();
  const remove: string[] = [];
  for (const key of keys) {
    const value = values.get(key);
    if (value === undefined) remove.push(key);
    else set.set(key, value);
  }
  return { set, remove };
}

/** The fingerprints after these keys were copied `from` the other side. */
export function changed(
  prints: FingerprintMap,
  keys: readonly string[],
  from: FingerprintMap,
): FingerprintMap {
  const after = new Map(prints);
  for (const key of keys) {
    const print = from.get(key);
    if (print === undefined) after.delete(key);
    else after.set(key, print);
  }
  return after;
}
