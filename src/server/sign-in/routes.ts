/**
 * `/auth/<connector>/…`: to a provider and back. These routes are public: responses repeat nothing of a
 * request, and its content is not used before its attempt is known.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FailedLogins } from '../../auth/index.ts';
import { type Callback, type ProviderRedirect, tooManyAttempts } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import {
  beginSession,
  browserId,
  browserSession,
  cookieOf,
  endSession,
  keepAttempt,
  keptReturnTo,
  refuseOtherSites,
} from './browser.ts';
import { registerCli } from './cli-routes.ts';
import { registerDevice } from './device-routes.ts';
import { type Exchange, limitSlowBody, signInRoute } from './exchange.ts';
import { readForm } from './forms.ts';
import { registerLink } from './link-route.ts';
import { LOGIN_PAGE, registerLogin } from './login-route.ts';
import { POSTING_CSP, postingPage, sendPage } from './pages.ts';
import { registerPassword } from './password.ts';
import { registerProviderToken } from './provider-token.ts';
import { registerSession } from './session.ts';

/** Attempts that one address may begin at once, then one per second. */
const BEGIN_RATE = { burst: 60, perSecond: 1 };
/** Large enough for a SAML response in base64. */
const MOST_FORM_BYTES = 384 * 1024;

export function registerSignIn(app: FastifyInstance, deps: ServerDependencies): void {
  const config = { ownAccess: true };
  const begun = new FailedLogins(deps.clock, BEGIN_RATE);
  const withConnector = (request: FastifyRequest) => ({ connector: idOf(request) });

  app.get(
    '/auth/:id/login',
    { config },
    signInRoute(deps, {
      facts: withConnector,
      signsIn: false,
      work: async (exchange) => {
        const wait = begun.failed(exchange.request.ip);
        if (wait > 0) throw tooManyAttempts(wait);
        return await sendOff(exchange);
      },
    }),
  );
  app.get(
    '/auth/:id/callback',
    { config },
    signInRoute(deps, {
      facts: withConnector,
      signsIn: true,
      work: async (exchange) => {
        const form = new URLSearchParams();
        const state = callbackOf(exchange, form).url.searchParams.get('state');
        const of = { ...ofBrowser(exchange, state), method: 'GET', form } as const;
        return await welcome(exchange, of);
      },
    }),
  );
  app.post(
    '/auth/:id/callback',
    { config, bodyLimit: MOST_FORM_BYTES, onRequest: limitSlowBody },
    signInRoute(deps, {
      facts: withConnector,
      signsIn: false,
      work: async (exchange) => {
        const { request, reply } = exchange;
        const id = idOf(request);
        const fields = await deps.signIn.post(id, callbackOf(exchange, readForm(request)));
        // The cookie that identifies the browser comes only with requests from our own pages.
        return follow(reply, { kind: 'post', url: `/auth/${id}/finish`, fields });
      },
    }),
  );
  app.post(
    '/auth/:id/finish',
    { config, bodyLimit: MOST_FORM_BYTES, onRequest: limitSlowBody },
    signInRoute(deps, {
      facts: withConnector,
      signsIn: true,
      work: async (exchange) => {
        const form = readForm(exchange.request);
        const of = {
          ...ofBrowser(exchange, form.get('RelayState')),
          method: 'POST',
          form,
        } as const;
        return await welcome(exchange, of);
      },
    }),
  );
  registerLogin(app, deps);
  registerLink(app, deps);
  registerCli(app, deps);
  registerDevice(app, deps);
  registerPassword(app, deps);
  registerProviderToken(app, deps);
  registerSession(app, deps);
  for (const url of ['/auth/:id/logout', '/auth/logout']) {
    app.route({
      method: ['GET', 'POST'],
      url,
      config,
      bodyLimit: MOST_FORM_BYTES,
      onRequest: limitSlowBody,
      handler: signInRoute(deps, { signsIn: false, work: signOut }),
    });
  }
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id?: string }).id ?? '';
}

async function sendOff(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request, reply, signal } = exchange;
  const { returnTo } = request.query as { returnTo?: unknown };
  const browser = browserId(deps, request);
  const { sendOff: next, state } = await deps.signIn.begin(idOf(request), { browser, signal });
  keepAttempt(deps, reply, { browser, state, returnTo });
  return follow(reply, next);
}

function follow(reply: FastifyReply, next: ProviderRedirect): FastifyReply {
  if (next.kind === 'redirect') return reply.redirect(next.url, 303);
  return sendPage(reply, { code: 200, html: postingPage(next), csp: POSTING_CSP });
}

function callbackOf({ deps, request }: Exchange, form: URLSearchParams): Callback {
  return { url: new URL(request.url, deps.signIn.baseUrl), form };
}

/** Cookie of the browser for the attempt of `state`. */
function ofBrowser({ deps, request }: Exchange, state: string | null) {
  return {
    cookie: cookieOf(deps, request, 'login'),
    returnTo: state === null ? undefined : keptReturnTo(deps, request, state),
  };
}

/** Gives the browser its key, and redirects to its page. */
async function welcome(
  exchange: Exchange,
  of: ReturnType<typeof ofBrowser> & { method: 'GET' | 'POST'; form: URLSearchParams },
): Promise<FastifyReply> {
  const { deps, request, reply, facts, signal } = exchange;
  const callback = callbackOf(exchange, of.form);
  const requestId = request.id;
  const { login, identity, returnTo } = await deps.signIn.complete(idOf(request), {
    ...of,
    callback,
    requestId,
    signal,
  });
  facts['user'] = login.user;
  facts['access-key'] = login.name;
  if (identity.provided.isUnchecked) facts['identity'] = 'unchecked';
  await beginSession(exchange, login.key);
  return reply.redirect(returnTo, 303);
}

/** Ends the session here first, and then at the provider. */
async function signOut(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request, reply, facts } = exchange;
  refuseOtherSites(deps, request);
  const session = browserSession(deps, request);
  const keyName = session?.user.accessKey;
  const identity = keyName === undefined ? undefined : deps.signIn.accounts.identityOf(keyName);
  if (session !== undefined) facts['user'] = session.user.name;
  if (keyName !== undefined) await deps.signIn.accounts.revoke(keyName);
  endSession(deps, reply);
  const wanted = idOf(request);
  const id = wanted === '' ? identity?.connector : wanted;
  const known = identity?.connector === id ? identity?.provided : undefined;
  const there = id === undefined ? undefined : await deps.signIn.logoutUrl(id, known);
  return reply.redirect(there ?? `${LOGIN_PAGE}?signed-out=1`, 303);
}
