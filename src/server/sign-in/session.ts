/**
 * `GET /auth/session`: who uses the browser, and what its pages send with changes. `POST
 * /auth/token {key}`: whether a key works, and whose it is.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { User } from '../../apimachinery/request.ts';
import { csrfToken } from '../../signin/cookies.ts';
import { SignInError } from '../../signin/sign-in-error.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { browserSession } from './browser.ts';
import { asStatus, limitSlowBody, signInRoute } from './exchange.ts';
import { readFields } from './forms.ts';

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
        return json(reply, { ...shown(session.user), csrfToken: csrfToken(session.key) });
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
        if ('message' in found) {
          const wait = deps.failedLogins.failed(request.ip);
          throw wait > 0 ? tooMany(wait) : notSignedIn();
        }
        facts['user'] = found.user.name;
        return json(reply, shown(found.user));
      },
    }),
  });
}

function shown({ name, groups, accessKey }: User): object {
  return { user: name, username: name, groups, ...(accessKey === undefined ? {} : { accessKey }) };
}

function json(reply: FastifyReply, body: object): FastifyReply {
  return reply.header('content-type', 'application/json').send(JSON.stringify(body));
}

function notSignedIn(): SignInError {
  return new SignInError('nobody is signed in', {
    reason: 'not-signed-in',
    code: 401,
    shown: 'Nobody is signed in here.',
  });
}

function tooMany(seconds: number): SignInError {
  return new SignInError('too many failed attempts', {
    reason: 'too-many',
    code: 429,
    retryAfterSeconds: seconds,
  });
}
