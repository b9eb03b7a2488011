/** Where clients may send people, and where they may not. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OidcClientConfig } from '../../src/oidc-server/client-config.ts';
import {
  allowsAfterLogout,
  allowsOrigin,
  allowsRedirect,
} from '../../src/oidc-server/redirect-uris.ts';
import { runs } from '../support/properties.ts';

const confidential = (...redirectURIs: string[]): OidcClientConfig => ({
  clientId: 'c',
  clientSecret: 's',
  redirectURIs,
});
const open = (...redirectURIs: string[]): OidcClientConfig => ({ clientId: 'c', redirectURIs });

const EXACT = 'https://app.example.com/cb';
const HOST = 'https://*.example.com/cb';
const PATH = 'https://app.example.com/*/cb';

describe('a redirect is the same text', () => {
  test.each([
    [EXACT, EXACT],
    ['https://app.example.com/cb?a=1', 'https://app.example.com/cb?a=1'],
    ['com.example.app:/cb', 'com.example.app:/cb'],
    ['http://internal/cb', 'http://internal/cb'],
  ])('%s allows %s', (own, uri) => {
    expect(allowsRedirect(confidential(own), uri, false)).toBe(true);
    expect(allowsRedirect(open(own), uri, false)).toBe(true);
  });

  test.each([
    'https://app.example.com/cb/',
    'https://app.example.com/cb/../x',
    'https://app.example.com/x/../cb',
    'https://app.example.com/cb?x',
    'https://app.example.com/cb#x',
    'https://app.example.com/CB',
    'https://APP.example.com/cb',
    'https://app.example.com:443/cb',
    'https://app.example.com:8443/cb',
    'https://user@app.example.com/cb',
    'https://app.example.com@evil.com/cb',
    'https://app.example.com.evil.com/cb',
    'http://app.example.com/cb',
    'https://app.example.com\\.evil.com/cb',
    ' https://app.example.com/cb',
    'https://app.example.com/cb\n',
    'https://app.example.com/%63b',
    '//app.example.com/cb',
    '/cb',
    '',
  ])(`${EXACT} refuses %j`, (uri) => {
    expect(allowsRedirect(confidential(EXACT), uri, true)).toBe(false);
    expect(allowsRedirect(open(EXACT), uri, true)).toBe(false);
  });
});

describe('a public client may listen on the loopback', () => {
  test.each([
    'http://localhost/',
    'http://localhost:8000',
    'http://localhost:8000/any/path',
    'http://127.0.0.1:18000/callback',
    'http://[::1]:1/',
  ])('a public client without a loopback URI may use any port and path: %s', (uri) => {
    expect(allowsRedirect(open(), uri, false)).toBe(true);
  });

  test.each([
    'https://localhost:8000/',
    'http://localhost.evil.com/',
    'http://127.0.0.1.evil.com/',
    'http://127.0.0.2/',
    'http://localhost@evil.com/',
    'http://evil.com@localhost/',
    'http://localhost:8000/#x',
    'http://localhost:8000/a/../b',
    'http://localhost:8000/%2e%2e/b',
    'http://2130706433/',
    'http://0/',
    'http://0.0.0.0:8000/',
    'http://example.com/',
    'urn:ietf:wg:oauth:2.0:oob',
  ])('a public client may use no other address: %s', (uri) => {
    expect(allowsRedirect(open(), uri, true)).toBe(false);
  });

  test('a public client with a loopback URI may use any port, and no other path', () => {
    const client = open('http://127.0.0.1/cb');
    expect(allowsRedirect(client, 'http://127.0.0.1:4711/cb', false)).toBe(true);
    expect(allowsRedirect(client, 'http://127.0.0.1:4711/other', false)).toBe(false);
    expect(allowsRedirect(client, 'http://127.0.0.1:4711/cb?x=1', false)).toBe(false);
    expect(allowsRedirect(client, 'http://localhost:4711/cb', false)).toBe(false);
  });

  test('a client with a secret may use the loopback only where its URI says so', () => {
    expect(allowsRedirect(confidential('http://localhost/cb'), 'http://localhost/cb', false)).toBe(
      true,
    );
    expect(allowsRedirect(confidential('http://localhost/cb'), 'http://localhost:1/cb', true)).toBe(
      false,
    );
    expect(allowsRedirect(confidential(), 'http://localhost:1/cb', true)).toBe(false);
  });
});

