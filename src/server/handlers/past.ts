/**
 * Objects and lists of the past, for `get` and `list`. Rights are those of the present, on the same
 * names. A right on one name is a right on the object that has it now: rights follow from owners
 * and access rules of objects, so whoever may make an object could read, under its name, what was
 * deleted before. Earlier objects of a name take the right on every name.
 */
import { StatusError } from '../../apimachinery/status-error.ts';
import type { PastPoint } from '../../history/history.ts';
import type { PastObject } from '../../history/past-object.ts';
import type { Past } from '../../history/revision.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { ResourceRequest } from '../request.ts';
import { collectionOf } from './shared.ts';

/** Names the commit that an answer is of. */
export const REVISION_HEADER = 'gitplane-revision';

/** Throws 404, with the same words whether there was nothing or nothing that the reader may see. */
export async function pastObject(
  deps: ServerDependencies,
  request: ResourceRequest,
  past: Past,
): Promise<{ readonly found: PastObject; readonly point: PastPoint }> {
  const { kind, info } = request;
  const { namespace, name } = info;
  const key = { group: kind.group, kind: kind.kind, namespace, name };
  const point = await deps.history.find(past);
  const found = await deps.history.objectAt(kind, key, point);
  const every = readsEveryLife(deps, request);
  if (found !== undefined && (every || isLiving(deps, found))) return { found, point };
  const hint = every ? '' : `; who may get every ${kind.plural} is told of earlier ones`;
  throw new StatusError(
    404,
    'NotFound',
    `${kind.plural}.${kind.group} ${JSON.stringify(name)} not found at commit ${point.revision}${hint}`,
    { name, group: kind.group, kind: kind.plural },
  );
}

export async function pastItems(
  deps: ServerDependencies,
  request: ResourceRequest,
  past: Past,
): Promise<{ readonly items: readonly PastObject[]; readonly point: PastPoint }> {
  const point = await deps.history.find(past);
  const items = await deps.history.listAt(request.kind, collectionOf(request), point);
  if (readsEveryLife(deps, request)) return { items, point };
  return { items: items.filter((item) => isLiving(deps, item)), point };
}

/** Whether the reader has the right on every name and not on some only. */
export function readsEveryLife(deps: ServerDependencies, request: ResourceRequest): boolean {
  const { kind, info, user } = request;
  const { namespace } = info;
  const resource = { group: kind.group, resource: kind.plural, namespace, name: '' };
  const verb = info.verb === 'list' ? 'list' : 'get';
  return deps.authorizer.authorize(user, { verb, ...resource }).allowed;
}

/** Whether the object is the one that has the name now. */
function isLiving({ store }: ServerDependencies, { key, source }: PastObject): boolean {
  return store.get(key)?.object.metadata.uid === source.identity.uid;
}
