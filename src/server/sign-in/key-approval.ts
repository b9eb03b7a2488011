/** Approval of a key for a program, shared by both flows: form check and response. */
import type { FastifyReply } from 'fastify';
import { rfc3339 } from '../../apimachinery/index.ts';
import { type Approval, csrfToken, isCsrfToken, SignInError } from '../../sign-in/index.ts';
import { type BrowserSession, browserSession, refuseOtherSites } from './browser.ts';
import type { Exchange, Refusal } from './exchange.ts';
import { readForm } from './forms.ts';
import type { Html } from './html.ts';
import { hidden } from './login-page.ts';

export function csrfField(session: BrowserSession): Html {
  return hidden({ csrf: csrfToken(session.key) });
}

/** Fields of a form that a signed-in person posted from our page. Throws SignInError. */
export function ownForm(exchange: Exchange): { session: BrowserSession; form: URLSearchParams } {
  const { deps, request } = exchange;
  refuseOtherSites(deps, request);
  const session = browserSession(deps, request);
  const form = readForm(request);
  if (session === undefined || !isCsrfToken(session.key, form.get('csrf') ?? undefined)) {
    throw new SignInError('the form is not of a page that this session was shown', {
      reason: 'csrf',
      code: 403,
      shown: 'This page is of another session, or too old. Go back to the program and begin again.',
    });
  }
  return { session, form };
}

/** Creates the key of the approving person and responds with it. Throws SignInError. */
export async function keyAnswer(exchange: Exchange, agreed: Approval): Promise<FastifyReply> {
  const { deps, request, reply, facts } = exchange;
  const holder = deps.authenticate(agreed.key);
  if (!('user' in holder)) {
    throw new SignInError('the approving user is signed out', { reason: 'invalid_grant' });
  }
  const { name: user, accessKey } = holder.user;
  const { displayName } = agreed;
  facts['user'] = user;
  const login = await deps.signIn.keyFor(accessKey, { user, displayName, requestId: request.id });
  facts['access-key'] = login.name;
  const made = deps.authenticate(login.key);
  const end = 'user' in made ? made.keyExpiresAt : undefined;
  return json(reply, 200, {
    user: login.user,
    accessKey: login.key,
    apiRoot: deps.root,
    ...expiration(end),
  });
}

/** End of a key for programs; empty for a key without an end. */
export function expiration(end: number | undefined): { expirationTimestamp?: string } {
  return end === undefined || !Number.isFinite(end) ? {} : { expirationTimestamp: rfc3339(end) };
}

/** `{error, error_description}` (RFC 6749, section 5.2). */
export const asOAuthError: Refusal = ({ reply }, { error, reference }) => {
  const { code, reason, shown, retryAfterSeconds: retry } = error;
  if (retry !== undefined) void reply.header('retry-after', String(retry));
  const word = OAUTH_ERRORS.has(reason) ? reason : code >= 500 ? 'server_error' : 'invalid_request';
  return json(reply, code, {
    error: code === 403 ? 'access_denied' : word,
    error_description: `${shown} (${reference})`,
  });
};

const OAUTH_ERRORS = new Set([
  ...['invalid_grant', 'authorization_pending', 'slow_down', 'access_denied', 'expired_token'],
  'unsupported_grant_type',
]);

export function json(reply: FastifyReply, code: number, body: object): FastifyReply {
  return reply.code(code).header('content-type', 'application/json').send(JSON.stringify(body));
}
