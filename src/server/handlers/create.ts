/** POST: creates an object. */

import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody, mediaTypeOf } from '../input/body.ts';
import { CLUSTER_MESSAGES } from '../input/cluster-messages.ts';
import { decodeProtobuf, PROTOBUF_TYPE } from '../input/protobuf-input.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, createdAnswer, timed, writeOptions } from './shared.ts';

export async function handleCreate(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  // What the client cannot read must not be written first.
  answerForm(deps, request, 'object');
  const options = writeOptions(request, 'create');
  const { value: body, duplicates } = bodyOf(request);
  const { kind, info } = request;
  const { namespace } = info;
  const result = await timed(
    deps,
    deps.registry.create({ kind, namespace, body, duplicates, options }),
  );
  return createdAnswer(deps, request, result);
}

function bodyOf(request: ResourceRequest): ReturnType<typeof decodeBody> {
  const type = header(request, 'content-type');
  const message = CLUSTER_MESSAGES.get(request.kind);
  if (message !== undefined && mediaTypeOf(type) === PROTOBUF_TYPE) {
    return { value: decodeProtobuf(request.body, message), duplicates: [] };
  }
  return decodeBody(request.body, bodyFormatOf(type));
}
