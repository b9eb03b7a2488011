/**
 * `POST /hooks/<secret>`: webhook of a forge. It only triggers the next fetch, and its body is ignored.
 * The secret is the last segment of the path, and the key of the signature if the forge signs requests.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { StatusError } from '../../apimachinery/index.ts';
import { TokenBucket } from '../../auth/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { textAnswer } from '../output/answer.ts';
import { writeAnswer } from '../output/send.ts';
import { limitBody } from './hardening.ts';

/** Limit of a body. Push events are far below; GitHub's limit of 25 MB is for other events. */
const MOST_BYTES = 1024 * 1024;

interface Path {
  readonly Params: { readonly secret: string };
}

const NOT_FOUND = '404 page not found';

/** Checks a header that proves knowledge of the secret; undefined: the header is about something else. */
type Proof = (value: string, secret: string, body: Buffer) => boolean | undefined;

const hexOfBody: Proof = (value, secret, body) => isSame(value, hmac(secret, body));
const sha256OfBody: Proof = (value, secret, body) =>
  // The sha1 signature is sent in addition to the sha256 one.
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
  // A limit of their own, so that strangers cannot use up that of the forge.
  const strangers = rateLimit();
  const refuse = (reply: FastifyReply, code: number, text: string): FastifyReply =>
    strangers() ? plain(reply, code, text) : tooMany(reply);

  const others = app.supportedMethods.filter((method) => method !== 'POST');
  // The path has the secret in it and must not reach the audit log of the API.
  app.route<Path>({
    method: others,
    url: '/hooks/:secret',
    config: { ownAccess: true },
    handler: (request, reply) => {
      if (!hasSecret(request, hooks.secret)) return refuse(reply, 404, NOT_FOUND);
      return plain(reply.header('allow', 'POST'), 405, 'The method is not allowed: use POST');
    },
  });
  app.all('/hooks/*', {
    config: { ownAccess: true },
    handler: (_request, reply) => refuse(reply, 404, NOT_FOUND),
  });
  app.post<Path>('/hooks/:secret', {
    config: { ownAccess: true },
    bodyLimit: MOST_BYTES,
    // Runs before the body is read.
    onRequest: async (request, reply) => {
      if (!hasSecret(request, hooks.secret)) return refuse(reply, 404, NOT_FOUND);
      if (!known()) return tooMany(reply);
      limitBody(request.raw);
      return undefined;
    },
    // The rest of the body may still come: see `discardBody`.
    errorHandler: (error, { id }, reply) => {
      const isKnown = error instanceof StatusError;
      const answer =
        error.statusCode === 413
          ? textAnswer(`The body is larger than ${MOST_BYTES} bytes\n`, 413)
          : textAnswer(isKnown ? `${error.message}\n` : 'The request cannot be read\n', 400);
      writeAnswer(reply.hijack().raw, answer, { id, last: true });
    },
    handler: async (request, reply) => {
      if (!isProven(request.headers, hooks.secret, bodyOf(request))) {
        return refuse(reply, 403, 'The signature is not made with this secret');
      }
      hooks.notice();
      return plain(reply, 202, 'The branch will be fetched');
    },
  });
}

/** False for a path that goes on behind the secret: the router ignores one slash at the end. */
function hasSecret({ params, url }: FastifyRequest<Path>, secret: string): boolean {
  return isSame(params.secret, secret) && url.split('?', 1)[0]?.endsWith('/') === false;
}

/** Returns true if one more request is allowed now. */
function rateLimit(): () => boolean {
  const bucket = new TokenBucket({ perSecond: 5, burst: 30 }, performance.now());
  return () => bucket.take(performance.now()) === 0;
}

/** All proofs in the headers must hold. Without any, the path is the proof. */
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

/** Compares in constant time; only the length of the texts is observable. */
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
