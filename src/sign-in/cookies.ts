/**
 * Cookies of browsers: the one of a session, which is its login key, the one that ties attempts
 * to sign in to the browser that began them, and the pages to return to (RFC 6265bis). Over HTTPS their names bind them to our
 * host (`__Host-`); plain HTTP, for a loopback, has no such names.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';

export type CookieUse = 'session' | 'login' | `return-${number}`;

export function cookieName(use: CookieUse, baseUrl: string): string {
  return isHttps(baseUrl) ? `__Host-${use}` : `gitplane-${use}`;
}

function isHttps(baseUrl: string): boolean {
  return baseUrl.startsWith('https:');
}

/** The first value of a cookie; undefined: it is not there. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  return header === undefined ? undefined : parseCookie(header, { decode: String })[name];
}

/** `Set-Cookie`; an absent value takes the cookie back. Without an age it goes with the browser. */
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
 * What a page of ours sends in the header `x-csrf-token` with each change: it follows from the key
 * of the session, which no other site and no script can read.
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

/** Whether a page of ours sent a request with the cookie of a session, and can prove it. */
export function isOwnRequest(
  headers: IncomingHttpHeaders,
  sessionKey: string,
  ownOrigin: string,
): boolean {
  const isOwn = isSameOrigin(headers, ownOrigin) === true;
  return isOwn && isCsrfToken(sessionKey, headers['x-csrf-token']);
}

/**
 * Whether a request comes from a page of ours, by what browsers say and no page can change.
 * Undefined: nothing says so, as with programs that are no browsers.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, ownOrigin: string): boolean | undefined {
  const site = headers['sec-fetch-site'];
  const { origin, host } = headers;
  // A page that sends no referrer sends `Origin: null` with its forms.
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined) return undefined;
  return origin === ownOrigin || (typeof origin === 'string' && hostOf(origin) === host);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
