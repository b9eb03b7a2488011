/**
 * Cookies of browsers: the one of a session, which is its login key, and the one that ties attempts
 * to sign in to the browser that began them (RFC 6265bis). Over HTTPS their names bind them to our
 * host (`__Host-`); plain HTTP, for a loopback, has no such names.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

export type CookieUse = 'session' | 'login';

export function cookieName(use: CookieUse, isHttps: boolean): string {
  return isHttps ? `__Host-${use}` : `gitplane-${use}`;
}

/** The first value of a cookie; undefined: it is not there. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const part of header.split(';')) {
    const [key = '', ...value] = part.split('=');
    if (key.trim() === name) return value.join('=').trim();
  }
  return undefined;
}

/** `Set-Cookie`; an absent value takes the cookie back. Without an age it goes with the browser. */
export function setCookie(
  use: CookieUse,
  of: {
    readonly isHttps: boolean;
    readonly value?: string | undefined;
    readonly maxAgeSeconds?: number | undefined;
  },
): string {
  const { isHttps, value, maxAgeSeconds } = of;
  const age = value === undefined ? 0 : maxAgeSeconds;
  return [
    `${cookieName(use, isHttps)}=${value ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    ...(isHttps ? ['Secure'] : []),
    ...(age === undefined ? [] : [`Max-Age=${age}`]),
  ].join('; ');
}

/**
 * What a page of ours sends in the header `x-csrf-token` with each change: it follows from the key
 * of the session, which no other site and no script can read.
 */
export function csrfToken(sessionKey: string): string {
  return createHmac('sha256', sessionKey).update('gitplane csrf token').digest('base64url');
}

export function isCsrfToken(sessionKey: string, given: string | undefined): boolean {
  const [wanted, shown] = [csrfToken(sessionKey), given ?? ''].map((text) => Buffer.from(text));
  if (wanted === undefined || shown === undefined || wanted.length !== shown.length) return false;
  return timingSafeEqual(wanted, shown);
}

/**
 * Whether a request comes from a page of ours, by what browsers say and no page can change.
 * Undefined: nothing says so, as with programs that are no browsers.
 */
export function isSameOrigin(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  ownOrigin: string,
): boolean | undefined {
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
