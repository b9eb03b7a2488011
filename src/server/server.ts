/**
 * The HTTP server: order of the filters, and nothing about objects. `buildServer` never listens.
 *
 * The order is that of the Kubernetes API server: request id, what is asked for, authentication,
 * authorization, and only then the body and what exists.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { User } from '../apimachinery/request.ts';
import { noSuchRoute } from '../apimachinery/status-error.ts';
import {
  attributesOf,
  authenticateRequest,
  authorizeRequest,
  isPublic,
  refuseImpersonation,
} from './access.ts';
import type { ClusterSurface, ServerDependencies } from './dependencies.ts';
import { buildClusterDocuments, buildDocuments, type Documents } from './documents/documents.ts';
import { toStatusError } from './errors.ts';
import { registerGit } from './git.ts';
import { limitBody, limitConnections, secureHeaders, tlsOptions } from './hardening.ts';
import { registerHooks } from './hooks.ts';
import { DEFAULT_MAX_BODY_BYTES } from './input/body.ts';
import { parseRequest, type RequestInfo } from './input/request-info.ts';
import { type Answer, jsonAnswer, textAnswer, warningHeaders } from './output/answer.ts';
import type { ApiRequest } from './request.ts';
import { answerObjects, answerResource } from './resources.ts';
import { closingSignal } from './shutdown.ts';

/** What the filters found out about a request before its body was read. */
interface Admitted {
  readonly id: string;
  readonly started: number;
  readonly info: RequestInfo;
  readonly user: User | undefined;
  /** Of the platform, or of the cluster that is asked. */
  readonly deps: ServerDependencies;
  readonly isCluster: boolean;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export interface ServerOptions {
  /** Absent: plain HTTP. */
  readonly tls?: SecureContextOptions;
}

export function buildServer(deps: ServerDependencies, options: ServerOptions): FastifyInstance {
  const common = {
    logger: false,
    bodyLimit: DEFAULT_MAX_BODY_BYTES,
    keepAliveTimeout: 75_000,
    // Plain HTTP is for an ingress, which says where requests come from; nobody else is believed.
    trustProxy: (_address: string, hop: number) => options.tls === undefined && hop === 0,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
  } as const;
  const app = (options.tls === undefined
    ? fastify(common)
    : fastify({ ...common, https: tlsOptions(options.tls) })) as unknown as FastifyInstance;
  const documents = buildDocuments(deps);
  const clusters = clusterDependencies(deps);
  const clusterDocuments = new WeakMap<ServerDependencies, Documents>();
  const documentsOf = (of: ServerDependencies): Documents => {
    const known = clusterDocuments.get(of) ?? buildClusterDocuments(of);
    clusterDocuments.set(of, known);
    return known;
  };
  const admitted = new WeakMap<IncomingMessage, Admitted>();
  const closing = closingSignal(app);
  limitConnections(app.server);

  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.removeContentTypeParser(['application/json', 'text/plain']);
  registerGit(app, deps);

  app.addHook('onRequest', async (request, reply) => {
    void reply.header('audit-id', request.id);
    secureHeaders(reply.raw);
    if (hasOwnAccess(request)) return;
    limitBody(request.raw);
    const cluster = clusters(request.url);
    const isCluster = cluster !== undefined;
    admitted.set(request.raw, { ...admit(cluster ?? deps, request, isCluster), isCluster });
  });
  registerHooks(app, deps);
  app.route({
    method: [...METHODS],
    url: '*',
    handler: async (request, reply) => {
      const found = admitted.get(request.raw);
      if (found === undefined) throw noSuchRoute();
      const asked = apiRequest(request, reply, { found, closing });
      const answer = found.isCluster
        ? await answerCluster(found.deps, documentsOf(found.deps), asked)
        : await answerRequest(deps, documents, asked);
      if (answer === undefined) return;
      send(reply, answer);
      measure(found, answer.code);
      return reply;
    },
  });
  app.setErrorHandler((error, request, reply) => {
    const found = admitted.get(request.raw);
    const answer = errorAnswer(found?.deps ?? deps, error, request);
    send(reply, answer);
    if (found !== undefined) measure(found, answer.code);
    return reply;
  });
  return app;
}

/** Routes that speak another protocol decide about access in its words. */
function hasOwnAccess(request: FastifyRequest): boolean {
  const config = request.routeOptions.config as { readonly ownAccess?: boolean } | undefined;
  return config?.ownAccess === true;
}

/** The dependencies of the cluster that a URL leads to, made once a cluster. */
function clusterDependencies(
  deps: ServerDependencies,
): (url: string) => ServerDependencies | undefined {
  const made = new WeakMap<ClusterSurface, ServerDependencies>();
  return (url) => {
    const surface = deps.clusters.find(url);
    if (surface === undefined) return undefined;
    const known = made.get(surface) ?? { ...deps, ...surface };
    made.set(surface, known);
    return known;
  };
}

/** Which clusters there are is not for strangers, so nothing of a cluster is public. */
function admit(
  deps: ServerDependencies,
  request: FastifyRequest,
  isCluster: boolean,
): Omit<Admitted, 'isCluster'> {
  const { method, url } = request;
  const info = parseRequest({ method, url, root: deps.root });
  if (info === undefined) throw noSuchRoute();
  const found = { id: request.id, started: performance.now(), info, deps };
  if (!isCluster && isPublic(info, deps)) return { ...found, user: undefined };
  const user = authenticateRequest(deps, request, 'bearer');
  refuseImpersonation(request.headers, user);
  authorizeRequest(deps, user, attributesOf(info, deps.kinds));
  return { ...found, user };
}

function apiRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { found, closing }: { found: Admitted; closing: AbortSignal },
): ApiRequest {
  return {
    id: found.id,
    info: found.info,
    user: found.user,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    closing,
    raw: { request: request.raw, response: reply.raw as ServerResponse },
    hijack: () => {
      void reply.hijack();
      return Object.entries(reply.getHeaders());
    },
  };
}

