/** Types of patches, and JSON Patch and merge patch on objects. */
import {
  badRequest,
  isRecord,
  type JsonObject,
  type JsonValue,
  StatusError,
  unprocessablePatch,
  unsupportedMediaType,
} from '../../apimachinery/index.ts';
import { mediaTypeOf } from './body.ts';
import { patchJson } from './json-patch.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const PATCH_TYPES: Readonly<Record<string, PatchType>> = {
  [JSON_PATCH]: 'json',
  [MERGE_PATCH]: 'merge',
  [STRATEGIC_MERGE_PATCH]: 'strategic',
  [APPLY_PATCH]: 'apply',
};

export interface PatchSupport {
  readonly serverSideApply: boolean;
  /** For the kinds that kubectl patches in no other way; see `strategic-merge.ts`. */
  readonly strategicMerge?: boolean;
}

/** The media types of PATCH, as error messages and OpenAPI name them. */
export function acceptedPatchTypes({ serverSideApply, strategicMerge }: PatchSupport): string[] {
  return [
    JSON_PATCH,
    MERGE_PATCH,
    ...(strategicMerge === true ? [STRATEGIC_MERGE_PATCH] : []),
    ...(serverSideApply ? [APPLY_PATCH] : []),
  ];
}

/** Throws 415, for a missing Content-Type too. */
export function patchTypeOf(contentType: string | undefined, support: PatchSupport): PatchType {
  const mediaType = mediaTypeOf(contentType);
  const accepted = acceptedPatchTypes(support);
  const type = PATCH_TYPES[mediaType];
  if (type !== undefined && accepted.includes(mediaType)) return type;
  if (mediaType !== STRATEGIC_MERGE_PATCH) throw unsupportedMediaType(accepted);
  throw new StatusError(
    415,
    'UnsupportedMediaType',
    `strategic merge patches (${mediaType}) are not supported, as for custom resources of Kubernetes; use kubectl patch --type=merge or --type=json - accepted media types include: ${accepted.join(', ')}`,
  );
}

/**
 * A patched copy; `object` stays as it is. `patch` is the decoded body. Throws 400, 413 and 422, as
 * `patchJson` does, and 422 when no object would be left.
 */
export function applyJsonPatch(object: JsonObject, patch: unknown): JsonObject {
  const patched = patchJson(object, patch);
  if (!isRecord(patched)) throw unprocessablePatch('the patch leaves no object');
  return patched;
}

/** A patched copy (RFC 7396); `object` stays as it is. Throws 400 for a patch that is no map. */
export function applyMergePatch(object: JsonObject, patch: unknown): JsonObject {
  if (!isRecord(patch)) throw badRequest('a merge patch must be a map');
  return mergePatch(structuredClone(object), patch as JsonObject) as JsonObject;
}

/** RFC 7396, section 2. Changes `target` and may keep parts of it; shares nothing with `patch`. */
export function mergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isRecord(patch)) return structuredClone(patch);
  const merged: JsonObject = isRecord(target) ? target : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key === '__proto__') throw badRequest('the key "__proto__" is not allowed');
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(Object.hasOwn(merged, key) ? (merged[key] ?? null) : null, value);
  }
  return merged;
}
