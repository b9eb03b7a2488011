/** Requests for objects: finds the kind and hands over to the handler of the verb. */
import {
  forbiddenError,
  methodNotAllowed,
  noSuchRoute,
  notFound,
} from '../../apimachinery/index.ts';
import { hasStatus, type Kind } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { handleReview, reviewOf } from '../handlers/access-reviews.ts';
import { handleCreate } from '../handlers/create.ts';
import { handleDelete } from '../handlers/delete.ts';
import { handleDeleteCollection } from '../handlers/delete-collection.ts';
import { handleGet } from '../handlers/get.ts';
import { handleHistory } from '../handlers/history.ts';
import { handleList } from '../handlers/list.ts';
import { handlePatch } from '../handlers/patch.ts';
import { handlePatchesPreview } from '../handlers/patches-preview.ts';
import { handleRollback } from '../handlers/rollback.ts';
import { handleTenantSync } from '../handlers/tenant-sync.ts';
import { handleUpdate } from '../handlers/update.ts';
import { handleWatch } from '../handlers/watch.ts';
import { refusePast } from '../input/past.ts';
import type { ResourceInfo } from '../input/request-info.ts';
import type { Answer } from '../output/answer.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';

type Handler = (
  deps: ServerDependencies,
  request: ResourceRequest,
) => Answer | Promise<Answer | undefined>;

/** Undefined: the handler answers for itself, over time. */
export type ResourceAnswerer = (
  deps: ServerDependencies,
  request: ApiRequest,
  info: ResourceInfo,
) => Answer | Promise<Answer | undefined>;

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

/** What stands behind the name, and the verb that it answers to. */
const SUBRESOURCES: ReadonlyMap<string, Readonly<Record<string, Handler>>> = new Map<
  string,
  Readonly<Record<string, Handler>>
>([
  ['history', { get: handleHistory }],
  ['rollback', { create: handleRollback }],
]);

const NONE: typeof SUBRESOURCES = new Map();

/** Whether the path of a verb must, or must not, end in a name; the others follow from it. */
const NEEDS_NAME: Readonly<Record<string, boolean>> = { create: false, update: true, patch: true };

/** Verbs that need the namespace of a namespaced kind in the path. */
const IN_ONE_NAMESPACE = ['get', 'create', 'update', 'patch', 'delete', 'deletecollection'];

/** Throws 404 and 405. Access was decided before. */
export function answerResource(
  deps: ServerDependencies,
  request: ApiRequest,
  info: ResourceInfo,
): Answer | Promise<Answer | undefined> {
  const { user } = request;
  if (deps.clientState.kinds.byPlural(info.group, info.resource) !== undefined) {
    return answerClientState(deps, request, info);
  }
  if (deps.core.kinds.groups.includes(info.group)) {
    return answerObjects({ ...deps, ...deps.core }, request, info);
  }
  const review = reviewOf(info);
  if (review !== undefined && user !== undefined) {
    return handleReview(deps, { ...request, info, user, kind: review });
  }
  return answerObjects(deps, request, info);
}

async function answerClientState(
  deps: ServerDependencies,
  request: ApiRequest,
  info: ResourceInfo,
): Promise<Answer | undefined> {
  const { kinds, open } = deps.clientState;
  return await answerObjects({ ...deps, kinds, ...(await open()) }, request, info);
}

/** The same for a cluster that is served here: it has objects and nothing else. */
export function answerObjects(
  deps: ServerDependencies,
  request: ApiRequest,
  asked: ResourceInfo,
): Answer | Promise<Answer | undefined> {
  const { user } = request;
  const info = withoutOwnNamespace(asked);
  const kind = findKind(deps, info);
  const handler = info.subresource === '' ? handlerOf(kind, info) : subresource(kind, info);
  const hasPast = PAST_READS.includes(info.verb) && kind.storedIn !== 'cluster';
  if (!hasPast || info.subresource !== '') refusePast(info.query, info.verb);
  if (user === undefined) throw noSuchRoute();
  refuseLocked(deps, kind, info.verb);
  return handler(deps, resourceRequest(request, { info, user, kind }));
}

/** The kind of which a request wants one object; undefined, or an error: it wants something else. */
export function kindOfGet(deps: ServerDependencies, info: ResourceInfo): Kind | undefined {
  const { group, subresource } = info;
  if (subresource !== '') return undefined;
  if ([deps.core, deps.clientState].some(({ kinds }) => kinds.groups.includes(group)))
    return undefined;
  if (reviewOf(info) !== undefined) return undefined;
  const kind = findKind(deps, info);
  return handlerOf(kind, info) === handleGet ? kind : undefined;
}

