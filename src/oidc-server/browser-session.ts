/**
 * The session of the library follows the session that the person has with the platform: whoever is
 * signed in there is signed in here, and nobody else is. It only remembers which clients the browser
 * was at.
 */
import type { IncomingMessage } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { PersonSession } from './account-claims.ts';

/** Undefined for nobody who may sign in at clients. */
export type UsableSession = (request: IncomingMessage) => PersonSession | undefined;

export function followPlatform(provider: Provider, sessionOf: UsableSession): void {
  const { Session } = provider;
  const own = Session.get.bind(Session);
  Session.get = async (ctx) => {
    const session = await own(ctx);
    const current = sessionOf(ctx.req);
    if (session.accountId !== undefined && session.accountId !== current?.person) {
      // Same uid: an authorization that is under way goes on, as whoever is signed in now.
      Object.assign(session, {
        accountId: undefined,
        loginTs: undefined,
        authorizations: undefined,
      });
      session.resetIdentifier();
    }
    if (current !== undefined) {
      session.loginAccount({
        accountId: current.person,
        loginTs: Math.floor(current.signedInAt / 1000),
      });
    }
    return session;
  };
}