// covers: oidc.wildcardRedirect
describe('"*" is one label of the host or one segment of the path', () => {
  test.each([
    [HOST, 'https://a.example.com/cb'],
    [HOST, 'https://xn--bcher-kva.example.com/cb'],
    ['https://*.*.example.com/cb', 'https://a.b.example.com/cb'],
    [PATH, 'https://app.example.com/team-1/cb'],
    ['https://app.example.com/*', 'https://app.example.com/x'],
    ['https://*.example.com:8443/cb', 'https://a.example.com:8443/cb'],
    ['https://*.example.com:443/cb', 'https://a.example.com/cb'],
    ['https://*.example.com', 'https://a.example.com'],
    ['https://*.example.com/cb?a=b', 'https://a.example.com/cb?a=b'],
  ])('%s allows %s', (pattern, uri) => {
    expect(allowsRedirect(confidential(pattern), uri, true)).toBe(true);
    expect(allowsRedirect(confidential(pattern), uri, false)).toBe(false);
  });

  test.each([
    [HOST, 'https://evil.com/cb'],
    [HOST, 'https://example.com/cb'],
    [HOST, 'https://.example.com/cb'],
    [HOST, 'https://a.b.example.com/cb'],
    [HOST, 'https://a.example.com.evil.com/cb'],
    [HOST, 'https://evil.com#.example.com/cb'],
    [HOST, 'https://evil.com?.example.com/cb'],
    [HOST, 'https://evil.com/.example.com/cb'],
    [HOST, 'https://evil.com%2f.example.com/cb'],
    [HOST, 'https://evil.com\\.example.com/cb'],
    [HOST, 'https://x@a.example.com/cb'],
    [HOST, 'https://a.example.com@evil.com/cb'],
    [HOST, 'http://a.example.com/cb'],
    [HOST, 'https://a.example.com:8443/cb'],
    [HOST, 'https://a.example.com/cb/'],
    [HOST, 'https://a.example.com/cb?x'],
    [HOST, 'https://a.example.com/cb#x'],
    [HOST, 'https://a.example.com/x/../cb'],
    [HOST, 'https://A.example.com/cb'],
    [HOST, 'https://*.example.com/cb'.replace('*', ' ')],
    [PATH, 'https://app.example.com/cb'],
    [PATH, 'https://app.example.com//cb'],
    [PATH, 'https://app.example.com/a/b/cb'],
    [PATH, 'https://app.example.com/../cb'],
    [PATH, 'https://app.example.com/%2e%2e/cb'],
    [PATH, 'https://app.example.com/a%2fb/cb'],
    [PATH, 'https://app.example.com/a%5cb/cb'],
    [PATH, 'https://app.example.com/a%00/cb'],
  ])('%s refuses %s', (pattern, uri) => {
    expect(allowsRedirect(confidential(pattern), uri, true)).toBe(false);
  });

  test('an allowed host is one label in front of the rest, for any text', () => {
    const part = fc.constantFrom(
      'https://',
      'a',
      '.',
      '@',
      '/',
      '\\',
      '#',
      '?',
      ':',
      '%2f',
      '..',
      'evil.com',
      '.example.com',
      '/cb',
      '\t',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const uri = `https://${parts.join('')}`;
        if (!allowsRedirect(confidential(HOST), uri, true)) return;
        expect(new URL(uri).hostname).toMatch(/^[^.]+\.example\.com$/);
        expect(new URL(uri).href).toBe(uri);
      }),
      { numRuns: runs(2000) },
    );
  });
});

describe('redirects after signing out', () => {
  test('people come back to pages of the client, wherever these are', () => {
    const client = confidential(EXACT, 'https://*.dev.example.com/cb');
    expect(allowsAfterLogout(client, 'https://app.example.com/bye?x=1', true)).toBe(true);
    expect(allowsAfterLogout(client, 'https://a.dev.example.com/', true)).toBe(true);
    expect(allowsAfterLogout(client, 'https://a.dev.example.com/', false)).toBe(false);
  });

  test.each([
    'https://evil.com/',
    'http://app.example.com/bye',
    'https://app.example.com:8443/bye',
    'https://app.example.com@evil.com/',
    'https://app.example.com.evil.com/',
    'javascript:alert(1)',
    '//evil.com',
  ])('refuse %s', (uri) => {
    expect(allowsAfterLogout(confidential(EXACT), uri, true)).toBe(false);
  });
});

describe('pages that may read answers', () => {
  test('are those of the client', () => {
    expect(allowsOrigin(open(EXACT), 'https://app.example.com', false)).toBe(true);
    expect(allowsOrigin(open('http://localhost/cb'), 'http://localhost:3000', false)).toBe(true);
    expect(allowsOrigin(open(EXACT), 'https://evil.com', false)).toBe(false);
    expect(allowsOrigin(open(EXACT), 'null', false)).toBe(false);
    expect(allowsOrigin(open(EXACT), 'https://app.example.com/x', false)).toBe(false);
  });
});
