/** PATCH: JSON Patch and JSON Merge Patch, applied to the newest version in the write's turn. */
import type { JsonObject, KubeObject } from '../../apimachinery/object.ts';
import type { Answer } from '../answer.ts';
import { decodeBody } from '../body.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { applyJsonPatch, applyMergePatch, type PatchSupport, patchTypeOf } from '../patch.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, objectAnswer, targetOf, timed, writeOptions } from './shared.ts';

export const PATCH_SUPPORT: PatchSupport = { serverSideApply: false };

export async function handlePatch(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const type = patchTypeOf(header(request, 'content-type'), PATCH_SUPPORT);
  const options = writeOptions(request, type);
  const { value: patch, duplicates } = decodeBody(request.body, 'json');
  const apply = type === 'json' ? applyJsonPatch : applyMergePatch;
  const change = (current: KubeObject): unknown => apply(current as unknown as JsonObject, patch);
  const result = await timed(
    deps,
    deps.registry.update({ verb: 'patch', ...targetOf(request), change, duplicates, options }),
  );
  return objectAnswer(deps, request, result, 200);
}
