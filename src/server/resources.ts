/** Requests for objects: finds the kind and hands over to the handler of the verb. */
import { methodNotAllowed, noSuchRoute } from '../apimachinery/status-error.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Answer } from './answer.ts';
import { answerEvents } from './core-events.ts';
import type { ServerDependencies } from './dependencies.ts';
import { handleCreate } from './handlers/create.ts';
import { handleDelete } from './handlers/delete.ts';
import { handleDeleteCollection } from './handlers/delete-collection.ts';
import { handleGet } from './handlers/get.ts';
import { handleList } from './handlers/list.ts';
import { handlePatch } from './handlers/patch.ts';
import { handleUpdate } from './handlers/update.ts';
import { handleWatch } from './handlers/watch.ts';
import type { ApiRequest, ResourceRequest } from './request.ts';
import type { ResourceInfo } from './request-info.ts';

/** Undefined: the handler answers for itself, over time. */
type Handler = (deps: ServerDependencies, request: ResourceRequest) => Promise<Answer | undefined>;

const HANDLERS: Readonly<Record<string, Handler>> = {
  get: handleGet,
  list: handleList,
  watch: handleWatch,
  create: handleCreate,
  update: handleUpdate,
  patch: handlePatch,
  delete: handleDelete,
  deletecollection: handleDeleteCollection,
};

/** Verbs that need the namespace of a namespaced kind in the path. */
const IN_ONE_NAMESPACE = ['get', 'create', 'update', 'patch', 'delete', 'deletecollection'];

/** Throws 404 and 405. Access was decided before. */
export async function answerResource(
  deps: ServerDependencies,
  request: ApiRequest & { info: ResourceInfo },
): Promise<Answer | undefined> {
  const { info, user } = request;
  const events = answerEvents(info, deps.store.resourceVersion);
  if (events !== undefined) return events;
  const kind = findKind(deps, info);
  const handler = HANDLERS[info.verb];
  if (handler === undefined || !(kind.verbs as readonly string[]).includes(info.verb)) {
    throw methodNotAllowed(info.verb === '' ? 'this method' : info.verb, kind);
  }
  if (user === undefined) throw noSuchRoute();
  return await handler(deps, { ...request, user, kind });
}

function findKind(deps: ServerDependencies, info: ResourceInfo): Kind {
  const kind = deps.kinds.byPlural(info.group, info.resource);
  if (kind === undefined || kind.version !== info.version) throw noSuchRoute();
  if (info.subresource !== '') throw noSuchRoute();
  const namespaced = kind.scope === 'Namespaced';
  if (!namespaced && info.namespace !== '') throw noSuchRoute();
  const wholeCollection = info.name === '' && !IN_ONE_NAMESPACE.includes(info.verb);
  if (namespaced && info.namespace === '' && !wholeCollection) throw noSuchRoute();
  return kind;
}
