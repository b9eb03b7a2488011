/** PUT: replaces an object. It creates objects only of kinds with `createdByUpdate`. */

import { isRecord } from '../../apimachinery/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { KIND_MESSAGES } from '../input/kind-messages.ts';
import { decodeTypedBody } from '../input/typed-body.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import {
  answerForm,
  createdAnswer,
  objectAnswer,
  requireCreate,
  timed,
  writeOptions,
  writeTarget,
} from './shared.ts';

export async function handleUpdate(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const options = writeOptions(deps, request, 'update');
  const type = header(request, 'content-type');
  const message = KIND_MESSAGES.get(request.kind);
  const { value, duplicates } = decodeTypedBody(request.body, type, message);
  const change = (): unknown => value;
  const make = (): unknown => {
    requireCreate(deps, request);
    return withoutVersion(value);
  };
  const create = request.kind.createdByUpdate ? make : undefined;
  const target = { ...writeTarget(deps, request), change, create };
  const result = await timed(
    deps,
    deps.registry.update({ verb: 'update', ...target, duplicates, options }),
  );
  return result.created === true
    ? createdAnswer(deps, request, result)
    : objectAnswer(deps, request, result, 200);
}

/** The resourceVersion is that of a deleted object. */
function withoutVersion(body: unknown): unknown {
  if (!isRecord(body) || !isRecord(body['metadata'])) return body;
  const { resourceVersion: _gone, ...metadata } = body['metadata'];
  return { ...body, metadata };
}
