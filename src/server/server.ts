/**
 * The HTTP server: order of the filters, and nothing about objects. `buildServer` never listens.
 *
 * The order is that of the Kubernetes API server: request id, what is asked for, authentication,
 * authorization, and only then the body and what exists.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { TlsOptions } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  MethodNotAllowedError,
  noSuchRoute,
  type User,
  unavailable,
  unsupportedMediaType,
} from '../apimachinery/index.ts';
import { type AuditTrail, redactedUrl } from '../audit/index.ts';
import { type ApiRoot, buildApiRoots, METHODS } from './api-roots.ts';
import type { ServerDependencies } from './dependencies.ts';
import { isBrokenOff, toStatusError } from './errors.ts';
import { fastGet } from './fast-get.ts';
import {
  attributesOf,
  authenticateRequest,
  authorizeRequest,
  isApiDocument,
  plainToken,
  refuseImpersonation,
} from './filters/access.ts';
import { type AuditedPart, beginAudit, endAudit } from './filters/audit.ts';
import {
  counted,
  limitBody,
  limitConnections,
  secureHeaders,
  tlsOptions,
} from './filters/hardening.ts';
import { registerHooks } from './filters/hooks.ts';
import { isChunked, refuseWrongTimeout, withinDeadline } from './filters/overload-limits.ts';
import { requestIds } from './filters/request-id.ts';
import { createHttp2Server } from './http2.ts';
import { BODY_TYPES, DEFAULT_MAX_BODY_BYTES } from './input/body.ts';
import { acceptedPatchTypes } from './input/patch.ts';
import type { RequestInfo } from './input/request-info.ts';
import type { LeaderProxy } from './leader-proxy/leader-proxy.ts';
import { type Answer, textAnswer } from './output/answer.ts';
import { compressed } from './output/compression.ts';
import { encodeStatus } from './output/representation.ts';
import { commonHeaders, sendAnswer } from './output/send.ts';
import type { ApiRequest } from './request.ts';
import { registerGit } from './routes/git.ts';
import { registerOidc } from './routes/oidc.ts';
import { closingSignal } from './shutdown.ts';
import { registerSignIn } from './sign-in/routes.ts';
import { acceptUpgrades } from './websocket.ts';

declare module 'fastify' {
  interface FastifyRequest {
    admitted: Admitted | undefined;
    /** The record of the request, where there is one. */
    trail: AuditTrail | undefined;
    noted: AuditedPart | undefined;
  }
}

/** What the filters found out about a request before its body was read. */
interface Admitted {
  readonly surface: ApiRoot;
  readonly started: number;
  readonly info: RequestInfo;
  readonly user: User | undefined;
  /** Of the platform, when the request was authorized. */
  readonly version: number;
}

/** The same, as far as they got. */
interface Noted {
  info: RequestInfo | undefined;
  user: User | undefined;
}

const NO_BODY = Buffer.alloc(0);
const STOPPING_RETRY_SECONDS = 1;

/** Why a front refuses a request, which it has judged before the routes. */
const refused = new WeakMap<IncomingMessage, Error>();

export interface ServerOptions {
  /** Absent: plain HTTP. */
  readonly tls?: TlsOptions;
  /** Decides first what is answered here; absent: everything is. */
  readonly front?: Pick<LeaderProxy, 'handle'>;
}

