/** PATCH of the apply type: server-side apply. */
import { unsupportedMediaType } from '../../apimachinery/index.ts';
import { forbidden } from '../../auth/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { decodeBody } from '../input/body.ts';
import { acceptedPatchTypes } from '../input/patch.ts';
import { queryFlag } from '../input/request-info.ts';
import type { Answer } from '../output/answer.ts';
import type { ResourceRequest } from '../request.ts';
import {
  createdAnswer,
  mayRead,
  objectAnswer,
  requireCreate,
  timed,
  writeOptions,
  writeTarget,
} from './shared.ts';

/** Throws 415 where the store of the objects has no managed fields. */
export async function handleApply(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  const options = writeOptions(request, 'apply');
  const force = queryFlag(request.info.query, 'force') ?? false;
  const { value: body, duplicates } = decodeBody(request.body, 'yaml');
  refuseToCompare(deps, request);
  const beforeCreate = (): void => requireCreate(deps, request);
  const target = writeTarget(deps, request);
  const applied = deps.registry.apply?.({
    ...target,
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
function refuseToCompare(deps: ServerDependencies, request: ResourceRequest): void {
  const { kind, info, user } = request;
  const { namespace, name } = info;
  if (kind.secretPaths.length === 0 || mayRead(deps, request, name)) return;
  const attributes = { verb: 'get', group: kind.group, resource: kind.plural, namespace, name };
  throw forbidden(user, attributes, 'an apply compares what it says with the object');
}
