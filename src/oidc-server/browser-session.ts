/**
 * The session of the library, which follows the session of the platform: the same person is signed in at
 * both. It only records which clients the browser visited.
 */
import type { IncomingMessage } from 'node:http';
import type { Provider } from 'oidc-provider';
import type { PersonSession } from './account-claims.ts';

/** Undefined: nobody who may sign in at clients. */
export type UsableSession = (request: IncomingMessage) => PersonSession | undefined;

export function followPlatform(provider: Provider, sessionOf: UsableSession): void {
  const { Session } = provider;
  const own = Session.get.bind(Session);
  Session.get = async (ctx) => {
    const session = await own(ctx);
    const current = sessionOf(ctx.req);
    if (session.accountId !== undefined && session.accountId !== current?.person) {
      // The uid stays, so that an authorization in progress continues as the current person.
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
