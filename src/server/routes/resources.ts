/**
 * Routes for objects: one per shape of a path, with the plural as a parameter. A handler runs only if
 * the OpenAPI document has an operation of that shape for the kind, verb and subresource in the
 * request info, which authorization judged.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import {
  forbiddenError,
  methodNotAllowed,
  noSuchRoute,
  notFound,
  type StatusError,
} from '../../apimachinery/index.ts';
import { CLUSTER_KINDS, type Kind, type KindTable, REVIEWS, tableOf } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { type Operation, operationsOf } from '../documents/openapi-operations.ts';
import { subresourcesOf } from '../documents/openapi-tenants.ts';
import type { Admitted } from '../exchange.ts';
import { handleReview } from '../handlers/access-reviews.ts';
import { handleBlame } from '../handlers/blame.ts';
import { handleCreate } from '../handlers/create.ts';
import { handleDelete } from '../handlers/delete.ts';
import { handleDeleteCollection } from '../handlers/delete-collection.ts';
import { handleGet } from '../handlers/get.ts';
import { handleHistory } from '../handlers/history.ts';
import { handleList } from '../handlers/list.ts';
import { handlePatch } from '../handlers/patch.ts';
import { handlePatchesPreview } from '../handlers/patches-preview.ts';
import { previewsOf } from '../handlers/preview.ts';
import { handleRollback } from '../handlers/rollback.ts';
import { handleSource } from '../handlers/source.ts';
import { handleTenantSync } from '../handlers/tenant-sync.ts';
import { handleUpdate } from '../handlers/update.ts';
import { handleWatch } from '../handlers/watch.ts';
import { refusePast } from '../input/past.ts';
import type { ResourceInfo } from '../input/request-info.ts';
import type { Answer } from '../output/answer.ts';
import { UserSlots } from '../overview/user-slots.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';

type Answered = Answer | Promise<Answer | undefined>;

/** Undefined: the handler answers for itself, over time. */
type Handler = (deps: ServerDependencies, request: ResourceRequest) => Answered;

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

/** By name. */
const SUBRESOURCES: Readonly<Record<string, Handler>> = {
  status: handleGet,
  history: handleHistory,
  blame: handleBlame,
  source: handleSource,
  rollback: handleRollback,
  sync: handleTenantSync,
  'patches:preview': handlePatchesPreview,
};

/** Subresources that `atTime` and `atRevision` apply to; the object itself first. */
const READS_OF_THE_PAST = ['', 'source'];

/** Writes wait for a dry run that tries its file on the catalog. */
const MOST_PREVIEWS = 8;
const MOST_PREVIEWS_OF_ONE = 4;

/** Kinds of an API root that share their dependencies. */
export interface KindSource {
  readonly table: Pick<KindTable, 'kinds' | 'byPlural'>;
  /** Dependencies of the handlers; `deps` are those of the API root. */
  open(deps: ServerDependencies): ServerDependencies | Promise<ServerDependencies>;
}

/** A resource belongs to the first source that has its plural. */
export function platformKinds(deps: ServerDependencies): readonly KindSource[] {
  const { clientState, core, kinds } = deps;
  const withCore = { ...deps, ...core };
  return [
    {
      table: clientState.kinds,
      open: async () => ({ ...deps, kinds: clientState.kinds, ...(await clientState.open()) }),
    },
    { table: core.kinds, open: () => withCore },
    { table: tableOf(REVIEWS), open: () => deps },
    { table: kinds, open: () => deps },
  ];
}

export const CLUSTER_OBJECTS: readonly KindSource[] = [
  { table: tableOf(CLUSTER_KINDS), open: (deps) => deps },
];

export type Work = (admitted: Admitted, request: ApiRequest) => Answered;

/** Answers a request that passed the filters with what `work` returns. */
export type Serve = (
  request: FastifyRequest,
  reply: FastifyReply,
  work: Work,
) => void | Promise<void>;

const CLUSTER_PATH = '/:door(^(?:virtualcluster|cluster)$)/:cluster';

/** Path behind a group version. */
interface PathShape {
  readonly path: string;
  /** Each costs the start 0.1 ms of processor time. */
  readonly methods: readonly HTTPMethods[];
  readonly inNamespace: boolean;
  /** True if the path has the name of one object. */
  readonly one: boolean;
}

const COLLECTION = ['GET', 'HEAD', 'POST', 'DELETE'] as const;
const OBJECT = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const;
const SUBRESOURCE = ['GET', 'HEAD', 'POST', 'PUT'] as const;
const READ = ['GET', 'HEAD'] as const;

