/**
 * `POST /auth/password/login`: a form of the sign-in page, which begins a session of the browser, or
 * JSON of a program, which is answered with the key.
 */
import type { FastifyInstance } from 'fastify';
import { safeReturnTo } from '../../signin/return-to.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { mediaTypeOf } from '../input/body.ts';
import { beginSession, refuseOtherSites } from './browser.ts';
import { asStatus, type Exchange, limitSlowBody, type Refusal, signInRoute } from './exchange.ts';
import { readFields } from './forms.ts';

const MOST_BYTES = 16 * 1024;

export function registerPassword(app: FastifyInstance, deps: ServerDependencies): void {
  const config = { ownAccess: true };
  app.post(
    '/auth/password/login',
    { config, bodyLimit: MOST_BYTES, onRequest: limitSlowBody },
    signInRoute(deps, {
      facts: () => ({ connector: 'password' }),
      signsIn: true,
      refuse,
      work: async (exchange) => {
        const { request, reply, facts } = exchange;
        refuseOtherSites(deps, request);
        const fields = readFields(request);
        const username = fields.get('username') ?? '';
        const password = fields.get('password') ?? '';
        const of = { username, password, address: request.ip, requestId: request.id };
        const login = await deps.signIn.passwords.signIn(of);
        facts['user'] = login.user;
        facts['access-key'] = login.name;
        if (isForm(exchange)) {
          beginSession(deps, reply, login.key);
          return reply.redirect(safeReturnTo(fields.get('returnTo')), 303);
        }
        const body = { user: login.user, username: login.user, accessKey: login.key };
        return reply.header('content-type', 'application/json').send(JSON.stringify(body));
      },
    }),
  );
}

function isForm({ request }: Exchange): boolean {
  return mediaTypeOf(request.headers['content-type']) !== 'application/json';
}

/** A form goes back to the page that it came from, which has words for the reason. */
const refuse: Refusal = (exchange, of) => {
  if (!isForm(exchange)) return asStatus(exchange, of);
  const query = new URLSearchParams({ error: of.error.reason, reference: of.reference });
  const returnTo = safeReturnTo(returnToOf(exchange));
  if (returnTo !== '/') query.set('returnTo', returnTo);
  return exchange.reply.redirect(`/login?${query.toString()}`, 303);
};

function returnToOf({ request }: Exchange): string | undefined {
  try {
    return readFields(request).get('returnTo');
  } catch {
    return undefined;
  }
}
