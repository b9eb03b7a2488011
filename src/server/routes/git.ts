/**
 * `/git/platform.git`: clone, fetch and push over HTTP. The access key is the password of basic
 * authentication, as git sends it. The rights are `get` (fetch) and `update` (push) on the path. The
 * pre-receive hook decides per object what a push may change.
 */

import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { forbiddenError, StatusError, type User } from '../../apimachinery/index.ts';
import type { AuditedAnswer, AuditTrail } from '../../audit/index.ts';
import {
  advertiseRefs,
  isGitService,
  MAX_PUSH_BYTES,
  type ServeOptions,
  type GitService as ServiceName,
  serveRpc,
  serviceInput,
} from '../../git/index.ts';
import type { PushOutcome, ServerDependencies } from '../dependencies.ts';
import { toStatusError } from '../errors.ts';
import { authenticateRequest, authorizeRequest, userNow } from '../filters/access.ts';
import { beginAudit } from '../filters/audit.ts';
import { GIT_PATH } from '../paths.ts';
import { ServiceAnswer } from './service-answer.ts';

const SERVICE_FAILED = 'A git service failed';

/** Interval of the check of a fetch, whose answer may take an hour. */
const ACCESS_INTERVAL_MS = 10_000;
const WITHDRAWN = 'the access key, or its right to read the repository, ended during this fetch';

export function registerGit(app: FastifyInstance, deps: ServerDependencies): void {
  for (const kind of ['upload-pack', 'receive-pack']) {
    app.addContentTypeParser(`application/x-git-${kind}-request`, (_request, body, done) =>
      done(null, body),
    );
  }
  const config = { ownAccess: true };
  app.get(`${GIT_PATH}/info/refs`, { config }, async (request, reply) => {
    const { service } = request.query as { service?: string };
    if (service === undefined || !isGitService(service)) {
      return plain(reply, 403, 'Only the smart HTTP protocol is served; use git 1.6.6 or newer\n');
    }
    const admitted = admitGit(deps, { request, reply, service });
    if (admitted === undefined) return reply;
    endAuditWithAnswer(admitted.trail, reply);
    const offered = service === 'git-receive-pack' ? await deps.git.offered() : undefined;
    begin(reply, `application/x-${service}-advertisement`);
    const options = { gitProtocol: gitProtocol(request), offered };
    await advertiseRefs(deps.git.repository, { service, response: reply.raw }, options);
    return reply;
  });
  app.get('/git/*', { config }, async (request, reply) => {
    refuseOtherRepository(deps, request, reply);
    return reply;
  });
  for (const service of ['git-upload-pack', 'git-receive-pack'] as const) {
    app.post(
      `${GIT_PATH}/${service}`,
      { config, bodyLimit: MAX_PUSH_BYTES },
      async (request, reply) => {
        const admitted = admitGit(deps, { request, reply, service });
        if (admitted === undefined) return reply;
        const answer = service === 'git-receive-pack' ? answerPush : answerFetch;
        await answer(deps, { request, reply, service, ...admitted });
        return reply;
      },
    );
  }
}

interface AdmittedToGit {
  readonly user: User;
  /** To be ended by the caller. */
  readonly trail: AuditTrail | undefined;
}

/** Audit data of a push: the commits between the two revisions are its own. */
function pushed({ result, revision, previous }: PushOutcome): AuditedAnswer {
  const annotations = {
    'push-result': result,
    ...(previous === undefined ? {} : { 'previous-revision': previous }),
  };
  return { code: 200, revision: result === 'accepted' ? revision : undefined, annotations };
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly service: ServiceName;
}

/** Undefined: the request was answered. */
function admitGit(
  deps: ServerDependencies,
  { request, reply, service }: Exchange,
): AdmittedToGit | undefined {
  let user: User | undefined;
  const recorded = (): AuditTrail | undefined => {
    const query = new URLSearchParams(request.url.split('?')[1]);
    const verb = request.method.toLowerCase();
    const path = request.url.split('?')[0] ?? '';
    const info = { isResource: false, path, belowRoot: false, query, verb } as const;
    return beginAudit(deps, { request, info, user });
  };
  try {
    user = authenticateRequest(deps, request, 'basic');
    const verb = service === 'git-upload-pack' ? 'get' : 'update';
    authorizeRequest(deps, user, { verb, path: GIT_PATH });
    if (verb === 'update' && deps.git.readOnly !== undefined) {
      throw forbiddenError(deps.git.readOnly);
    }
    return { user, trail: recorded() };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    endAuditWithAnswer(recorded(), reply);
    const { status } = toStatusError(error);
    // git asks for credentials only after this header.
    if (status.code === 401) void reply.header('www-authenticate', 'Basic realm="gitplane"');
    void plain(reply, status.code, `${status.message}\n`);
    return undefined;
  }
}

