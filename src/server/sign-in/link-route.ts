/** `GET /auth/link?code=`: the link that the daemon prints at its start signs a user in once. */
import type { FastifyInstance } from 'fastify';
import { FailedLogins } from '../../auth/index.ts';
import { SignInError, tooManyAttempts } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { CONSOLE_PATH } from '../paths.ts';
import { beginSession } from './browser.ts';
import { signInRoute } from './exchange.ts';

const RATE = { burst: 20, perSecond: 1 / 5 };

export function registerLink(app: FastifyInstance, deps: ServerDependencies): void {
  const tried = new FailedLogins(deps.clock, RATE);
  app.get('/auth/link', {
    config: { ownAccess: true },
    handler: signInRoute(deps, {
      facts: () => ({ connector: 'link' }),
      signsIn: true,
      work: async (exchange) => {
        const { request, reply, facts } = exchange;
        const code = new URLSearchParams(request.url.split('?')[1]).get('code') ?? '';
        const user = await tried.attempt(request.ip, tooManyAttempts, async () => userOf(code));
        const login = await deps.signIn.accounts.mint({
          user,
          displayName: 'Signed in with the link of the start',
          requestId: request.id,
        });
        facts['user'] = login.user;
        facts['access-key'] = login.name;
        await beginSession(exchange, login.key);
        return reply.redirect(CONSOLE_PATH, 303);
      },
    }),
  });

  function userOf(code: string): string {
    const user = deps.signIn.links.redeem(code);
    if (user !== undefined) return user;
    throw new SignInError('the link is unknown, used or too old', {
      reason: 'bad-link',
      code: 401,
      shown: 'This link does not work any more. A link works once, for ten minutes.',
    });
  }
}