const SHAPES: readonly PathShape[] = ['', '/namespaces/:namespace'].flatMap((scope) => {
  const inNamespace = scope !== '';
  const path = `${scope}/:plural`;
  return [
    { path, methods: COLLECTION, inNamespace, one: false },
    { path: `${path}/:name`, methods: OBJECT, inNamespace, one: true },
    { path: `${path}/:name/:subresource`, methods: SUBRESOURCE, inNamespace, one: true },
  ];
});
/** The router would take the last segment for a plural in the namespace. */
const STATUS_OF_NAMESPACE: PathShape = {
  path: '/namespaces/:name/status',
  methods: READ,
  inNamespace: false,
  one: true,
};

/** Registers the platform below its root, and the clusters below theirs. */
export function registerObjects(
  app: FastifyInstance,
  deps: ServerDependencies,
  serve: Serve,
): void {
  registerRoot(app, deps.root, { sources: platformKinds(deps), serve });
  const clusters = `${deps.clusters.prefix}${CLUSTER_PATH}`;
  registerRoot(app, clusters, { sources: CLUSTER_OBJECTS, serve });
}

function registerRoot(
  app: FastifyInstance,
  root: string,
  { sources, serve }: { readonly sources: readonly KindSource[]; readonly serve: Serve },
): void {
  const watch = watchWork(sources);
  const previews = new UserSlots(MOST_PREVIEWS, MOST_PREVIEWS_OF_ONE);
  const route = (method: readonly HTTPMethods[], url: string, work: Work): void => {
    app.route({
      method: [...method],
      url,
      handler: (request, reply) => serve(request, reply, work),
    });
  };
  for (const base of groupVersions(sources).map((path) => `${root}${path}`)) {
    for (const shape of [...SHAPES, STATUS_OF_NAMESPACE])
      route(shape.methods, `${base}${shape.path}`, workOf(sources, { shape, previews }));
    route(READ, `${base}/watch/*`, watch);
  }
}

/** Paths of the core group and of the others, where `sources` has kinds in them. */
function groupVersions(sources: readonly KindSource[]): string[] {
  const groups = sources.flatMap(({ table }) => table.kinds.map(({ group }) => group));
  const core = groups.includes('') ? ['/api/:version'] : [];
  return groups.some((group) => group !== '') ? [...core, '/apis/:group/:version'] : core;
}

function workOf(
  sources: readonly KindSource[],
  { shape, previews }: { readonly shape: PathShape; readonly previews: UserSlots },
): Work {
  return ({ root }, request) => {
    const { info } = request;
    if (!info.isResource) return root.other(request);
    const { group, version, resource, verb, subresource } = info;
    const source = sources.find(({ table }) => table.byPlural(group, resource) !== undefined);
    const kind = source?.table.byPlural(group, resource);
    const handler = subresource === '' ? HANDLERS[verb] : SUBRESOURCES[subresource];
    if (source === undefined || kind?.version !== version || handler === undefined)
      return root.other(request);
    if (!operationKeys(kind).has(operationKey(shape, info))) return root.other(request);
    return answer(source, root.deps, { request, info, kind, handler: limited(handler, previews) });
  };
}

/** Bounds the dry runs with `show`, and the previews of patches. */
function limited(handler: Handler, previews: UserSlots): Handler {
  return (deps, request) => {
    if (handler === handlePatchesPreview) {
      const run = async () => await handler(deps, request);
      return previews.run(request.user.name, 'previews of patches run', run);
    }
    const isWrite = !READ_VERBS.includes(request.info.verb);
    if (!isWrite || previewsOf(request).length === 0) return handler(deps, request);
    const { name } = request.user;
    return previews.run(name, 'dry runs with "show" run', async () => await handler(deps, request));
  };
}

const READ_VERBS = ['get', 'list', 'watch'];

const keysOfKinds = new WeakMap<Kind, ReadonlySet<string>>();

/** Keys of the operations in the OpenAPI document of a kind. Computed at its first request. */
function operationKeys(kind: Kind): ReadonlySet<string> {
  const known = keysOfKinds.get(kind);
  if (known !== undefined) return known;
  const keys = new Set(operationsOf(kind).flatMap((operation) => keysOf(kind, operation)));
  keysOfKinds.set(kind, keys);
  return keys;
}

/** A GET of a collection is a list or a watch: its query decides. */
function keysOf(kind: Kind, { path, verb, subresource }: Operation): string[] {
  const verbs = verb === 'list' && isVerbOf(kind, 'watch') ? [verb, 'watch'] : [verb];
  const shape = { inNamespace: path.includes('/{namespace}/'), one: path.includes('/{name}') };
  return verbs.map((one) => operationKey(shape, { verb: one, subresource }));
}

