/**
 * Cookies of browsers: the session, which is a login key; the id that ties sign-in attempts to a browser;
 * and the pages to return to (RFC 6265bis). Over HTTPS, their names bind them to this host (`__Host-`);
 * plain HTTP, for a loopback, has no such names.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';

export type CookieUse = 'session' | 'login' | 'username' | `return-${number}`;

export function cookieName(use: CookieUse, baseUrl: string): string {
  return isHttps(baseUrl) ? `__Host-${use}` : `gitplane-${use}`;
}

function isHttps(baseUrl: string): boolean {
  return baseUrl.startsWith('https:');
}

/** First value of a cookie; undefined: it is absent. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  return header === undefined ? undefined : parseCookie(header, { decode: String })[name];
}

/** `Set-Cookie`; an absent value clears the cookie. Without an age, it ends with the browser session. */
export function setCookie(
  use: CookieUse,
  of: {
    readonly baseUrl: string;
    readonly value?: string | undefined;
    readonly maxAgeSeconds?: number | undefined;
  },
): string {
  const { baseUrl, value, maxAgeSeconds } = of;
  const age = value === undefined ? 0 : maxAgeSeconds;
  return stringifySetCookie(cookieName(use, baseUrl), value ?? '', {
    encode: String,
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isHttps(baseUrl),
    ...(age === undefined ? {} : { maxAge: age }),
  });
}

/**
 * CSRF token that our pages send in `x-csrf-token` with each change. It is derived from the session key,
 * which no other site and no script can read.
 */
export function csrfToken(sessionKey: string): string {
  return createHmac('sha256', sessionKey).update('gitplane csrf token').digest('base64url');
}

export function isCsrfToken(sessionKey: string, given: unknown): boolean {
  if (typeof given !== 'string') return false;
  const [wanted, shown] = [csrfToken(sessionKey), given].map((text) => Buffer.from(text));
  if (wanted === undefined || shown === undefined || wanted.length !== shown.length) return false;
  return timingSafeEqual(wanted, shown);
}

/** True if one of our pages sent a request with a session cookie and its CSRF token. */
export function isOwnRequest(
  headers: IncomingHttpHeaders,
  sessionKey: string,
  ownOrigin: string,
): boolean {
  const isOwn = isSameOrigin(headers, ownOrigin) === true;
  return isOwn && isCsrfToken(sessionKey, headers['x-csrf-token']);
}

/**
 * Tells if a request comes from one of our pages, by headers that browsers set and pages cannot change.
 * Undefined: no such header, as from programs.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, ownOrigin: string): boolean | undefined {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  // A page without a referrer sends `Origin: null` with its forms.
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined) return undefined;
  return origin === ownOrigin || (typeof origin === 'string' && hostOf(origin) === host);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
