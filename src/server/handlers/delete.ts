/** DELETE of one object. */

import type { ServerDependencies } from '../dependencies.ts';
import type { Answer } from '../output/answer.ts';

import { encodeDocument } from '../output/representation.ts';
import type { ResourceRequest } from '../request.ts';
import { deleteOptions, deletionOptions } from './deletion.ts';
import { previewsOf } from './preview.ts';
import { answerForm, objectAnswer, timed, writeTarget } from './shared.ts';

export async function handleDelete(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const form = answerForm(deps, request, 'object');
  const asked = deleteOptions(request);
  const options = deletionOptions(deps, request, asked);
  const result = await timed(
    deps,
    deps.registry.delete({
      ...writeTarget(deps, request),
      options,
      delete: {
        gracePeriodSeconds: asked.gracePeriodSeconds,
        propagationPolicy: asked.propagationPolicy,
        ...asked.preconditions,
      },
    }),
  );
  // As in Kubernetes: 202 only with `orphanDependents: false`.
  const code = asked.orphanDependents === false ? 202 : 200;
  if (!result.gone || previewsOf(request).length > 0) {
    return await objectAnswer(deps, request, result, code);
  }
  const { kind } = request;
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: request.info.name,
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.plural,
      uid: result.object.metadata.uid,
    },
  };
  const headers = result.commit === undefined ? {} : { 'gitplane-commit': result.commit };
  return { code: 200, headers, ...encodeDocument(status, form) };
}
