/** `GET /login`: sign in, see the current session, sign out. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { signInInfo } from '../../config/index.ts';
import { csrfToken, safeReturnTo } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { CONSOLE_PATH } from '../paths.ts';
import { browserSession, keptUsername } from './browser.ts';
import { type Exchange, signInRoute } from './exchange.ts';
import { sendPage } from './html-response.ts';
import { hidden, loginBody, signedInBody } from './login-page.ts';
import type { Notice } from './page.ts';

export const LOGIN_PAGE = '/login';

export function registerLogin(app: FastifyInstance, deps: ServerDependencies): void {
  app.get(LOGIN_PAGE, {
    config: { ownAccess: true },
    handler: signInRoute(deps, { signsIn: false, work: loginPage }),
  });
}

/** Redirect to the sign-in page, which returns to the request. */
export function loginFirst(exchange: Exchange): FastifyReply {
  const returnTo = safeReturnTo(exchange.request.url);
  return exchange.reply.redirect(`${LOGIN_PAGE}?${new URLSearchParams({ returnTo })}`, 303);
}

async function loginPage(exchange: Exchange): Promise<FastifyReply> {
  const { deps, request, reply, facts } = exchange;
  const query = new URLSearchParams(request.url.split('?')[1]);
  const wanted = safeReturnTo(query.get('returnTo'));
  const isBare = wanted === '/';
  const returnTo = isBare ? CONSOLE_PATH : wanted;
  const notice = noticeOf(query);
  // Some targets require a fresh sign-in.
  const isAgain = query.get('prompt') === 'login';
  const session = isAgain ? undefined : browserSession(deps, request);
  if (session !== undefined) {
    facts['user'] = session.user.name;
    const isElsewhere = !isBare && !returnTo.startsWith(LOGIN_PAGE);
    if (isElsewhere && notice === undefined) return reply.redirect(returnTo, 303);
    return await sendPage(exchange, {
      title: 'You are signed in',
      body: signedInBody({
        user: session.user.name,
        csrf: hidden({ csrf: csrfToken(session.key) }),
        logoutEndpoint: '/auth/logout',
        baseUrl: deps.signIn.baseUrl,
        notice,
      }),
      // The form leads from here to the sign-out page of the provider.
      formTargets: ['https:', 'http:'],
    });
  }
  const { auth, platformHost: host } = deps.config.current;
  const { methods } = signInInfo(auth);
  return await sendPage(exchange, {
    title: notice?.tone === 'alert' ? 'Error: Sign in' : 'Sign in',
    body: loginBody({ methods, returnTo, notice, host, username: keptUsername(deps, request) }),
    isSignIn: true,
  });
}

/** Messages for the reasons in the query; other values are not shown. */
const REASONS: Readonly<Record<string, string>> = {
  'wrong-password': 'The user name or the password is wrong.',
  'too-many': 'Too many attempts. Wait a while, and try again.',
  'password-disabled': 'Nobody signs in with a password here.',
  'bad-token': 'The token is not taken. It may be wrong, or too old.',
};

function noticeOf(query: URLSearchParams): Notice | undefined {
  const error = query.get('error');
  if (error !== null) {
    const known = Object.hasOwn(REASONS, error) ? REASONS[error] : undefined;
    const reference = query.get('reference') ?? '';
    const shown = /^[0-9a-f-]{36}$/.test(reference) ? ` Reference: ${reference}` : '';
    const text = known ?? `Signing in did not work. Try again.${shown}`;
    return { tone: 'alert', text };
  }
  return query.has('signed-out') ? { tone: 'good', text: 'You are signed out.' } : undefined;
}
