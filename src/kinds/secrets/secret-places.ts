/** Values of an object that git must store encrypted. */
import { type FieldPath, isRecord, valueAt } from '../../apimachinery/index.ts';
import type { Kind } from '../kind.ts';
import type { KindTable } from '../table.ts';
import { LAST_APPLIED } from './last-applied.ts';
import { covers } from './masking.ts';

/**
 * Paths of secret scalars, in order. Values that git stores as hashes are not among them. `object` may
 * have any shape.
 */
export function secretPlaces(kind: Kind, object: unknown): FieldPath[] {
  const found: FieldPath[] = [];
  for (const pattern of sealedPaths(kind)) collect(found, { kind, pattern }, object, []);
  return found;
}

/**
 * Kinds that the encrypted values of an object may come from: a value is bound to its place, and not to its
 * kind. Files in another format, and values beside the secret fields, may have them from any kind.
 */
export function sourcesOfSecrets(
  { kinds }: KindTable,
  { kind, manifest, isBeside }: { kind: Kind; manifest: unknown; isBeside: boolean },
): Kind[] {
  if (isBeside || kind.storedIn === 'file') {
    return kinds.filter(({ storedIn }) => storedIn === 'git' || storedIn === 'file');
  }
  const places = secretPlaces(kind, manifest);
  return kinds.filter(
    (one) =>
      one === kind ||
      sealedPaths(one).some((pattern) => places.some((place) => covers(pattern, place))),
  );
}

/** Names of the fields that hold secrets. */
export function secretKeys(kind: Kind): string[] {
  const keys = sealedPaths(kind).map((path) => path.findLast((step) => step !== '*') ?? '');
  return [...new Set(keys)];
}

/** True if files of every object of the kind may hold encrypted secrets, also in a format that its writers choose. */
export function isEncryptedKind(kind: Kind): boolean {
  return secretKeys(kind).length > 0 || (kind.storedIn === 'file' && kind.secretPaths.length > 0);
}

/** Folders of kinds with secrets in git, and the names of the secret fields. */
export function sealedKinds({ kinds }: KindTable): { folder: string; keys: string[] }[] {
  return kinds
    .map((kind) => ({ folder: kind.plural, keys: secretKeys(kind) }))
    .filter(({ keys }) => keys.length > 0);
}

/**
 * Secret paths of manifests. Derived values are in no file, and write-only values are hashes. Writers
 * of files in another format encrypt them as they like.
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
      collect(found, at, valueAt(value, [key]), [...path, key]);
    }
    return;
  }
  // A trailing `*` also matches a scalar, so that an object of a wrong shape cannot hide a secret.
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
    // A copy that does not parse may hold any secret.
    return true;
  }
}
