/**
 * `/git/platform.git`: clone, fetch and push over HTTP. The access key is the password of basic
 * authentication, as git sends it. The rights are `get` (fetch) and `update` (push) on the path. The
 * pre-receive hook decides per object what a push may change.
 */

import { PassThrough, Readable, type Writable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { forbiddenError, StatusError, type User } from '../../apimachinery/index.ts';
import type { AuditedAnswer, AuditTrail } from '../../audit/index.ts';
import {
  advertiseRefs,
  isGitService,
  MAX_PUSH_BYTES,
  type GitService as ServiceName,
  serveRpc,
  serviceInput,
} from '../../git/index.ts';
import type { PushOutcome, ServerDependencies } from '../dependencies.ts';
import { toStatusError } from '../errors.ts';
import { authenticateRequest, authorizeRequest, userNow } from '../filters/access.ts';
import { beginAudit } from '../filters/audit.ts';
import { textAnswer } from '../output/answer.ts';
import { writeAnswer } from '../output/send.ts';
import { GIT_PATH } from '../paths.ts';

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
        if (admitted !== undefined) await answerRpc(deps, { request, reply, service, ...admitted });
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

async function answerRpc(
  deps: ServerDependencies,
  exchange: Exchange & AdmittedToGit,
): Promise<void> {
  const { request, reply, service, user, trail } = exchange;
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort());
  begin(reply, `application/x-${service}-result`);
  const push = service === 'git-receive-pack' ? beginPush(deps, request, user) : undefined;
  const options = {
    gitProtocol: gitProtocol(request),
    signal: gone.signal,
    ...(push === undefined ? {} : { hooks: push.hooks, procReceive: deps.git.procReceive }),
  };
  // A request without a content type has no body here.
  const body = (request.body ?? Readable.from([])) as Readable;
  let failure = serviceFailed();
  body.once('error', (error) => {
    if (!(error instanceof StatusError)) return;
    failure = error;
    // Before git answers to what it has.
    response.destroy();
    gone.abort();
  });
  const response = holdBack(reply.raw, async () => void (await push?.end()));
  const fail = (): void => {
    if (response.readableEnded) return;
    if (reply.raw.headersSent || reply.raw.destroyed) reply.raw.destroy();
    else {
      const answer = textAnswer(`${failure.message}\n`, failure.code);
      writeAnswer(reply.raw, answer, { id: request.id, last: true });
    }
  };
  response.once('close', fail);
  if (push === undefined) endAuditWithAnswer(trail, reply);
  const input = serviceInput(body, request.headers['content-encoding']);
  const streams = { service, request: input, response };
  try {
    const { code, stderr } = await serveRpc(deps.git.repository, streams, options);
    // A client may break off at will. The answer to a failure may have been sent already.
    const isBrokenOff = gone.signal.aborted && !reply.raw.writableFinished;
    const level = isBrokenOff ? 'debug' : 'warn';
    if (code !== 0) deps.logger[level]({ service, code, stderr }, 'A git service failed');
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    // Its client may be gone before it has landed.
    const outcome = await push?.end();
    const code = reply.raw.headersSent ? reply.raw.statusCode : failure.code;
    if (push !== undefined) trail?.ended(outcome ? pushed(outcome) : { code });
  }
}

/** A client may take its time to send a push: rights count until it lands. */
function beginPush(deps: ServerDependencies, request: FastifyRequest, user: User) {
  const attributes = { verb: 'update', path: GIT_PATH };
  return deps.git.beginPush({ user, userNow: () => userNow(deps, request, attributes) });
}

function serviceFailed(): StatusError {
  return new StatusError(500, 'InternalError', 'git failed: see the log of the server');
}

/** Delays the end of the response until readers see the push. */
function holdBack(response: Writable, before: () => Promise<void>): PassThrough {
  const gate = new PassThrough({
    flush: (done) => {
      before().then(
        () => done(),
        () => done(),
      );
    },
  });
  response.once('close', () => gate.destroy());
  gate.pipe(response);
  return gate;
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