/** Field by field: spreading costs more than the rest of a read. */
function resourceRequest(
  request: ApiRequest,
  { info, user, kind }: Pick<ResourceRequest, 'info' | 'user' | 'kind'>,
): ResourceRequest {
  const { id, headers, body, closing, raw, hijack } = request;
  return { id, headers, body, closing, raw, hijack, info, user, kind };
}

/** `/namespaces/x` is the object x, which is in no namespace. */
function withoutOwnNamespace(info: ResourceInfo): ResourceInfo {
  return info.resource === 'namespaces' && info.group === '' ? { ...info, namespace: '' } : info;
}

function handlerOf(kind: Kind, { verb, name }: ResourceInfo): Handler {
  const hasName = name !== '';
  const fits = (NEEDS_NAME[verb] ?? hasName) === hasName;
  const offered = (kind.verbs as readonly string[]).includes(verb);
  const handler = fits && offered ? HANDLERS[verb] : undefined;
  if (handler === undefined) {
    throw methodNotAllowed(verb === '' ? 'this method' : verb, kind, methodsOf(kind, hasName));
  }
  return handler;
}

/** The same for kinds whose files say what to do elsewhere. */
const SUBRESOURCES_OF_FILES: typeof SUBRESOURCES = new Map<
  string,
  Readonly<Record<string, Handler>>
>([
  ['sync', { get: handleTenantSync }],
  ['patches:preview', { create: handlePatchesPreview }],
]);

function subresource(kind: Kind, info: ResourceInfo): Handler {
  const { verb, subresource } = info;
  const name = `${kind.plural}/${subresource}`;
  const offered = { git: SUBRESOURCES, file: SUBRESOURCES_OF_FILES, cluster: NONE, nowhere: NONE };
  const isStatus = subresource === 'status' && kind.storedIn !== 'nowhere' && hasStatus(kind);
  const handlers = isStatus ? STATUS : offered[kind.storedIn].get(subresource);
  if (handlers === undefined) throw notFound(kind, info.name);
  const handler = handlers[verb];
  if (handler === undefined) {
    const methods = Object.keys(handlers).flatMap((offer) => METHOD_OF_VERB[offer] ?? []);
    throw methodNotAllowed(verb, { ...kind, plural: isStatus ? kind.plural : name }, methods);
  }
  return handler;
}

/** Only the server writes it. */
const STATUS: Readonly<Record<string, Handler>> = { get: handleGet };

const METHOD_OF_VERB: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};

/** The methods that an object, or a collection of them, answers to. */
function methodsOf(kind: Kind, hasName: boolean): string[] {
  const verbs = hasName
    ? ['get', 'update', 'patch', 'delete']
    : ['list', 'create', 'deletecollection'];
  return verbs
    .filter((verb) => (kind.verbs as readonly string[]).includes(verb))
    .flatMap((verb) => METHOD_OF_VERB[verb] ?? []);
}

const PAST_READS = ['get', 'list'];
const READS = ['get', 'list', 'watch'];

/** Some kinds can be closed for writes through the API; git stays open, and opens them again. */
function refuseLocked(deps: ServerDependencies, kind: Kind, verb: string): void {
  const { lockedBy } = kind;
  if (lockedBy === undefined || READS.includes(verb)) return;
  const { current, fromFile } = deps.config;
  if (!fromFile && current[lockedBy] !== true) return;
  const why = fromFile
    ? 'the configuration is read from the file of --config; change it there'
    : `${lockedBy} is set; change it in git`;
  throw forbiddenError(`${kind.plural}.${kind.group} is forbidden: ${why}`, kind);
}

function findKind(deps: ServerDependencies, info: ResourceInfo): Kind {
  const kind = deps.kinds.byPlural(info.group, info.resource);
  if (kind === undefined || kind.version !== info.version) throw noSuchRoute();
  const namespaced = kind.scope === 'Namespaced';
  if (!namespaced && info.namespace !== '') throw noSuchRoute();
  const wholeCollection = info.name === '' && !IN_ONE_NAMESPACE.includes(info.verb);
  if (namespaced && info.namespace === '' && !wholeCollection) throw noSuchRoute();
  return kind;
}
