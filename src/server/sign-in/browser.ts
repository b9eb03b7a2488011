/** Browser sessions, and cookies that tie sign-in attempts to a browser. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { User } from '../../apimachinery/index.ts';
import type { PlatformConfig } from '../../config/index.ts';
import {
  type CookieUse,
  cookieName,
  isSameOrigin,
  random,
  readCookie,
  SignInError,
  safeReturnTo,
  setCookie,
} from '../../sign-in/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Exchange } from './exchange.ts';

/** Session of a browser. */
export interface BrowserSession {
  readonly user: User;
  /** Text of the login key. */
  readonly key: string;
}

export function cookieOf(
  deps: Pick<ServerDependencies, 'signIn'>,
  request: Pick<FastifyRequest, 'headers'>,
  use: CookieUse,
): string | undefined {
  return readCookie(request.headers.cookie, cookieName(use, deps.signIn.baseUrl));
}

/** Session of the cookie; undefined: the browser is not signed in. */
export function browserSession(
  deps: ServerDependencies,
  request: Pick<FastifyRequest, 'headers'>,
): BrowserSession | undefined {
  const key = cookieOf(deps, request, 'session');
  const found = key === undefined ? undefined : deps.authenticate(key);
  return key !== undefined && found !== undefined && 'user' in found
    ? { user: found.user, key }
    : undefined;
}

/** Another site may link here, but must neither sign a person in nor out. Throws SignInError. */
export function refuseOtherSites(
  deps: Pick<ServerDependencies, 'signIn'>,
  request: FastifyRequest,
): void {
  const { headers } = request;
  // Typed, or from a bookmark.
  if (request.method === 'GET' && headers['sec-fetch-site'] === 'none') return;
  if (isSameOrigin(headers, new URL(deps.signIn.baseUrl).origin) !== false) return;
  throw new SignInError('the request comes from another site', { reason: 'other-site', code: 403 });
}

const BROWSER_ID = /^[\w-]{43}$/;

/** Id that ties an attempt to the browser; created if the browser has none. */
export function browserId(deps: ServerDependencies, request: FastifyRequest): string {
  const known = cookieOf(deps, request, 'login');
  return known !== undefined && BROWSER_ID.test(known) ? known : random();
}

const ATTEMPT_SECONDS = 15 * 60;

/** Concurrent attempts of one browser that each have a page to return to. */
const RETURN_SLOTS = 4;
/** Keeps the cookies of all slots far below the size limit of request headers. */
const LONGEST_RETURN = 1024;
/** Characters of `state` that identify an attempt. */
const ATTEMPT_NAME = 16;

/** State that only the browser holds: its id, and the page to return to. */
export function keepAttempt(
  deps: ServerDependencies,
  reply: FastifyReply,
  of: { readonly browser: string; readonly state: string; readonly returnTo: unknown },
): void {
  const { baseUrl } = deps.signIn;
  const kept = { baseUrl, maxAgeSeconds: ATTEMPT_SECONDS };
  const wanted = safeReturnTo(typeof of.returnTo === 'string' ? of.returnTo : undefined);
  const page = Buffer.from(wanted.length > LONGEST_RETURN ? '/' : wanted).toString('base64url');
  const value = `${of.state.slice(0, ATTEMPT_NAME)}.${page}`;
  void reply.header('set-cookie', [
    setCookie('login', { ...kept, value: of.browser }),
    setCookie(returnCookie(of.state), { ...kept, value }),
  ]);
}

/** Undefined: the browser has none for the attempt. Unverified: anyone may write a cookie. */
export function keptReturnTo(
  deps: ServerDependencies,
  request: FastifyRequest,
  state: string,
): string | undefined {
  const [name, page] = cookieOf(deps, request, returnCookie(state))?.split('.') ?? [];
  if (page === undefined || name !== state.slice(0, ATTEMPT_NAME)) return undefined;
  return Buffer.from(page, 'base64url').toString('utf8');
}

/** Long enough for the redirect to the form. */
const USERNAME_SECONDS = 60;

/** Keeps a user name for the form that is shown again. Not in the URL: people type passwords there. */
export function keepUsername(
  { signIn }: ServerDependencies,
  reply: FastifyReply,
  name: string,
): void {
  const { baseUrl } = signIn;
  const value = Buffer.from(name).toString('base64url');
  const kept = { baseUrl, value, maxAgeSeconds: USERNAME_SECONDS };
  void reply.header('set-cookie', setCookie('username', kept));
}

/** Undefined: none is kept. */
export function keptUsername(
  deps: ServerDependencies,
  request: FastifyRequest,
): string | undefined {
  const value = cookieOf(deps, request, 'username');
  return value === undefined ? undefined : Buffer.from(value, 'base64url').toString('utf8');
}

function returnCookie(state: string): CookieUse {
  return `return-${state.charCodeAt(0) % RETURN_SLOTS}`;
}

/** Clears the cookies of all attempts after one of them succeeded. */
function forgottenAttempts(request: FastifyRequest, baseUrl: string): string[] {
  const uses = Array.from({ length: RETURN_SLOTS }, (_, slot): CookieUse => `return-${slot}`);
  const isKept = (use: CookieUse): boolean =>
    readCookie(request.headers.cookie, cookieName(use, baseUrl)) !== undefined;
  return ['login' as const, ...uses.filter(isKept)].map((use) => setCookie(use, { baseUrl }));
}

/**
 * Gives the key to the browser, for as long as the key can live. The former key of the browser is revoked,
 * so that nobody can find it.
 */
export async function beginSession(
  { deps, request, reply }: Pick<Exchange, 'deps' | 'request' | 'reply'>,
  key: string,
): Promise<void> {
  const before = browserSession(deps, request)?.user.accessKey;
  if (before !== undefined) await deps.signIn.accounts.revoke(before);
  const maxAgeSeconds = longestLife(deps.config.current.auth);
  const { baseUrl } = deps.signIn;
  const session = setCookie('session', { baseUrl, value: key, maxAgeSeconds });
  void reply.header('set-cookie', [session, ...forgottenAttempts(request, baseUrl)]);
}

export function endSession(deps: ServerDependencies, reply: FastifyReply): void {
  void reply.header('set-cookie', setCookie('session', { baseUrl: deps.signIn.baseUrl }));
}

/** Undefined: no limit; the cookie ends with the browser session. */
function longestLife(auth: PlatformConfig['auth']): number | undefined {
  const limits = [auth.loginAccessKeyTTLSeconds, auth.accessKeyMaxTTLSeconds ?? 0];
  const least = Math.min(...limits.filter((seconds) => seconds > 0));
  return Number.isFinite(least) ? least : undefined;
}
