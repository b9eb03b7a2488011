/**
 * The HTTP server: the order of filters and routes. `buildServer` never listens.
 *
 * The filters run in the order of kube-apiserver: request id, request info, authentication,
 * authorization. The body is read after them, and existence is judged last.
 */
import type { IncomingMessage } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  MethodNotAllowedError,
  noSuchRoute,
  unavailable,
  unsupportedMediaType,
} from '../apimachinery/index.ts';
import { redactedUrl } from '../audit/index.ts';
import { buildApiRoots } from './api-roots.ts';
import type { ServerDependencies } from './dependencies.ts';
import { isBrokenOff, toStatusError } from './errors.ts';
import { type Admitted, beginExchange, EXCHANGE, endExchange, exchangeOf } from './exchange.ts';
import { fastGet } from './fast-get.ts';
import { attributesOf, authenticateRequest, authorizeRequest } from './filters/access.ts';
import { counted, limitBody, SECURITY_HEADERS, secureHeaders } from './filters/hardening.ts';
import { registerHooks } from './filters/hooks.ts';
import { isChunked, withinDeadline } from './filters/overload-limits.ts';
import { requestIds } from './filters/request-id.ts';
import { BODY_TYPES, DEFAULT_MAX_BODY_BYTES } from './input/body.ts';
import { acceptedPatchTypes } from './input/patch.ts';
import type { LeaderProxy } from './leader-proxy/leader-proxy.ts';
import {
  createListener,
  type Handler,
  KEEP_ALIVE_MS,
  type Listener,
  spareOwedAnswers,
} from './listener.ts';
import { type Answer, textAnswer } from './output/answer.ts';
import { compressed } from './output/compression.ts';
import { encodeStatus } from './output/representation.ts';
import { sendAnswer } from './output/send.ts';
import type { ApiRequest } from './request.ts';
import { answerBadUrl, redirectBrowsers, registerConsole } from './routes/console.ts';
import { registerGit } from './routes/git.ts';
import { registerOidc } from './routes/oidc.ts';
import { registerObjects, type Serve } from './routes/resources.ts';
import { closingSignal } from './shutdown.ts';
import { registerSignIn } from './sign-in/routes.ts';
import { acceptUpgrades } from './websocket.ts';

const NO_BODY = Buffer.alloc(0);
const STOPPING_RETRY_SECONDS = 1;

/** Refusals by the proxy to the leader, which judges requests before the routes. */
const refused = new WeakMap<IncomingMessage, Error>();

export interface ServerOptions {
  /** Gets the requests of this server once it is ready. Absent: a new one for plain HTTP. */
  readonly listener?: Listener;
  /** Forwards requests to the leader. Absent: this process answers all requests. */
  readonly front?: Pick<LeaderProxy, 'handle'>;
}

export function buildServer(deps: ServerDependencies, options: ServerOptions): FastifyInstance {
  const { listener = createListener(undefined, notReady), front } = options;
  const nextId = requestIds();
  const ownOrigin = (): string => new URL(deps.signIn.baseUrl).origin;
  const common = {
    logger: false,
    bodyLimit: DEFAULT_MAX_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Only an ingress or a replica speaks plain HTTP, so that its X-Forwarded-For is trusted.
    trustProxy: (_address: string, hop: number) => !listener.isTls && hop === 0,
    forceCloseConnections: 'idle',
    // The hook below refuses with a Status.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    genReqId: nextId,
    frameworkErrors: answerBadUrl(deps),
    // As `parseRequest` does.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LONGEST_PATH },
  } as const;
  const app = fastify({ ...common, serverFactory: () => listener.server });
  spareOwedAnswers(listener.server);
  const { platform, rootOf } = buildApiRoots(deps);
  const closing = closingSignal(app, listener.connections);
  const quick = fastGet({ root: platform, nextId, closing });
  const serve = server(deps, closing);
  app.addHook('onReady', (done) => {
    const routes: Handler = (request, response) => app.routing(request, response);
    const handler: Handler = (request, response) => {
      quick(request, response, () => routes(request, response));
    };
    const isBehindProxy = !listener.isTls;
    const chosen =
      front === undefined ? handler : behind(front, { handler, routes, isBehindProxy, closing });
    listener.handle(chosen);
    acceptUpgrades(listener.server, ownOrigin, chosen);
    done();
  });

  app.decorateRequest(EXCHANGE, undefined);
  redirectBrowsers(app);
  app.addHook('onRequest', (request, reply, done) => {
    if (closing.aborted) {
      void reply.header('connection', 'close');
      return done(unavailable('The daemon is stopping', STOPPING_RETRY_SECONDS));
    }
    const { config, url: route } = request.routeOptions;
    const isOwn = hasOwnAccess(config);
    if (isOwn && !hasSlashTooMany(request, route)) {
      void reply.header('audit-id', request.id);
      secureHeaders(reply.raw);
      return done();
    }
    const given = refused.get(request.raw);
    // The proxy to the leader has read the body of a refused request, or never will.
    if (given === undefined) limitBody(request.raw);
    const root = rootOf(request.url);
    const begin = (): void => {
      const refusal = beginExchange(deps, { root, request, response: reply.raw, refusal: given });
      done(refusal ?? (isOwn ? noSuchRoute() : undefined));
    };
    const prepared = root.prepare?.(request.headers);
    if (prepared === undefined) begin();
    else void prepared.then(begin);
  });
  readBodies(app, deps);
  registerGit(app, deps);
  registerHooks(app, deps);
  registerSignIn(app, deps);
  registerConsole(app, deps);
  registerOidc(app, deps);
  registerObjects(app, deps, serve);
  app.setNotFoundHandler((request, reply) =>
    serve(request, reply, ({ root }, asked) => root.other(asked)),
  );
  app.setErrorHandler((error, request, reply) => {
    const root = exchangeOf(request)?.admitted?.root;
    const { answer, unexpected } = errorAnswer(root?.deps ?? deps, error, request);
    sendAnswer(reply, answer, closing);
    endExchange(request, answer, unexpected);
  });
  return app;
}

