/**
 * POST of `…/<name>/rollback`: a commit that restores an earlier version of an object. It passes the
 * admission of every write. It needs the right to read the restored version, and `update` if the object
 * exists or `create` if not.
 */
import {
  badRequest,
  cloneJson,
  conflict,
  isRecord,
  type KubeObject,
  StatusError,
} from '../../apimachinery/index.ts';
import { checkRevision, type PastObject } from '../../history/index.ts';
import type { WriteOptions, WriteResult } from '../../registry/index.ts';
import type { StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { authorizeRequest } from '../filters/access.ts';
import { bodyFormatOf, decodeBody } from '../input/body.ts';
import type { Answer } from '../output/answer.ts';
import { header, type ResourceRequest } from '../request.ts';
import { pastObject } from './past.ts';
import { answerForm, objectAnswer, targetOf, timed, writeOptions } from './shared.ts';

interface Wish {
  readonly revision: string;
  readonly reason: string | undefined;
  /** Precondition on the present version; absent: none. */
  readonly resourceVersion: string | undefined;
}

export async function handleRollback(
  deps: ServerDependencies,
  request: ResourceRequest,
): Promise<Answer> {
  answerForm(deps, request, 'object');
  const wish = readWish(request);
  const { kind, info, user } = request;
  const { namespace, name } = info;
  const living = deps.store.get({ group: kind.group, kind: kind.kind, namespace, name });
  const verb = living === undefined ? 'create' : 'update';
  const resource = { group: kind.group, resource: kind.plural, namespace };
  authorizeRequest(deps, user, { verb, ...resource, name: living === undefined ? '' : name });
  const { found, point } = await pastObject(deps, request, { revision: wish.revision });
  const asked = writeOptions(deps, request, 'update');
  const options = {
    ...asked,
    reason: wish.reason ?? asked.reason,
    rollbackTo: point.revision,
  };
  const rollback = { found, living, wish, options };
  const result = await timed(deps, bringBack(deps, request, rollback));
  return objectAnswer(deps, request, result, living === undefined ? 201 : 200);
}

async function bringBack(
  deps: ServerDependencies,
  request: ResourceRequest,
  of: { found: PastObject; living: StoredObject | undefined; wish: Wish; options: WriteOptions },
): Promise<WriteResult> {
  const { found, living, wish, options } = of;
  const { kind, info } = request;
  const { manifest, place } = found.source;
  const { blob, partial, encrypted } = found.source.source;
  if (partial === true) {
    throw conflict(kind, info.name, 'its secrets are sealed there with a key that is not here');
  }
  if (living !== undefined) {
    // The rights were checked on this object and not on a later one with its name.
    const { uid } = living.object.metadata;
    const change = (current: KubeObject): KubeObject =>
      aimed(manifest, { uid, resourceVersion: wish.resourceVersion }, current);
    const target = targetOf(request);
    return await deps.registry.update({
      verb: 'rollback',
      ...target,
      change,
      encrypted,
      duplicates: [],
      options,
    });
  }
  if (wish.resourceVersion !== undefined) {
    throw conflict(kind, info.name, 'it does not exist any more, so it has no resourceVersion');
  }
  const { namespace } = info;
  const create = (path: string | undefined): Promise<WriteResult> => {
    const body = cloneJson(manifest);
    const former = { path: place.path, blob };
    return deps.registry.create({ kind, namespace, body, duplicates: [], options, path, former });
  };
  if (!deps.history.isRead(place.path)) return await create(undefined);
  return await create(place.path).catch((error: unknown) => {
    if (!(error instanceof StatusError) || error.reason !== 'Conflict') throw error;
    // Another file is at its path by now.
    return create(undefined);
  });
}

function aimed(
  manifest: KubeObject,
  at: { uid: string | undefined; resourceVersion: string | undefined },
  current: KubeObject,
): KubeObject {
  const resourceVersion = at.resourceVersion ?? current.metadata.resourceVersion ?? '';
  const uid = at.uid ?? '';
  const body = cloneJson(manifest);
  return { ...body, metadata: { ...body.metadata, uid, resourceVersion } };
}

const FIELDS = ['revision', 'reason', 'resourceVersion', 'kind', 'apiVersion'];

/** Throws 400. */
function readWish(request: ResourceRequest): Wish {
  const format = bodyFormatOf(header(request, 'content-type'));
  const { value } = decodeBody(request.body, format);
  if (!isRecord(value)) throw badRequest('expected {"revision": "<commit id>"}');
  const unknown = Object.keys(value).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) {
    throw badRequest(`unknown field ${JSON.stringify(unknown)}; known are ${FIELDS.join(', ')}`);
  }
  const revision = textOf(value, 'revision');
  if (revision === undefined) throw badRequest('"revision" must name a commit');
  return {
    revision: checkRevision(revision),
    reason: textOf(value, 'reason'),
    resourceVersion: textOf(value, 'resourceVersion'),
  };
}

function textOf(value: Record<string, unknown>, field: string): string | undefined {
  const text = value[field];
  if (text === undefined || typeof text === 'string') return text;
  throw badRequest(`${JSON.stringify(field)} must be a text`);
}
