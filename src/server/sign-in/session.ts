/**
 * `GET /auth/session`: the session of the browser, and the CSRF token for changes. `POST /auth/token
 * {key}`: validity and holder of a key. `POST /auth/revoke {key}`: ends a login key.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { User } from '../../apimachinery/index.ts';
import { csrfToken, SignInError, tooManyAttempts } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { browserSession } from './browser.ts';
import { asStatus, limitSlowBody, signInRoute } from './exchange.ts';
import { readFields } from './forms.ts';
import { expiration, json } from './key-approval.ts';

const MOST_BYTES = 16 * 1024;

export function registerSession(app: FastifyInstance, deps: ServerDependencies): void {
  const config = { ownAccess: true };
  app.get('/auth/session', {
    config,
    handler: signInRoute(deps, {
      signsIn: false,
      refuse: asStatus,
      work: ({ request, reply, facts }) => {
        const session = browserSession(deps, request);
        if (session === undefined) throw notSignedIn();
        facts['user'] = session.user.name;
        return json(reply, 200, { ...shown(session.user), csrfToken: csrfToken(session.key) });
      },
    }),
  });
  app.post('/auth/token', {
    config,
    bodyLimit: MOST_BYTES,
    onRequest: limitSlowBody,
    handler: signInRoute(deps, {
      signsIn: false,
      refuse: asStatus,
      work: ({ request, reply, facts }) => {
        const found = deps.authenticate(readFields(request).get('key') ?? '');
        if ('message' in found) throw refused(deps, request);
        facts['user'] = found.user.name;
        const end = expiration(found.keyExpiresAt);
        return json(reply, 200, { ...shown(found.user), apiRoot: deps.root, ...end });
      },
    }),
  });
  app.post('/auth/revoke', {
    config,
    bodyLimit: MOST_BYTES,
    onRequest: limitSlowBody,
    handler: signInRoute(deps, {
      signsIn: false,
      refuse: asStatus,
      work: async ({ request, reply, facts }) => {
        // The holder of a key may end it.
        const found = deps.authenticate(readFields(request).get('key') ?? '');
        if ('message' in found) throw refused(deps, request);
        const { name, accessKey } = found.user;
        facts['user'] = name;
        const isEnded = accessKey !== undefined && deps.signIn.accounts.isLogin(accessKey);
        if (isEnded) await deps.signIn.accounts.revoke(accessKey);
        return json(reply, 200, { revoked: isEnded });
      },
    }),
  });
}

function shown({ name, groups, accessKey }: User): object {
  return { user: name, username: name, groups, ...(accessKey === undefined ? {} : { accessKey }) };
}

function refused({ failedLogins }: ServerDependencies, { ip }: FastifyRequest): SignInError {
  const wait = failedLogins.failed(ip);
  return wait > 0 ? tooManyAttempts(wait) : notSignedIn();
}

function notSignedIn(): SignInError {
  return new SignInError('no user is signed in', {
    reason: 'not-signed-in',
    code: 401,
    shown: 'Nobody is signed in here.',
  });
}