/** Longer than any request line that Node reads. */
const LONGEST_PATH = 64 * 1024;

/**
 * True where the path ends with a slash and the route does not. Never for webhooks: their paths hold
 * a secret, which the audit log of an API root would record.
 */
function hasSlashTooMany({ url }: FastifyRequest, route = ''): boolean {
  if (route.endsWith('*') || route.startsWith('/hooks/')) return false;
  return url.split('?', 1)[0]?.endsWith('/') === true;
}

/** Answers requests to API roots: queue, authorization again, handler, compression, audit. */
function server(deps: ServerDependencies, closing: AbortSignal): Serve {
  return (request, reply, work) => {
    const admitted = exchangeOf(request)?.admitted;
    if (admitted === undefined) throw noSuchRoute();
    const finish = finisher(request, reply, closing);
    const raw = { request: request.raw, response: reply.raw };
    const answer = deps.fairness.run(admitted, raw, () => {
      const now = admittedNow(admitted, request, deps.store.resourceVersion);
      return work(now, apiRequest(request, reply, { admitted: now, closing }));
    });
    if (!(answer instanceof Promise)) return finish(answer);
    return withinDeadline(admitted.info, answer).then(finish);
  };
}

/**
 * Authenticates and authorizes again after the body and the queue, which take time: the key, a group
 * or a right may be gone by now, and another object may have the name. Throws 401 and 403.
 */
function admittedNow(admitted: Admitted, request: FastifyRequest, now: number): Admitted {
  const { root, info, version } = admitted;
  if (admitted.user === undefined || version === now) return admitted;
  const { deps } = root;
  const user = authenticateRequest(deps, request, 'bearer');
  authorizeRequest(deps, user, attributesOf(info, deps.kinds));
  return { ...admitted, user };
}

/** Reads bodies as bytes. Bytes without an announced length count for fairness as they arrive. */
function readBodies(app: FastifyInstance, { fairness }: ServerDependencies): void {
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addHook('preParsing', (request, reply, payload, done) => {
    const isCounted = exchangeOf(request)?.admitted !== undefined && isChunked(request.headers);
    const count = (bytes: number): void => fairness.arrived(reply.raw, bytes);
    done(null, isCounted ? counted(payload, count) : payload);
  });
}

/** Sends the answer of a handler and ends the exchange. An undefined answer: the handler streams its own. */
function finisher(
  request: FastifyRequest,
  reply: FastifyReply,
  closing: AbortSignal,
): (answer: Answer | undefined) => void | Promise<void> {
  const send = (answer: Answer, form = answer): void => {
    sendAnswer(reply, form, closing);
    endExchange(request, answer, false);
  };
  return (answer) => {
    if (answer === undefined) {
      exchangeOf(request)?.audit?.trail.ended({ code: reply.raw.statusCode });
      return undefined;
    }
    const form = compressed(request.raw, answer);
    return form === undefined ? send(answer) : form.then((packed) => send(answer, packed));
  };
}

/** Forwards requests to the leader. `handler` includes the fast path; `routes` does not. */
function behind(
  front: Pick<LeaderProxy, 'handle'>,
  of: {
    readonly handler: Handler;
    readonly routes: Handler;
    readonly isBehindProxy: boolean;
    readonly closing: AbortSignal;
  },
): Handler {
  const { handler, routes, isBehindProxy, closing } = of;
  return (request, response) => {
    const answer = (): void => handler(request, response);
    const refuse = (error: Error): void => {
      refused.set(request, error);
      routes(request, response);
    };
    front.handle({ request, response, closing, isBehindProxy, answer, refuse });
  };
}

/** No request arrives before the server is ready: Fastify listens then. */
const notReady: Handler = (_request, response) => void response.writeHead(503).end();

/** True for routes that speak another protocol: they decide about access in its words. */
function hasOwnAccess(config: object): boolean {
  return 'ownAccess' in config && config.ownAccess === true;
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
    raw: { request: request.raw, response: reply.raw },
    hijack: () => {
      void reply.hijack();
      exchangeOf(request)?.audit?.trail.started(200);
      return commonHeaders(request.id);
    },
  };
}

/** Headers of every answer, streams included. */
function commonHeaders(requestId: string): (readonly [string, string])[] {
  return [['audit-id', requestId], ...SECURITY_HEADERS];
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
  // Documents outside of the API root name a missing object in a Status as well.
  const isRoute = status.code === 404 && status.message === noSuchRoute().message;
  const known = request.url.startsWith(deps.root) || !isRoute;
  const answer = known
    ? { code: status.code, ...encodeStatus(status.toStatus(), request.headers.accept) }
    : textAnswer('404 page not found\n', 404);
  return { answer: { ...answer, headers, warnings: status.warnings }, unexpected };
}

/** True if Fastify could not parse the Content-Type header. */
function isNoMediaType(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  );
}

function mediaTypesOf(method: string): readonly string[] {
  return method === 'PATCH' ? acceptedPatchTypes({ serverSideApply: true }) : BODY_TYPES;
}
