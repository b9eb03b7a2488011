/** Field differences of two versions of an object, with their values unless those are secret. */
// Not the package itself: it has TypeScript beside its main file, which tsx would take in `npm run dev`.
import duplex from 'fast-json-patch/commonjs/duplex.js';
import helpers from 'fast-json-patch/commonjs/helpers.js';
import {
  type FieldPath,
  formatPath,
  isRecord,
  jsonEqual,
  type KubeObject,
} from '../apimachinery/index.ts';
import { masked, type SecretPaths } from '../kinds/index.ts';

export interface FieldChange {
  /** `spec.users[1]`. */
  readonly path: string;
  /** Absent: the field did not exist. */
  readonly before?: unknown;
  readonly after?: unknown;
  /** The values are secret and omitted. */
  readonly masked?: true;
}

/** A larger difference counts as one change of the whole. */
const MAX_FIELDS = 200;

/** In the order of the fields; values at the paths `secrets` are masked at any depth. */
export function fieldChanges(
  before: KubeObject | undefined,
  after: KubeObject | undefined,
  secrets: SecretPaths,
): FieldChange[] {
  const found: FieldPath[] = [];
  collect(found, [], withoutHead(before), withoutHead(after));
  return found.slice(0, MAX_FIELDS).map((path) => fieldChange(path, { before, after, secrets }));
}

/** One step of a JSON Patch (RFC 6902). */
export type PatchStep =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/**
 * The change as a JSON Patch of the manifest; values at the paths `secrets` are masked. Undefined:
 * the change is too large to be shown.
 */
export function patchOf(
  before: KubeObject,
  after: KubeObject,
  secrets: SecretPaths,
): PatchStep[] | undefined {
  const steps = duplex.compare(before, after);
  if (steps.length > MAX_FIELDS) return undefined;
  return steps.flatMap((step): PatchStep[] => {
    if (step.op === 'remove') return [{ op: step.op, path: step.path }];
    if (step.op !== 'add' && step.op !== 'replace') return [];
    const path = step.path.split('/').slice(1).map(helpers.unescapePathComponent);
    return [{ op: step.op, path: step.path, value: masked(step.value, path, secrets) }];
  });
}

/** Only the paths, as text. */
export function changedFields(
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): string[] {
  return fieldChanges(before, after, []).map(({ path }) => path);
}

/** Omits the fields that a change reports elsewhere: kind, name and namespace. */
export function withoutHead(object: KubeObject | undefined): Record<string, unknown> {
  if (object === undefined) return {};
  const { apiVersion: _version, kind: _kind, metadata, ...fields } = object;
  const { name: _name, namespace: _namespace, ...meta } = metadata;
  return Object.keys(meta).length === 0 ? fields : { metadata: meta, ...fields };
}

function collect(found: FieldPath[], path: FieldPath, before: unknown, after: unknown): void {
  if (found.length > MAX_FIELDS || jsonEqual(before, after)) return;
  const isStep = (value: unknown): boolean => isRecord(value) || value === undefined;
  if (isStep(before) && isStep(after) && (isRecord(before) || isRecord(after))) {
    const [a, b] = [asRecord(before), asRecord(after)];
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
    // A map without added or removed entries is reported itself.
    if (keys.length === 0) found.push(path);
    for (const key of keys) collect(found, [...path, key], own(a, key), own(b, key));
    return;
  }
  const isEven = Array.isArray(before) && Array.isArray(after) && before.length === after.length;
  if (!isEven) found.push(path);
  else for (const [i, item] of before.entries()) collect(found, [...path, i], item, after[i]);
}

function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function fieldChange(
  path: FieldPath,
  {
    secrets,
    ...versions
  }: {
    before: KubeObject | undefined;
    after: KubeObject | undefined;
    secrets: SecretPaths;
  },
): FieldChange {
  const shown = (version: KubeObject | undefined): unknown =>
    masked(lookUp(version, path), path, secrets);
  const [before, after] = [shown(versions.before), shown(versions.after)];
  return {
    path: formatPath(path),
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    ...(holdsSecret(path, secrets) ? { masked: true as const } : {}),
  };
}

function lookUp(root: unknown, path: FieldPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** True if the path, or a field below it, is secret. */
function holdsSecret(path: FieldPath, secrets: SecretPaths): boolean {
  return secrets.some((secret) =>
    path.every((step, i) => {
      const own = secret[i];
      return own === undefined || own === '*' || own === String(step);
    }),
  );
}
