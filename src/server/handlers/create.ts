/** POST: creates an object. */

import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, objectAnswer, timed, writeOptions } from './shared.ts';

export async function handleCreate(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  // What the client cannot read must not be written first.
  answerForm(deps, request, 'object');
  const options = writeOptions(request, 'create');
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value: body, duplicates } = decodeBody(request.body, format);
  const { kind, info } = request;
  const { namespace } = info;
  const result = await timed(
    deps,
    deps.registry.create({ kind, namespace, body, duplicates, options }),
  );
  return objectAnswer(deps, request, result, 201);
}