export function buildServer(deps: ServerDependencies, options: ServerOptions): FastifyInstance {
  const nextId = requestIds();
  const ownOrigin = (): string => new URL(deps.signIn.baseUrl).origin;
  const common = {
    logger: false,
    bodyLimit: DEFAULT_MAX_BODY_BYTES,
    keepAliveTimeout: 75_000,
    // Plain HTTP is for an ingress, which says where requests come from, as replicas do; nobody
    // else is believed.
    trustProxy: (_address: string, hop: number) => options.tls === undefined && hop === 0,
    forceCloseConnections: 'idle',
    // Refused below, with a Status.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    genReqId: nextId,
  } as const;
  const app = fastify({
    ...common,
    serverFactory: (routes) => {
      const handler: Handler = (request, response) => {
        quick(request, response, () => routes(request, response));
      };
      return makeServer(options, { handler, routes, ownOrigin }, () => closing);
    },
  }) as unknown as FastifyInstance;
  const { platform, surfaceOf } = buildApiRoots(deps);
  const closing = closingSignal(app);
  const quick = fastGet({ surface: platform, nextId, closing });
  app.server.keepAliveTimeout = common.keepAliveTimeout;
  limitConnections(app.server);

  readBodies(app, deps);
  registerGit(app, deps);

  app.decorateRequest('admitted', undefined);
  app.decorateRequest('trail', undefined);
  app.decorateRequest('noted', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    if (closing.aborted) {
      void reply.header('connection', 'close');
      return done(unavailable('The daemon is stopping', STOPPING_RETRY_SECONDS));
    }
    if (hasOwnAccess(request)) {
      void reply.header('audit-id', request.id);
      secureHeaders(reply.raw);
      return done();
    }
    const given = refused.get(request.raw);
    // Of those it was read, or never will be.
    if (given === undefined) limitBody(request.raw);
    const surface = surfaceOf(request.url);
    const begin = (): void => done(beginRequest(deps, { surface, request, reply, given }));
    const prepared = surface.prepare?.(request.headers);
    if (prepared === undefined) begin();
    else void prepared.then(begin);
  });
  registerHooks(app, deps);
  registerSignIn(app, deps);
  registerOidc(app, deps);
  app.route({
    method: [...METHODS],
    url: '*',
    handler: (request, reply) => {
      const { admitted } = request;
      if (admitted === undefined) throw noSuchRoute();
      const finish = finisher(request, reply, { admitted, closing });
      const raw = { request: request.raw, response: reply.raw };
      const answer = deps.fairness.run(admitted, raw, () => {
        admitAgain(admitted, deps.store.resourceVersion);
        return admitted.surface.answer(apiRequest(request, reply, { admitted, closing }));
      });
      // What is there already is not waited for.
      if (!(answer instanceof Promise)) return finish(answer);
      return withinDeadline(admitted.info, answer).then(finish);
    },
  });
  app.setErrorHandler((error, request, reply) => {
    const { admitted } = request;
    const { answer, unexpected } = errorAnswer(admitted?.surface.deps ?? deps, error, request);
    sendAnswer(reply, answer, closing);
    record(request, answer, unexpected);
    if (admitted !== undefined) measure(admitted, answer.code);
  });
  return app;
}

/** As bytes; those without an announced length count for fairness as they arrive. */
function readBodies(app: FastifyInstance, { fairness }: ServerDependencies): void {
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addHook('preParsing', (request, reply, payload, done) => {
    const isCounted = request.admitted !== undefined && isChunked(request.headers);
    const count = (bytes: number): void => fairness.arrived(reply.raw, bytes);
    done(null, isCounted ? counted(payload, count) : payload);
  });
}

