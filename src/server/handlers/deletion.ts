/** Options of a deletion: from the body, else from the query. */
import type { WriteOptions } from '../../registry/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type DeleteOptions, parseDeleteOptions } from '../input/delete-options.ts';
import { DELETE_OPTIONS_MESSAGE } from '../input/kind-messages.ts';
import { decodeTypedBody } from '../input/typed-body.ts';
import { fieldManagerOf } from '../input/write-options.ts';
import { header, type ResourceRequest } from '../request.ts';
import { idempotencyOf } from './idempotency.ts';
import { previewsOf } from './preview.ts';
import { reasonOf, secretsIn } from './shared.ts';

/** Throws 400, 415 and 422. */
export function deleteOptions(request: ResourceRequest): DeleteOptions {
  const { body, info } = request;
  if (body.toString('latin1').trim() === '') return parseDeleteOptions(undefined, info.query);
  const type = header(request, 'content-type');
  const { value } = decodeTypedBody(body, type, DELETE_OPTIONS_MESSAGE);
  return parseDeleteOptions(value, info.query);
}

export function deletionOptions(
  deps: ServerDependencies,
  request: ResourceRequest,
  asked: DeleteOptions,
): WriteOptions {
  const named = { dryRun: false, fieldValidation: 'Strict', force: false } as const;
  const fieldManager = request.info.query.get('fieldManager') ?? '';
  return {
    user: request.user,
    dryRun: asked.dryRun,
    fieldValidation: 'Strict',
    fieldManager: fieldManagerOf({ ...named, fieldManager }, header(request, 'user-agent')),
    requestId: request.id,
    ...idempotencyOf(deps, request, secretsIn(deps, request, request.info.name).length > 0),
    reason: reasonOf(request),
    previews: previewsOf(request),
  };
}
