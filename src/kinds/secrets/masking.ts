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

/**
 * Paths by their steps. An object and its encrypted paths may have thousands of values each, so that
 * comparing every value with every path would take minutes.
 */
class PathTree {
  /** A path ends here: the whole value is secret. */
  ends = false;
  readonly below = new Map<string, PathTree>();

  constructor(paths: SecretPaths) {
    for (const path of paths) {
      let at: PathTree = this;
      for (const step of path) {
        const next = at.below.get(step) ?? new PathTree([]);
        at.below.set(step, next);
        at = next;
      }
      at.ends = true;
    }
  }
}

/** Memoized: the operations of a patch share their paths. */
const trees = new WeakMap<SecretPaths, PathTree>();

function treeOf(paths: SecretPaths): PathTree {
  const tree = trees.get(paths) ?? new PathTree(paths);
  trees.set(paths, tree);
  return tree;
}

/**
 * Subtrees that a step of a value leads to: its own, and that of any step. A field may have the name `*`
 * too: that subtree counts once, since it would double at each level.
 */
function below(at: readonly PathTree[], step: string): PathTree[] {
  const steps = step === '*' ? ['*'] : [step, '*'];
  return at.flatMap((tree) => steps.flatMap((name) => tree.below.get(name) ?? []));
}

/** A copy of the value at `path` with its secrets masked. */
export function masked(value: unknown, path: FieldPath, secrets: SecretPaths): unknown {
  if (value === undefined) return undefined;
  let at = [treeOf(secrets)];
  for (const step of path) {
    if (at.some(({ ends }) => ends)) return MASK;
    at = below(at, String(step));
  }
  return maskedIn(at, value);
}

function maskedIn(at: readonly PathTree[], value: unknown): unknown {
  if (value === undefined) return undefined;
  if (at.some(({ ends }) => ends)) return MASK;
  if (Array.isArray(value)) return value.map((item, i) => maskedIn(below(at, String(i)), item));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, maskedIn(below(at, key), item)]),
  );
}

/** Texts and numbers of the objects at the paths, for `withoutValues`. */
export function valuesAt(objects: readonly unknown[], paths: SecretPaths): string[] {
  const found = new Set<string>();
  for (const object of objects) collectValues(found, object, [treeOf(paths)]);
  return [...found];
}

/** `at` undefined: the whole value is secret. */
function collectValues(
  found: Set<string>,
  value: unknown,
  at: readonly PathTree[] | undefined,
): void {
  const within = at?.some(({ ends }) => ends) === true ? undefined : at;
  if (within?.length === 0) return;
  if (typeof value !== 'object' || value === null) {
    const isValue = typeof value === 'string' || typeof value === 'number';
    if (within === undefined && isValue) found.add(String(value));
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    collectValues(found, item, within && below(within, key));
  }
}

/** True if the whole value at the path is secret. */
export function covers(secret: readonly string[], path: FieldPath): boolean {
  return (
    secret.length <= path.length &&
    secret.every((step, i) => step === '*' || step === String(path[i]))
  );
}