/** Sends what a handler gave back, and tells of it. Undefined: it answers for itself. */
function finisher(
  request: FastifyRequest,
  reply: FastifyReply,
  { admitted, closing }: { admitted: Admitted; closing: AbortSignal },
): (answer: Answer | undefined) => void | Promise<void> {
  const send = (answer: Answer, form = answer): void => {
    sendAnswer(reply, form, closing);
    record(request, answer, false);
    measure(admitted, answer.code);
  };
  return (answer) => {
    if (answer === undefined) {
      request.trail?.ended({ code: reply.raw.statusCode });
      return undefined;
    }
    const form = compressed(request.raw, answer);
    return form === undefined ? send(answer) : form.then((packed) => send(answer, packed));
  };
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** `routes`: without those that are answered before. */
function makeServer(
  options: ServerOptions,
  parts: { readonly handler: Handler; readonly routes: Handler; readonly ownOrigin: () => string },
  closing: () => AbortSignal,
): Server {
  const { tls, front } = options;
  const { handler, routes, ownOrigin } = parts;
  const listener: Handler = (request, response) => {
    if (front === undefined) {
      handler(request, response);
      return;
    }
    const isBehindProxy = tls === undefined;
    const answer = (): void => handler(request, response);
    const refuse = (error: Error): void => {
      refused.set(request, error);
      routes(request, response);
    };
    front.handle({ request, response, closing: closing(), isBehindProxy, answer, refuse });
  };
  const server =
    tls === undefined ? createServer(listener) : createHttp2Server(tlsOptions(tls), listener);
  acceptUpgrades(server, ownOrigin, listener);
  return server;
}

/** Routes that speak another protocol decide about access in its words. */
function hasOwnAccess(request: FastifyRequest): boolean {
  const config = request.routeOptions.config as { readonly ownAccess?: boolean } | undefined;
  return config?.ownAccess === true;
}

/** Admits a request and begins its record; why it is refused, if it is. */
function beginRequest(
  deps: ServerDependencies,
  of: { surface: ApiRoot; request: FastifyRequest; reply: FastifyReply; given: Error | undefined },
): Error | undefined {
  const { surface, request, reply, given } = of;
  const noted: Noted = { info: undefined, user: undefined };
  let refusal = given;
  try {
    request.admitted = { version: deps.store.resourceVersion, ...admit(surface, request, noted) };
    if (given === undefined) deps.fairness.admit(request.admitted, request.raw, reply.raw);
  } catch (error) {
    refusal ??= error as Error;
  }
  const { info, user } = noted;
  if (deps.audit.isOn && info !== undefined) {
    request.trail = beginAudit(surface.deps, { request, info, user });
    request.noted = { deps: surface.deps, info };
  }
  return refusal;
}

function admit(surface: ApiRoot, request: FastifyRequest, noted: Noted): Omit<Admitted, 'version'> {
  const { deps } = surface;
  const { method, url } = request;
  const info = surface.read(method, url);
  if (info === undefined) throw noSuchRoute();
  noted.info = info;
  const started = performance.now();
  refuseWrongTimeout(info);
  if (surface.isPublic(info)) {
    // As in Kubernetes: nobody needs a key here, and a key that does not work is refused.
    if (isApiDocument(info) && plainToken(request.headers) !== undefined) {
      authenticateRequest(deps, request, 'bearer');
    }
    return { surface, started, info, user: undefined };
  }
  const user = authenticateRequest(deps, request, 'bearer');
  noted.user = user;
  refuseImpersonation(request.headers, user);
  authorizeRequest(deps, user, attributesOf(info, deps.kinds));
  return { surface, started, info, user };
}

/**
 * A body may take a minute, and a queue its time: another object may have the name by now. Throws 403.
 */
function admitAgain({ surface, info, user, version }: Admitted, now: number): void {
  if (user === undefined || version === now) return;
  const { deps } = surface;
  authorizeRequest(deps, user, attributesOf(info, deps.kinds));
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
      request.trail?.started(200);
      return commonHeaders(request.id);
    },
  };
}

function record(request: FastifyRequest, answer: Answer, isFault: boolean): void {
  const { trail, noted } = request;
  if (trail === undefined || noted === undefined) return;
  endAudit(trail, noted, { request, answer, isFault });
}

function errorAnswer(
  deps: ServerDependencies,
  error: unknown,
  request: FastifyRequest,
): { readonly answer: Answer; readonly unexpected: boolean } {
  const { method, url, id } = request;
  const { status, unexpected } = toStatusError(
    isNoMediaType(error) ? unsupportedMediaType(mediaTypesOf(method)) : error,
  );
  const facts = { method, path: redactedUrl(url).split('?')[0], requestId: id };
  if (unexpected) deps.logger.error({ err: error, ...facts }, 'Request failed');
  else if (isBrokenOff(error)) deps.logger.info(facts, 'Request broken off by the client');
  const retry = status.details?.retryAfterSeconds;
  const headers = {
    ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
    ...(status.code === 401 ? { 'www-authenticate': 'Bearer realm="gitplane"' } : {}),
    ...(status instanceof MethodNotAllowedError ? { allow: status.allowed.join(', ') } : {}),
  };
  const known = request.url.startsWith(deps.root) || status.code !== 404;
  const answer = known
    ? { code: status.code, ...encodeStatus(status.toStatus(), request.headers.accept) }
    : textAnswer('404 page not found\n', 404);
  return { answer: { ...answer, headers, warnings: status.warnings }, unexpected };
}

/** True if fastify could not read the Content-Type. */
function isNoMediaType(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  );
}

function mediaTypesOf(method: string): readonly string[] {
  return method === 'PATCH' ? acceptedPatchTypes({ serverSideApply: true }) : BODY_TYPES;
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
