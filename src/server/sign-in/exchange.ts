/**
 * A request below `/auth`: headers, audit of successes and refusals, and responses that tell a stranger
 * nothing. Sign-in pages of other modules use it as well.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StatusError, type StatusReason } from '../../apimachinery/index.ts';
import type { AuditTrail } from '../../audit/index.ts';
import { SignInError } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { beginAudit } from '../filters/audit.ts';
import { limitBody, secureHeaders } from '../filters/hardening.ts';
import { signInHeaders } from './headers.ts';
import { type Html, html } from './html.ts';
import { sendPage } from './html-response.ts';

export interface Exchange {
  readonly deps: ServerDependencies;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Further fields for log and audit: `connector`, `user`. Never a secret. */
  readonly facts: Record<string, string>;
}

/** Response to a refusal; `reference` is the id of the request. */
export type Refusal = (
  exchange: Exchange,
  of: { readonly error: SignInError; readonly reference: string },
) => FastifyReply | Promise<FastifyReply>;

/**
 * Runs a route and audits its result. With `signsIn`, the result is also logged, with the reason of a
 * refusal.
 */
export function signInRoute(
  deps: ServerDependencies,
  of: {
    readonly facts?: (request: FastifyRequest) => Record<string, string>;
    readonly signsIn: boolean;
    readonly refuse?: Refusal;
    work(exchange: Exchange): Promise<FastifyReply> | FastifyReply;
  },
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    secureHeaders(reply.raw);
    signInHeaders(deps, reply);
    const trail = recorded(deps, request);
    const gone = new AbortController();
    reply.raw.once('close', () => gone.abort());
    const facts = of.facts?.(request) ?? {};
    const exchange: Exchange = { deps, request, reply, signal: gone.signal, facts };
    try {
      const sent = await of.work(exchange);
      trail?.ended({ code: reply.statusCode, annotations: facts });
      if (of.signsIn) deps.logger.info({ ...facts, requestId: request.id }, 'Signed in');
      return sent;
    } catch (error) {
      const refusal = asRefusal(exchange, error);
      const { reason, code, message } = refusal;
      trail?.ended({ code, reason: 'SignInRefused', message, annotations: { ...facts, reason } });
      const log = { ...facts, reason, problem: message, ip: request.ip, requestId: request.id };
      if (QUIET.includes(reason) || !deps.failedLogins.mayWarn())
        deps.logger.debug(log, 'A sign-in was refused');
      else deps.logger.warn(log, 'A sign-in was refused');
      return await (of.refuse ?? asPage)(exchange, { error: refusal, reference: request.id });
    }
  };
}

/** Refusals that strangers, or pages without a session, cause at will: logged at debug level. */
const QUIET = ['no-connector', 'not-signed-in', 'too-many', 'bad-body'];

/** Limits for routes with a body: a slow one is cut off before any of it is parsed. */
export async function limitSlowBody(request: FastifyRequest): Promise<void> {
  limitBody(request.raw);
}

const asPage: Refusal = (exchange, { error, reference }) => {
  const { code, shown } = error;
  return sendPage(exchange, { code, title: REFUSED, body: refusedBody({ shown, reference }) });
};

const REFUSED = 'Signing in did not work';

/** Contains nothing from outside. */
function refusedBody(of: { readonly shown: string; readonly reference: string }): Html {
  return html`<h1>${REFUSED}</h1>
<p class="notice alert" role="alert">${of.shown}</p>
<p class="hint">Reference for the administrator of the platform: <code>${of.reference}</code></p>
<div class="choices"><a class="button primary" href="/login">Back to sign in</a></div>`;
}

/** Refusal for programs. */
export const asStatus: Refusal = ({ reply }, { error, reference }) => {
  const { code, shown } = error;
  const retry = error.retryAfterSeconds;
  if (retry !== undefined) void reply.header('retry-after', String(retry));
  const status = new StatusError(code, reasonOf(code), `${shown} (${reference})`).toStatus();
  return reply.code(code).header('content-type', 'application/json').send(JSON.stringify(status));
};

function reasonOf(code: number): StatusReason {
  if (code === 401) return 'Unauthorized';
  if (code === 403) return 'Forbidden';
  if (code === 429) return 'TooManyRequests';
  return code >= 500 ? 'ServiceUnavailable' : 'BadRequest';
}

/** Internal errors are logged with their stack, and not shown to the client. */
function asRefusal({ deps, request }: Exchange, error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  if (error instanceof StatusError) {
    const { code, message } = error;
    return new SignInError(message, { reason: 'refused', code, cause: error });
  }
  deps.logger.error({ err: error, requestId: request.id }, 'Signing in failed');
  return new SignInError('an error of the platform', { reason: 'internal', code: 500 });
}

function recorded(deps: ServerDependencies, request: FastifyRequest): AuditTrail | undefined {
  const [path = '', query] = request.url.split('?');
  const verb = request.method.toLowerCase();
  const info = {
    isResource: false,
    path,
    belowRoot: false,
    query: new URLSearchParams(query),
    verb,
  };
  return beginAudit(deps, { request, info: { ...info, isResource: false }, user: undefined });
}
