/**
 * The interaction step of an authorization: sign-in, or a new sign-in, on the pages of the platform, which
 * redirect back here. No approval is asked, because an administrator configured the clients.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { decodeJwt } from 'jose';
import type { InteractionResults, Provider } from 'oidc-provider';
import type { ExpiringMap } from '../apimachinery/index.ts';
import type { PersonSession } from './account-claims.ts';
import type { Clients } from './clients.ts';

export interface InteractionParts {
  readonly provider: Provider;
  readonly clients: Clients;
  /** The current person, whether or not the key may be used here. */
  readonly sessionOf: (request: IncomingMessage) => PersonSession | undefined;
  /** Sign-in page that returns to a path; `again`: also for a person who is signed in. */
  readonly signInUrl: (returnTo: string, again: boolean) => string;
  /** Path of this step, with the path of the base URL. */
  readonly path: string;
  /** Step → key that the browser had when it reached a step that requires another one. */
  readonly hadKeys: ExpiringMap<string>;
  /** Networks of the request, widest first. */
  readonly networks: readonly string[];
}

/** Throws an error of the library if no browser is at this step. */
export async function answerInteraction(
  { provider, clients, sessionOf, signInUrl, path, hadKeys, networks }: InteractionParts,
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
  const isDone = hasSignedIn({ hadKeys, networks }, step, session);
  if (session === undefined || !isDone) {
    return redirect(response, signInUrl(path, session !== undefined));
  }
  if (!session.isWhole) return await finish(DENIED);
  // Another person signed in than the client asked for, and the library checks only once.
  if (![undefined, session.person].includes(askedFor(step))) return await finish(ANOTHER);
  const ts = Math.floor(session.signedInAt / 1000);
  return await finish({ login: { accountId: session.person, remember: false, ts } });
}

/** The client changed during the sign-in, so that its redirect URI is no longer valid. */
export class RedirectGoneError extends Error {}

const DENIED: InteractionResults = {
  error: 'access_denied',
  error_description: 'the access key behind the session is limited by a scope',
};
const ANOTHER: InteractionResults = {
  error: 'login_required',
  error_description: 'another user is signed in',
};

interface Step {
  readonly uid: string;
  readonly iat: number;
  readonly params: Readonly<Record<string, unknown>>;
  readonly prompt: { readonly name: string; readonly reasons: readonly string[] };
}

/** Reasons for which the current sign-in does not suffice. */
const AGAIN = ['login_prompt', 'id_token_hint', 'max_age'];
/** Longest duration of a step. */
export const STEP_SECONDS = 600;

/** Key times have whole seconds; a different key shows that the person signed in since. */
function hasSignedIn(
  { hadKeys, networks }: Pick<InteractionParts, 'hadKeys' | 'networks'>,
  { uid, iat, prompt }: Step,
  session: PersonSession | undefined,
): boolean {
  if (!prompt.reasons.some((reason) => AGAIN.includes(reason))) return session !== undefined;
  const had = hadKeys.get(uid);
  if (had === undefined)
    hadKeys.set(uid, session?.key ?? '', { seconds: STEP_SECONDS, owner: networks });
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
