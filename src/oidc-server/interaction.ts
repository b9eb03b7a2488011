/**
 * The step in which a person has to do something: sign in, or sign in again. That happens on the
 * pages of the platform, which lead back here; nothing else is asked, since an administrator chose
 * the clients.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { decodeJwt } from 'jose';
import type { InteractionResults, Provider } from 'oidc-provider';
import type { PersonSession } from './account-claims.ts';
import type { Clients } from './clients.ts';
import type { ExpiringMap } from './expiring-map.ts';

export interface InteractionParts {
  readonly provider: Provider;
  readonly clients: Clients;
  /** Whoever is signed in, with a key that may be used here or not. */
  readonly sessionOf: (request: IncomingMessage) => PersonSession | undefined;
  /** What the sign-in page is told to come back to; `again`: although somebody is signed in. */
  readonly signInUrl: (returnTo: string, again: boolean) => string;
  /** Where this step is, with the path of the base URL. */
  readonly path: string;
  /** Step → the key that the browser had when it came to a step that asks for another. */
  readonly hadKeys: ExpiringMap<string>;
  /** Network address that the request came from. */
  readonly network: string;
}

/** Throws an error of the library for a step that nobody is at. */
export async function answerInteraction(
  { provider, clients, sessionOf, signInUrl, path, hadKeys, network }: InteractionParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const step = await provider.interactionDetails(request, response);
  const finish = (result: InteractionResults): Promise<void> =>
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  const { client_id: clientId, redirect_uri: uri } = step.params;
  if (!clients.allowsRedirect(String(clientId), uri as string | undefined)) {
    throw new RedirectGoneError();
  }
  if (step.prompt.name === 'consent') return await finish({ consent: {} });
  const session = sessionOf(request);
  const isDone = hasSignedIn({ hadKeys, network }, step, session);
  if (session === undefined || !isDone) {
    return redirect(response, signInUrl(path, session !== undefined));
  }
  if (!session.isWhole) return await finish(DENIED);
  // They signed in as somebody else than the client asked for, and the library looks but once.
  if (![undefined, session.person].includes(askedFor(step))) return await finish(ANOTHER);
  const ts = Math.floor(session.signedInAt / 1000);
  return await finish({ login: { accountId: session.person, remember: false, ts } });
}

/** The client was changed while somebody signed in: there is nowhere to send them back to. */
export class RedirectGoneError extends Error {}

const DENIED: InteractionResults = {
  error: 'access_denied',
  error_description: 'the access key behind the session is limited by a scope',
};
const ANOTHER: InteractionResults = {
  error: 'login_required',
  error_description: 'somebody else is signed in',
};

interface Step {
  readonly uid: string;
  readonly iat: number;
  readonly params: Readonly<Record<string, unknown>>;
  readonly prompt: { readonly name: string; readonly reasons: readonly string[] };
}

/** Reasons for which the sign-in that there is does not do. */
const AGAIN = ['login_prompt', 'id_token_hint', 'max_age'];
/** A step lasts no longer. */
export const STEP_SECONDS = 600;

/** Times of keys have whole seconds: that it is another key tells that somebody signed in since. */
function hasSignedIn(
  { hadKeys, network }: Pick<InteractionParts, 'hadKeys' | 'network'>,
  { uid, iat, prompt }: Step,
  session: PersonSession | undefined,
): boolean {
  if (!prompt.reasons.some((reason) => AGAIN.includes(reason))) return session !== undefined;
  const had = hadKeys.get(uid);
  if (had === undefined)
    hadKeys.set(uid, session?.key ?? '', { seconds: STEP_SECONDS, owner: network });
  if (had === undefined || session === undefined) return false;
  return session.key !== had && session.signedInAt >= iat * 1000;
}

/** The hint was verified when the step began. */
function askedFor({ params }: Step): string | undefined {
  const { id_token_hint: hint } = params;
  return typeof hint === 'string' ? decodeJwt(hint).sub : undefined;
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'content-length': '0', 'cache-control': 'no-store' });
  response.end();
}
