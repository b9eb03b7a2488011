/** What browsers bring and take: the session, and what ties attempts to sign in to one of them. */
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

/** Whoever uses the browser. */
export interface BrowserSession {
  readonly user: User;
  /** The text of the login key. */
  readonly key: string;
}

export function cookieOf(
  deps: Pick<ServerDependencies, 'signIn'>,
  request: Pick<FastifyRequest, 'headers'>,
  use: CookieUse,
): string | undefined {
  return readCookie(request.headers.cookie, cookieName(use, deps.signIn.baseUrl));
}

/** By its cookie alone; undefined: nobody is signed in there. */
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

/** Another site may send people here, and neither sign them in nor out. Throws SignInError. */
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

/** What ties an attempt to the browser; a new one where it has none. */
export function browserId(deps: ServerDependencies, request: FastifyRequest): string {
  const known = cookieOf(deps, request, 'login');
  return known !== undefined && BROWSER_ID.test(known) ? known : random();
}

const ATTEMPT_SECONDS = 15 * 60;

/** Attempts of one browser at the same time that each have a page of their own to return to. */
const RETURN_SLOTS = 4;
/** Cookies of all slots together stay far below what a request may have of headers. */
const LONGEST_RETURN = 1024;
/** Characters of `state` that name an attempt. */
const ATTEMPT_NAME = 16;

/** The browser keeps what the server holds nothing of: its id, and the page to return to. */
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

/** Undefined: the browser kept none for that attempt. Not checked: anybody may write a cookie. */
export function keptReturnTo(
  deps: ServerDependencies,
  request: FastifyRequest,
  state: string,
): string | undefined {
  const [name, page] = cookieOf(deps, request, returnCookie(state))?.split('.') ?? [];
  if (page === undefined || name !== state.slice(0, ATTEMPT_NAME)) return undefined;
  return Buffer.from(page, 'base64url').toString('utf8');
}

function returnCookie(state: string): CookieUse {
  return `return-${state.charCodeAt(0) % RETURN_SLOTS}`;
}

/** Cookies that the attempts of a browser left, once one of them succeeded. */
function forgottenAttempts(request: FastifyRequest, baseUrl: string): string[] {
  const uses = Array.from({ length: RETURN_SLOTS }, (_, slot): CookieUse => `return-${slot}`);
  const isKept = (use: CookieUse): boolean =>
    readCookie(request.headers.cookie, cookieName(use, baseUrl)) !== undefined;
  return ['login' as const, ...uses.filter(isKept)].map((use) => setCookie(use, { baseUrl }));
}

/**
 * The browser has the key from now on, for as long as it can live. The one that it had it forgets,
 * and nobody else is to find that.
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

/** Undefined: no limit, and the cookie goes with the browser. */
function longestLife(auth: PlatformConfig['auth']): number | undefined {
  const limits = [auth.loginAccessKeyTTLSeconds, auth.accessKeyMaxTTLSeconds ?? 0];
  const least = Math.min(...limits.filter((seconds) => seconds > 0));
  return Number.isFinite(least) ? least : undefined;
}
