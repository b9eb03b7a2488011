/**
 * The HTTP server: order of the filters, and nothing about objects. `buildServer` never listens.
 *
 * The order is that of the Kubernetes API server: request id, what is asked for, authentication,
 * authorization, and only then the body and what exists.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { User } from '../apimachinery/request.ts';
import { noSuchRoute } from '../apimachinery/status-error.ts';
import {
  attributesOf,
  authenticateRequest,
  authorizeRequest,
  refuseImpersonation,
} from './access.ts';
import type { ServerDependencies } from './dependencies.ts';
import { toStatusError } from './errors.ts';
import { registerGit } from './git.ts';
import { limitBody, limitConnections, secureHeaders, tlsOptions } from './hardening.ts';
import { registerHooks } from './hooks.ts';
import { DEFAULT_MAX_BODY_BYTES } from './input/body.ts';
import type { RequestInfo } from './input/request-info.ts';
import { type Answer, jsonAnswer, textAnswer } from './output/answer.ts';
import { commonHeaders, sendAnswer } from './output/send.ts';
import type { ApiRequest } from './request.ts';
import { closingSignal } from './shutdown.ts';
import { buildSurfaces, METHODS, type Surface } from './surfaces.ts';

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | undefined;
  }
}

/** What the filters found out about a request before its body was read. */
interface Admitted {
  readonly surface: Surface;
  readonly started: number;
  readonly info: RequestInfo;
  readonly user: User | undefined;
}

const NO_BODY = Buffer.alloc(0);

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
  const surfaceOf = buildSurfaces(deps);
  const closing = closingSignal(app);
  limitConnections(app.server);

  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.removeContentTypeParser(['application/json', 'text/plain']);
  registerGit(app, deps);

  app.decorateRequest('admitted', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    if (hasOwnAccess(request)) {
      void reply.header('audit-id', request.id);
      secureHeaders(reply.raw);
      return done();
    }
    limitBody(request.raw);
    try {
      request.admitted = admit(surfaceOf(request.url), request);
    } catch (error) {
      return done(error as Error);
    }
    done();
  });
  registerHooks(app, deps);
  app.route({
    method: [...METHODS],
    url: '*',
    handler: (request, reply) => {
      const { admitted } = request;
      if (admitted === undefined) throw noSuchRoute();
      const finish = (answer: Answer | undefined): void => {
        if (answer === undefined) return;
        sendAnswer(reply, answer, closing);
        measure(admitted, answer.code);
      };
      const answer = admitted.surface.answer(apiRequest(request, reply, { admitted, closing }));
      // What is there already is not waited for.
      return answer instanceof Promise ? answer.then(finish) : finish(answer);
    },
  });
  app.setErrorHandler((error, request, reply) => {
    const { admitted } = request;
    const answer = errorAnswer(admitted?.surface.deps ?? deps, error, request);
    sendAnswer(reply, answer, closing);
    if (admitted !== undefined) measure(admitted, answer.code);
  });
  return app;
}

/** Routes that speak another protocol decide about access in its words. */
function hasOwnAccess(request: FastifyRequest): boolean {
  const config = request.routeOptions.config as { readonly ownAccess?: boolean } | undefined;
  return config?.ownAccess === true;
}

function admit(surface: Surface, request: FastifyRequest): Admitted {
  const { deps } = surface;
  const { method, url } = request;
  const info = surface.read(method, url);
  if (info === undefined) throw noSuchRoute();
  const started = performance.now();
  if (surface.isPublic(info)) return { surface, started, info, user: undefined };
  const user = authenticateRequest(deps, request, 'bearer');
  refuseImpersonation(request.headers, user);
  authorizeRequest(deps, user, attributesOf(info, deps.kinds));
  return { surface, started, info, user };
}

function apiRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { admitted, closing }: { admitted: Admitted; closing: AbortSignal },
): ApiRequest {
  return {
    id: request.id,
    info: admitted.info,
    user: admitted.user,
    headers: request.headers,
    body: Buffer.isBuffer(request.body) ? request.body : NO_BODY,
    closing,
    raw: { request: request.raw, response: reply.raw as ServerResponse },
    hijack: () => {
      void reply.hijack();
      return commonHeaders(request.id);
    },
  };
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

function measure({ surface, info, started }: Admitted, code: number): void {
  const { deps } = surface;
  // Paths are not labels: anybody could make as many as they like.
  const known = info.isResource && deps.kinds.byPlural(info.group, info.resource) !== undefined;
  const resource = known ? info.resource : 'other';
  deps.metrics.requests.observe(
    { verb: info.verb, resource, code },
    (performance.now() - started) / 1000,
  );
}