async function answerRequest(
  deps: ServerDependencies,
  documents: Documents,
  request: ApiRequest,
): Promise<Answer | undefined> {
  const { info } = request;
  return info.isResource
    ? await answerResource(deps, { ...request, info })
    : await documents(request);
}

async function answerCluster(
  deps: ServerDependencies,
  documents: Documents,
  request: ApiRequest,
): Promise<Answer | undefined> {
  const { info } = request;
  return info.isResource
    ? await answerObjects(deps, { ...request, info })
    : await documents(request);
}

function send(reply: FastifyReply, answer: Answer): void {
  const warnings = warningHeaders(answer.warnings ?? []);
  if (warnings.length > 0) void reply.header('warning', warnings);
  void reply
    .code(answer.code)
    .header('content-type', answer.contentType)
    .header('cache-control', 'no-cache, private')
    .headers(answer.headers ?? {})
    .send(answer.body);
}

function errorAnswer(deps: ServerDependencies, error: unknown, request: FastifyRequest): Answer {
  const { status, unexpected } = toStatusError(error);
  if (unexpected) {
    const { method, url, id } = request;
    deps.logger.error(
      { err: error, method, path: url.split('?')[0], requestId: id },
      'Request failed',
    );
  }
  const retry = status.details?.retryAfterSeconds;
  const headers = {
    ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
    ...(status.code === 401 ? { 'www-authenticate': 'Bearer realm="gitplane"' } : {}),
  };
  const known = request.url.startsWith(deps.root) || status.code !== 404;
  const answer = known
    ? jsonAnswer(status.toStatus(), status.code)
    : textAnswer('404 page not found\n', 404);
  return { ...answer, headers };
}

function measure({ deps, info, started }: Admitted, code: number): void {
  // Paths are not labels: anybody could make as many as they like.
  const known = info.isResource && deps.kinds.byPlural(info.group, info.resource) !== undefined;
  const resource = info.isResource && known ? info.resource : 'other';
  const labels = { verb: info.verb, resource, code: String(code) };
  deps.metrics.requests.observe(labels, (performance.now() - started) / 1000);
}
