/**
 * Applies a change of a served object to its manifest. Readers see defaults and server metadata
 * that no manifest holds. Only the caller's changes may reach the file; otherwise a one-line patch
 * would write the default of every field (invariant 3).
 */
import {
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  type KubeObject,
  SERVER_POPULATED_META,
} from '../../apimachinery/index.ts';
import { matchItems } from '../../manifests/index.ts';

/** `manifest` with the difference between `before` and `after` applied to it. */
export function patchManifest(
  manifest: JsonObject,
  before: KubeObject,
  after: KubeObject,
): JsonObject {
  return rebaseMap(manifest, desiredPart(before), desiredPart(after)) as JsonObject;
}

/** The object without server-populated fields: the contents of a new manifest. */
export function desiredPart(object: KubeObject): JsonObject {
  const { status: _status, ...rest } = object;
  const metadata: JsonObject = { ...object.metadata };
  for (const field of SERVER_POPULATED_META) delete metadata[field];
  if (metadata['name'] !== undefined) delete metadata['generateName'];
  return { ...rest, metadata };
}

function rebase(manifest: unknown, before: unknown, after: unknown): unknown {
  if (jsonEqual(before, after)) return manifest;
  if (isRecord(after) && isRecord(before) && (isRecord(manifest) || manifest === undefined)) {
    return rebaseMap(manifest ?? {}, before, after);
  }
  if (Array.isArray(after) && Array.isArray(before) && Array.isArray(manifest)) {
    return rebaseList(manifest, before, after);
  }
  return after;
}

function rebaseMap(
  manifest: Record<string, unknown>,
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...manifest };
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (!Object.hasOwn(after, key)) {
      delete result[key];
      continue;
    }
    const own = Object.hasOwn(manifest, key) ? manifest[key] : undefined;
    const value = rebase(own, old, after[key]);
    if (value === undefined) delete result[key];
    else result[key] = value;
  }
  return result;
}

/** Unchanged items keep their form in the manifest, also at another index. */
function rebaseList(
  manifest: readonly unknown[],
  before: readonly unknown[],
  after: readonly unknown[],
): unknown[] {
  if (manifest.length !== before.length) return [...after];
  const matches = matchItems(before as JsonValue[], after as JsonValue[]);
  const origins = new Map(matches.map(({ from, to }) => [to, from]));
  const matched = new Set(origins.values());
  const isSameLength = before.length === after.length;
  return after.map((item, i) => {
    const from = origins.get(i) ?? (isSameLength && !matched.has(i) ? i : undefined);
    return from === undefined ? item : rebase(manifest[from], before[from], item);
  });
}
