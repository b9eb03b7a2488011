/** Cookies, and who may make changes with them. */
import { describe, expect, test } from 'vitest';
import {
  cookieName,
  csrfToken,
  isOwnRequest,
  isSameOrigin,
  readCookie,
  setCookie,
} from '../../src/sign-in/cookies.ts';

const OURS = 'https://platform.example';

test.each([
  [
    'https://platform.example',
    '__Host-session=v; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax',
  ],
  ['http://127.0.0.1:8080', 'gitplane-session=v; Max-Age=60; Path=/; HttpOnly; SameSite=Lax'],
])('the session cookie at %s is %s', (baseUrl, header) => {
  expect(setCookie('session', { baseUrl, value: 'v', maxAgeSeconds: 60 })).toBe(header);
});

test('a cookie that is taken back ends at once', () => {
  expect(setCookie('login', { baseUrl: OURS })).toContain('__Host-login=; ');
  expect(setCookie('login', { baseUrl: OURS })).toContain('Max-Age=0');
});

test.each([
  ['__Host-session=a', 'a'],
  ['x=1; __Host-session=a=b; y=2', 'a=b'],
  ['__Host-session=first; __Host-session=second', 'first'],
  ['__Host-sessionx=a; x__Host-session=b', undefined],
  ['', undefined],
  [undefined, undefined],
])('the session of %j is %j', (header, value) => {
  expect(readCookie(header, cookieName('session', OURS))).toBe(value);
});

describe('a request comes from a page of the platform', () => {
  test.each<[Record<string, string>, boolean | undefined]>([
    [{ 'sec-fetch-site': 'same-origin' }, true],
    // A page that sends no referrer has no origin to tell either.
    [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, true],
    [{ 'sec-fetch-site': 'same-site', origin: OURS }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ origin: OURS }, true],
    [{ origin: 'https://other.example', host: 'other.example' }, true],
    [{ origin: 'https://evil.example', host: 'platform.example' }, false],
    [{ origin: 'null', host: 'platform.example' }, false],
    [{ host: 'platform.example' }, undefined],
  ])('%j: %s', (headers, isOurs) => {
    expect(isSameOrigin(headers, OURS)).toBe(isOurs);
  });
});

test.each<[string, Record<string, string>, boolean]>([
  ['both', { 'sec-fetch-site': 'same-origin', 'x-csrf-token': csrfToken('k') }, true],
  ['the token alone', { 'x-csrf-token': csrfToken('k') }, false],
  ['the origin alone', { origin: OURS }, false],
  ['the token of another session', { origin: OURS, 'x-csrf-token': csrfToken('l') }, false],
  ['an empty token', { origin: OURS, 'x-csrf-token': '' }, false],
  ['another site', { 'sec-fetch-site': 'cross-site', 'x-csrf-token': csrfToken('k') }, false],
])('a change with %s', (_what, headers, isOwn) => {
  expect(isOwnRequest(headers, 'k', OURS)).toBe(isOwn);
});
