/** Which values of an object are secrets that git must hold sealed. */
import { type FieldPath, isRecord } from '../../apimachinery/index.ts';
import type { Kind } from '../kind.ts';
import type { KindTable } from '../table.ts';

/** Where kubectl keeps a copy of the whole object as it was applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Places of scalars that are secrets, in order; of values that are hashed in git there are none.
 * Expects nothing of the shape of `object`.
 */
export function secretPlaces(kind: Kind, object: unknown): FieldPath[] {
  const found: FieldPath[] = [];
  for (const pattern of sealedPaths(kind)) collect(found, { kind, pattern }, object, []);
  return found;
}

/** Names of the keys below which objects of the kind hold secrets. */
export function secretKeys(kind: Kind): string[] {
  const keys = sealedPaths(kind).map((path) => path.findLast((step) => step !== '*') ?? '');
  return [...new Set(keys)];
}

/** The kinds that hold secrets in git: in which folder, below which keys. */
export function sealedKinds({ kinds }: KindTable): { folder: string; keys: string[] }[] {
  return kinds
    .map((kind) => ({ folder: kind.plural, keys: secretKeys(kind) }))
    .filter(({ keys }) => keys.length > 0);
}

/**
 * What is derived is in no file, and what is only written is hashed. Files of another make are
 * sealed by their writers as they please.
 */
function sealedPaths(kind: Kind): readonly (readonly string[])[] {
  let paths = known.get(kind);
  if (paths === undefined) {
    paths = pathsToSeal(kind);
    known.set(kind, paths);
  }
  return paths;
}

const known = new WeakMap<Kind, readonly (readonly string[])[]>();

function pathsToSeal({ secretPaths, writeOnly, storedIn }: Kind): (readonly string[])[] {
  if (storedIn !== 'git') return [];
  const hashes = writeOnly.filter(({ sealed }) => sealed !== true);
  const hashed = new Set(hashes.map(({ path }) => path.join('/')));
  return secretPaths.filter((path) => path[0] !== 'status' && !hashed.has(path.join('/')));
}

function collect(
  found: FieldPath[],
  at: { readonly kind: Kind; readonly pattern: readonly string[] },
  value: unknown,
  path: FieldPath,
): void {
  const { kind, pattern } = at;
  const step = pattern[path.length];
  if (typeof value === 'object' && value !== null) {
    const keys = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value);
    const below = step === undefined || step === '*' ? keys : keys.filter((key) => key === step);
    for (const key of below) {
      collect(found, at, (value as Record<string | number, unknown>)[key], [...path, key]);
    }
    return;
  }
  // The last step may stand for whatever is there, so that a wrong shape hides nothing.
  const isThere = step === undefined || (step === '*' && path.length === pattern.length - 1);
  if (!isThere || value === undefined || value === null || value === '') return;
  if (path.at(-1) === LAST_APPLIED ? copyHoldsSecret(kind, value) : kind.holdsSecret(path, value)) {
    found.push(path);
  }
}

function copyHoldsSecret(kind: Kind, text: unknown): boolean {
  try {
    const copy: unknown = JSON.parse(String(text));
    return !isRecord(copy) || secretPlaces(kind, copy).length > 0;
  } catch {
    // Whatever it is, it came from an object with secrets.
    return true;
  }
}
