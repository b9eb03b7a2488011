/** PUT: replaces an object. It never creates one, as custom resources of Kubernetes never do. */

import type { ServerDependencies } from '../dependencies.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, objectAnswer, targetOf, timed, writeOptions } from './shared.ts';

export async function handleUpdate(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const options = writeOptions(request, 'update');
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value, duplicates } = decodeBody(request.body, format);
  const change = (): unknown => value;
  const result = await timed(
    deps,
    deps.registry.update({ verb: 'update', ...targetOf(request), change, duplicates, options }),
  );
  return objectAnswer(deps, request, result, 200);
}
