/** PUT: replaces an object. It never creates one, as custom resources of Kubernetes never do. */

import type { ServerDependencies } from '../dependencies.ts';
import { KIND_MESSAGES } from '../input/kind-messages.ts';
import { decodeTypedBody } from '../input/typed-body.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { answerForm, objectAnswer, targetOf, timed, writeOptions } from './shared.ts';

export async function handleUpdate(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const options = writeOptions(request, 'update');
  const type = header(request, 'content-type');
  const message = KIND_MESSAGES.get(request.kind);
  const { value, duplicates } = decodeTypedBody(request.body, type, message);
  const change = (): unknown => value;
  const result = await timed(
    deps,
    deps.registry.update({ verb: 'update', ...targetOf(request), change, duplicates, options }),
  );
  return objectAnswer(deps, request, result, 200);
}
