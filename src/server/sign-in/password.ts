/**
 * `POST /auth/password/login`: a form of the sign-in page, which begins a browser session, or JSON of a
 * program, which gets the key.
 */
import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { refuseOtherSites } from './browser.ts';
import { limitSlowBody, signInRoute } from './exchange.ts';
import { redirectToForm, respondToLogin } from './form-response.ts';
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
      refuse: redirectToForm,
      work: async (exchange) => {
        const { request } = exchange;
        refuseOtherSites(deps, request);
        const fields = readFields(request);
        const username = fields.get('username') ?? '';
        const password = fields.get('password') ?? '';
        const of = { username, password, address: request.ip, requestId: request.id };
        const login = await deps.signIn.passwords.signIn(of);
        return await respondToLogin(exchange, { login, returnTo: fields.get('returnTo') });
      },
    }),
  );
}
