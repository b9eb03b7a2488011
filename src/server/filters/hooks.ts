/**
 * `POST /hooks/<secret>`: a forge says that something was pushed. Nothing in the request is believed
 * but that: it only makes the next fetch come sooner. The secret is the last part of the path and,
 * where the forge signs its requests, the key of the signature as well.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { TokenBucket } from '../../auth/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { limitBody } from './hardening.ts';

/** Forges stay far below; GitHub's limit of 25 MB is for events that nobody needs here. */
const MOST_BYTES = 1024 * 1024;

const NOT_FOUND = '404 page not found';

/** Whether a header proves that its sender knows the secret; undefined: it says nothing of that. */
type Proof = (value: string, secret: string, body: Buffer) => boolean | undefined;

const hexOfBody: Proof = (value, secret, body) => isSame(value, hmac(secret, body));
const sha256OfBody: Proof = (value, secret, body) =>
  // The older sha1 signature comes beside the newer one.
  value.startsWith('sha256=') ? isSame(value, `sha256=${hmac(secret, body)}`) : undefined;

/** GitHub, Bitbucket; GitLab; Gitea, Forgejo, Gogs. */
const PROOFS: readonly (readonly [string, Proof])[] = [
  ['x-hub-signature-256', sha256OfBody],
  ['x-hub-signature', sha256OfBody],
  ['x-gitlab-token', (value, secret) => isSame(value, secret)],
  ['x-gitea-signature', hexOfBody],
  ['x-forgejo-signature', hexOfBody],
  ['x-gogs-signature', hexOfBody],
];

export function registerHooks(app: FastifyInstance, deps: ServerDependencies): void {
  const { hooks } = deps;
  if (hooks === undefined) return;
  const known = rateLimit();
  // Apart, so that strangers cannot use up what the forge needs.
  const strangers = rateLimit();
  const refuse = (reply: FastifyReply, code: number, text: string): FastifyReply =>
    strangers() ? plain(reply, code, text) : tooMany(reply);

  const others = app.supportedMethods.filter((method) => method !== 'POST');
  // Routes of their own: the path must not reach what logs the paths of the API.
  app.route({
    method: others,
    url: '/hooks/:secret',
    config: { ownAccess: true },
    handler: (request, reply) => {
      const { secret } = request.params as { secret: string };
      if (!isSame(secret, hooks.secret)) return refuse(reply, 404, NOT_FOUND);
      return plain(reply.header('allow', 'POST'), 405, 'The method is not allowed: use POST');
    },
  });
  app.all('/hooks/*', {
    config: { ownAccess: true },
    handler: (_request, reply) => refuse(reply, 404, NOT_FOUND),
  });
  app.post('/hooks/:secret', {
    config: { ownAccess: true },
    bodyLimit: MOST_BYTES,
    // Before the body is read: a stranger's is not.
    onRequest: async (request, reply) => {
      const { secret } = request.params as { secret: string };
      if (!isSame(secret, hooks.secret)) return refuse(reply, 404, NOT_FOUND);
      if (!known()) return tooMany(reply);
      limitBody(request.raw);
      return undefined;
    },
    errorHandler: (error, _request, reply) =>
      error.statusCode === 413
        ? plain(reply, 413, `The body is larger than ${MOST_BYTES} bytes`)
        : plain(reply, 400, 'The request cannot be read'),
    handler: async (request, reply) => {
      if (!isProven(request.headers, hooks.secret, bodyOf(request))) {
        return refuse(reply, 403, 'The signature is not made with this secret');
      }
      hooks.notice();
      return plain(reply, 202, 'The branch will be fetched');
    },
  });
}

/** Whether one more request is taken now. */
function rateLimit(): () => boolean {
  const bucket = new TokenBucket({ perSecond: 5, burst: 30 }, performance.now());
  return () => bucket.take(performance.now()) === 0;
}

/** Every proof that is there must hold; with none, the path is the proof. */
function isProven(headers: IncomingHttpHeaders, secret: string, body: Buffer): boolean {
  return PROOFS.every(([name, proof]) => {
    const value = headers[name];
    if (value === undefined) return true;
    return typeof value === 'string' && proof(value, secret, body) !== false;
  });
}

function hmac(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** Takes the same time whatever the texts are; only their length shows. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

function bodyOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

function tooMany(reply: FastifyReply): FastifyReply {
  return plain(reply.header('retry-after', '1'), 429, 'Too many requests');
}

function plain(reply: FastifyReply, code: number, text: string): FastifyReply {
  return reply.code(code).header('content-type', 'text/plain; charset=utf-8').send(`${text}\n`);
}