/** Names the repository that is here to a user who may read it. git shows a plain text as `remote: …`. */
function refuseOtherRepository(
  deps: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const service = 'git-upload-pack';
  const admitted = admitGit(deps, { request, reply, service });
  if (admitted === undefined) return;
  endAuditWithAnswer(admitted.trail, reply);
  const here = `${deps.signIn.baseUrl}${GIT_PATH}`;
  void plain(reply, 404, `There is no such repository here: the platform is at ${here}\n`);
}

/** Ends the record of an answer that another part writes to the socket, if that part has not ended it before. */
function endAuditWithAnswer(trail: AuditTrail | undefined, reply: FastifyReply): void {
  if (trail === undefined) return;
  reply.raw.once('close', () => trail.ended({ code: reply.raw.statusCode }));
}

/** A client may take its time to send a request and to read its answer: rights count until the end. */
async function answerFetch(
  deps: ServerDependencies,
  exchange: Exchange & AdmittedToGit,
): Promise<void> {
  const { request, reply, trail } = exchange;
  endAuditWithAnswer(trail, reply);
  const answer = new ServiceAnswer(exchange);
  const isAllowed = (): boolean => {
    const user = userNow(deps, request, { verb: 'get', path: GIT_PATH });
    if (user === undefined) answer.refuse(forbiddenError(WITHDRAWN));
    return user !== undefined;
  };
  const timer = setInterval(isAllowed, ACCESS_INTERVAL_MS);
  try {
    await runService(deps, exchange, answer, { isAllowed });
  } finally {
    clearInterval(timer);
  }
}

/** Its answer ends when readers see the push. */
async function answerPush(
  deps: ServerDependencies,
  exchange: Exchange & AdmittedToGit,
): Promise<void> {
  const { request, user, trail } = exchange;
  const attributes = { verb: 'update', path: GIT_PATH };
  // A client may take its time to send a push: rights count until it lands.
  const push = deps.git.beginPush({ user, userNow: () => userNow(deps, request, attributes) });
  const { hooks } = push;
  const answer = new ServiceAnswer(exchange, () => push.end());
  try {
    await runService(deps, exchange, answer, { hooks, procReceive: deps.git.procReceive });
  } finally {
    // Its client may be gone before it has landed.
    const outcome = await push.end();
    trail?.ended(outcome ? pushed(outcome) : { code: answer.code });
  }
}

async function runService(
  deps: ServerDependencies,
  { request, reply, service }: Exchange,
  answer: ServiceAnswer,
  ofService: Pick<ServeOptions, 'hooks' | 'procReceive' | 'isAllowed'>,
): Promise<void> {
  begin(reply, `application/x-${service}-result`);
  // A request without a content type has no body here.
  const body = (request.body ?? Readable.from([])) as Readable;
  body.once('error', (error) => {
    if (error instanceof StatusError) answer.refuse(error);
  });
  const input = serviceInput(body, request.headers['content-encoding']);
  const streams = { service, request: input, response: answer.stream };
  const options = { gitProtocol: gitProtocol(request), signal: answer.signal, ...ofService };
  try {
    const { code, stderr } = await serveRpc(deps.git.repository, streams, options);
    // A client may break off at will. The answer to a failure may have been sent already.
    const level = answer.isBrokenOff ? 'debug' : 'warn';
    if (code !== 0) deps.logger[level]({ service, code, stderr }, SERVICE_FAILED);
  } catch (err) {
    deps.logger.error({ service, err }, SERVICE_FAILED);
    answer.stream.destroy();
  }
}

function gitProtocol(request: FastifyRequest): string | undefined {
  const value = request.headers['git-protocol'];
  return typeof value === 'string' ? value : undefined;
}

/** After this call the service writes to the socket itself. */
function begin(reply: FastifyReply, contentType: string): void {
  void reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value as string);
  }
  reply.raw.setHeader('content-type', contentType);
  reply.raw.setHeader('cache-control', 'no-cache, max-age=0, must-revalidate');
}

function plain(reply: FastifyReply, code: number, text: string): FastifyReply {
  return reply.code(code).header('content-type', 'text/plain; charset=utf-8').send(text);
}
