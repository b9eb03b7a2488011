/** PATCH: every type of patch, applied to the newest version when the write runs. */
import {
  isRecord,
  type JsonObject,
  type KubeObject,
  unsupportedMediaType,
} from '../../apimachinery/index.ts';
import { forbidden } from '../../auth/index.ts';
import { encryptedFields } from '../../registry/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { decodeBody } from '../input/body.ts';
import {
  acceptedPatchTypes,
  applyJsonPatch,
  applyMergePatch,
  type PatchSupport,
  type PatchType,
  patchTypeOf,
} from '../input/patch.ts';
import { queryFlag } from '../input/request-info.ts';
import { applyStrategicMergePatch } from '../input/strategic-merge.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import {
  answerForm,
  createdAnswer,
  mayRead,
  objectAnswer,
  requireCreate,
  secretsIn,
  timed,
  writeOptions,
  writeTarget,
} from './shared.ts';

export const PATCH_SUPPORT: PatchSupport = { serverSideApply: true };

type Apply = (object: JsonObject, patch: unknown) => JsonObject;

const APPLY: Readonly<Record<Exclude<PatchType, 'apply'>, Apply>> = {
  json: applyJsonPatch,
  merge: applyMergePatch,
  strategic: applyStrategicMergePatch,
};

export async function handlePatch(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const { strategicMerge } = request.kind;
  const serverSideApply = PATCH_SUPPORT.serverSideApply && deps.registry.apply !== undefined;
  const support = { serverSideApply, strategicMerge };
  const type = patchTypeOf(header(request, 'content-type'), support);
  if (type === 'apply') return await handleApply(deps, request);
  const options = writeOptions(deps, request, type);
  const { value: patch, duplicates } = decodeBody(request.body, 'json');
  const reads = type === 'json' && readsObject(patch);
  const apply = APPLY[type];
  const change = (current: KubeObject): unknown => apply(current, patch);
  const result = await timed(
    deps,
    deps.registry.update({
      verb: 'patch',
      ...writeTarget(deps, request),
      ...(reads && { check: readerOnly(deps, request, READS) }),
      change,
      duplicates,
      options,
    }),
  );
  return objectAnswer(deps, request, result, 200);
}

/** Server-side apply. Throws 415 where the store of the objects has no managed fields. */
async function handleApply(deps: ServerDependencies, request: ResourceRequest): Promise<Answer> {
  const options = writeOptions(deps, request, 'apply');
  const force = queryFlag(request.info.query, 'force') ?? false;
  const { value: body, duplicates } = decodeBody(request.body, 'yaml');
  const beforeCreate = (): void => requireCreate(deps, request);
  const target = writeTarget(deps, request);
  const applied = deps.registry.apply?.({
    ...target,
    check: readerOnly(deps, request, COMPARES),
    body,
    duplicates,
    force,
    options,
    beforeCreate,
  });
  if (applied === undefined) {
    throw unsupportedMediaType(acceptedPatchTypes({ serverSideApply: false }));
  }
  const result = await timed(deps, applied);
  return result.created
    ? createdAnswer(deps, request, result)
    : objectAnswer(deps, request, result, 200);
}

/** A conflict reveals that a value differs: without the right to read, a client could guess a secret. */
const COMPARES = 'an apply compares what it says with the object';
/** Operations compare secret values, or copy them to public fields. */
const READS = 'test, copy and move of a JSON patch read the object';
const READING_OPERATIONS: readonly unknown[] = ['test', 'copy', 'move'];

function readsObject(patch: unknown): boolean {
  if (!Array.isArray(patch)) return false;
  return patch.some((one) => isRecord(one) && READING_OPERATIONS.includes(one['op']));
}

/** Throws 403 if the version that is written has secret values, and the user may not read it. */
function readerOnly(
  deps: ServerDependencies,
  request: ResourceRequest,
  why: string,
): (present: StoredObject) => void {
  const { kind, info, user } = request;
  const { namespace, name } = info;
  return (present) => {
    const secrets = secretsIn(deps, request, name, encryptedFields(present));
    if (secrets.length === 0 || mayRead(deps, request, name)) return;
    const attributes = { verb: 'get', group: kind.group, resource: kind.plural, namespace, name };
    throw forbidden(user, attributes, why);
  };
}