function operationKey(
  { inNamespace, one }: Pick<PathShape, 'inNamespace' | 'one'>,
  { verb, subresource }: Pick<ResourceInfo, 'verb' | 'subresource'>,
): string {
  return `${inNamespace ? 'namespace' : 'root'} ${one ? 'object' : 'collection'} ${verb} ${subresource}`;
}

/** Answers the deprecated paths of watches: `/watch` behind the version. */
function watchWork(sources: readonly KindSource[]): Work {
  return ({ root }, request) => {
    const { info } = request;
    const found = info.isResource ? findKind(sources, info) : undefined;
    const isWatch = info.isResource && info.verb === 'watch' && info.subresource === '';
    if (!isWatch || found === undefined || !isVerbOf(found.kind, 'watch'))
      return root.other(request);
    return answer(found.source, root.deps, {
      request,
      info,
      kind: found.kind,
      handler: handleWatch,
    });
  };
}

function isVerbOf({ verbs }: Kind, verb: string): boolean {
  return verbs.some((one) => one === verb);
}

interface Routed {
  readonly request: ApiRequest;
  readonly info: ResourceInfo;
  readonly kind: Kind;
  readonly handler: Handler;
}

/** Access was decided before. */
function answer(source: KindSource, deps: ServerDependencies, routed: Routed): Answered {
  const opened = source.open(deps);
  return opened instanceof Promise
    ? opened.then((own) => handle(own, routed))
    : handle(opened, routed);
}

function handle(deps: ServerDependencies, { request, info, kind, handler }: Routed): Answered {
  const { user } = request;
  if (user === undefined) throw noSuchRoute();
  if (isReview(kind)) return handleReview(deps, resourceRequest(request, { info, user, kind }));
  const hasPast = PAST_READS.includes(info.verb) && kind.storedIn !== 'cluster';
  if (!hasPast || !READS_OF_THE_PAST.includes(info.subresource)) refusePast(info.query, info.verb);
  refuseLocked(deps, kind, info.verb);
  return handler(deps, resourceRequest(request, { info: withoutOwnNamespace(info), user, kind }));
}

function isReview(kind: Kind): boolean {
  return REVIEWS.includes(kind);
}

/** Copies field by field: spreading costs more than the rest of a read. */
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

/** Returns the error for a request for objects that has no route: 404 or 405. */
export function refusalOf(sources: readonly KindSource[], info: ResourceInfo): StatusError {
  const kind = findKind(sources, info)?.kind;
  if (kind === undefined) return noSuchRoute();
  const { verb, name, subresource } = info;
  if (subresource === '') {
    const methods = methodsOf(kind, name !== '');
    // The path only looks like one of the kind: /namespaces/a/namespaces/b.
    if (methods.includes(METHOD_OF_VERB[verb] ?? '')) return noSuchRoute();
    return methodNotAllowed(verb === '' ? 'this method' : verb, kind, methods);
  }
  const found = subresourcesOf(kind).find((one) => one.name === subresource);
  if (found === undefined) return notFound(kind, name);
  if (found.verb === verb) return noSuchRoute();
  const plural = subresource === 'status' ? kind.plural : `${kind.plural}/${subresource}`;
  return methodNotAllowed(verb, { ...kind, plural }, [METHOD_OF_VERB[found.verb] ?? '']);
}

/** Verbs that need the namespace of a namespaced kind in the path. */
const IN_ONE_NAMESPACE = ['get', 'create', 'update', 'patch', 'delete', 'deletecollection'];

/** The kind that a path leads to, whatever the method; undefined: the path does not exist. */
export function findKind(
  sources: readonly KindSource[],
  asked: ResourceInfo,
): { readonly source: KindSource; readonly kind: Kind } | undefined {
  const { group, resource, version, namespace, name, verb } = withoutOwnNamespace(asked);
  for (const source of sources) {
    const kind = source.table.byPlural(group, resource);
    if (kind === undefined) continue;
    const isNamespaced = kind.scope === 'Namespaced';
    const isWhole = name === '' && !isReview(kind) && !IN_ONE_NAMESPACE.includes(verb);
    const fits = isNamespaced ? namespace !== '' || isWhole : namespace === '';
    const exists = fits && (!isReview(kind) || `${name}${asked.subresource}` === '');
    return kind.version === version && exists ? { source, kind } : undefined;
  }
  return undefined;
}

const METHOD_OF_VERB: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};

/** The methods of an object, or of a collection. */
function methodsOf(kind: Kind, hasName: boolean): string[] {
  const verbs = hasName
    ? ['get', 'update', 'patch', 'delete']
    : ['list', 'create', 'deletecollection'];
  return verbs.filter((verb) => isVerbOf(kind, verb)).flatMap((verb) => METHOD_OF_VERB[verb] ?? []);
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
