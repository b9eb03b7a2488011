/**
 * `POST /auth/providerE/login {token}`: for a provider whose users show a token. The token is used to ask
 * the provider for its user, and not stored.
 */
import type { FastifyInstance } from 'fastify';
import { FailedLogins } from '../../auth/index.ts';
import { tooManyAttempts } from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { refuseOtherSites } from './browser.ts';
import { limitSlowBody, signInRoute } from './exchange.ts';
import { redirectToForm, respondToLogin } from './form-response.ts';
import { readFields } from './forms.ts';

const ID = 'providerE';
const MOST_BYTES = 16 * 1024;
/** Limit of failed tokens per address, because each one is a request to the provider. */
const RATE = { burst: 20, perSecond: 1 / 5 };

export function registerProviderToken(app: FastifyInstance, deps: ServerDependencies): void {
  const tried = new FailedLogins(deps.clock, RATE);
  app.post(
    `/auth/${ID}/login`,
    { config: { ownAccess: true }, bodyLimit: MOST_BYTES, onRequest: limitSlowBody },
    signInRoute(deps, {
      facts: () => ({ connector: ID }),
      signsIn: true,
      refuse: redirectToForm,
      work: async (exchange) => {
        const { request, signal } = exchange;
        refuseOtherSites(deps, request);
        const fields = readFields(request);
        const token = fields.get('token') ?? '';
        const { login } = await tried.attempt(request.ip, tooManyAttempts, () =>
          deps.signIn.verify(ID, { token, requestId: request.id, signal }),
        );
        return await respondToLogin(exchange, { login, returnTo: fields.get('returnTo') });
      },
    }),
  );
}
