/** PATCH: every type of patch, applied to the newest version when the write runs. */
import { isRecord, type JsonObject, type KubeObject } from '../../apimachinery/index.ts';
import { forbidden } from '../../auth/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { decodeBody } from '../input/body.ts';
import {
  applyJsonPatch,
  applyMergePatch,
  type PatchSupport,
  type PatchType,
  patchTypeOf,
} from '../input/patch.ts';
import { applyStrategicMergePatch } from '../input/strategic-merge.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { handleApply } from './apply.ts';
import { answerForm, mayRead, objectAnswer, timed, writeOptions, writeTarget } from './shared.ts';

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
  const options = writeOptions(request, type);
  const { value: patch, duplicates } = decodeBody(request.body, 'json');
  if (type === 'json') refuseToRead(deps, request, patch);
  const apply = APPLY[type];
  const change = (current: KubeObject): unknown => apply(current, patch);
  const result = await timed(
    deps,
    deps.registry.update({
      verb: 'patch',
      ...writeTarget(deps, request),
      change,
      duplicates,
      options,
    }),
  );
  return objectAnswer(deps, request, result, 200);
}

const READING_OPERATIONS: readonly unknown[] = ['test', 'copy', 'move'];

/** Throws 403 for operations that compare secret values or copy them to public fields, without the right to read. */
function refuseToRead(deps: ServerDependencies, request: ResourceRequest, patch: unknown): void {
  const { kind, info, user } = request;
  if (kind.secretPaths.length === 0 || !Array.isArray(patch)) return;
  const reads = patch.some((one) => isRecord(one) && READING_OPERATIONS.includes(one['op']));
  if (!reads || mayRead(deps, request, info.name)) return;
  const { namespace, name } = info;
  const attributes = { verb: 'get', group: kind.group, resource: kind.plural, namespace, name };
  throw forbidden(user, attributes, 'test, copy and move of a JSON patch read the object');
}
