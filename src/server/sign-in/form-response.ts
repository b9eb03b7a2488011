/**
 * Responses to forms of the sign-in page, which programs may also post as JSON: a browser gets a session
 * and a redirect, a program gets a key.
 */
import type { FastifyReply } from 'fastify';
import { type LoginKey, safeReturnTo } from '../../sign-in/index.ts';
import { mediaTypeOf } from '../input/body.ts';
import { beginSession, keepUsername } from './browser.ts';
import { asStatus, type Exchange, type Refusal } from './exchange.ts';
import { readFields } from './forms.ts';

/** `returnTo` as in the form, unchecked. */
export async function respondToLogin(
  exchange: Exchange,
  { login, returnTo }: { login: LoginKey; returnTo: string | undefined },
): Promise<FastifyReply> {
  const { reply, facts } = exchange;
  facts['user'] = login.user;
  facts['access-key'] = login.name;
  if (isForm(exchange)) {
    await beginSession(exchange, login.key);
    return reply.redirect(safeReturnTo(returnTo), 303);
  }
  const body = { user: login.user, username: login.user, accessKey: login.key };
  return reply.header('content-type', 'application/json').send(JSON.stringify(body));
}

function isForm({ request }: Pick<Exchange, 'request'>): boolean {
  return mediaTypeOf(request.headers['content-type']) !== 'application/json';
}

/** Redirects a form to its page, which shows the reason. */
export const redirectToForm: Refusal = (exchange, of) => {
  if (!isForm(exchange)) return asStatus(exchange, of);
  const query = new URLSearchParams({ error: of.error.reason, reference: of.reference });
  const returnTo = safeReturnTo(fieldOf(exchange, 'returnTo'));
  if (returnTo !== '/') query.set('returnTo', returnTo);
  const username = fieldOf(exchange, 'username') ?? '';
  if (username !== '' && username.length <= LONGEST_NAME) {
    keepUsername(exchange.deps, exchange.reply, username);
  }
  return exchange.reply.redirect(`/login?${query.toString()}`, 303);
};

const LONGEST_NAME = 256;

function fieldOf({ request }: Exchange, name: string): string | undefined {
  try {
    return readFields(request).get(name);
  } catch {
    return undefined;
  }
}
