/** What the pages say and where their forms lead. How they look and sound is asked of a browser in test/e2e. */
import { describe, expect, test } from 'vitest';
import { codeBody, confirmBody, messageBody } from '../../../src/server/sign-in/confirm-page.ts';
import { html } from '../../../src/server/sign-in/html.ts';
import { type LoginPage, loginBody, signedInBody } from '../../../src/server/sign-in/login-page.ts';
import { noticeBox } from '../../../src/server/sign-in/page.ts';

const HOSTILE = `"><script>alert(1)</script>`;

function sso(displayName: string): LoginPage['methods']['sso'][number] {
  const endpoints = { loginEndpoint: '/auth/corp/login', logoutEndpoint: '/auth/corp/logout' };
  return { id: 'corp', displayName, type: 'oidc', ...endpoints };
}

function login(page: Partial<LoginPage> = {}): string {
  const methods = { sso: [], providerE: { enabled: false }, password: { enabled: true } };
  return loginBody({ methods, returnTo: undefined, notice: undefined, host: undefined, ...page })
    .html;
}

describe('/login', () => {
  test('offers the configured sign-ins, and no other', () => {
    const methods = {
      sso: [sso('Corp')],
      providerE: { enabled: true, host: 'rancher.example' },
      password: { enabled: true },
    };
    const all = login({ methods });
    expect(all).toContain('href="/auth/corp/login">Continue with Corp</a>');
    expect(all).toContain('action="/auth/password/login"');
    expect(all).toContain('action="/auth/providerE/login"');
    const off = { ...methods, providerE: { enabled: false }, password: { enabled: false } };
    const few = login({ methods: off });
    expect(few).toContain('Continue with Corp');
    expect(few).not.toContain('<form');
    expect(login({ methods: { ...off, sso: [] } })).toContain('No way to sign in');
  });

  test('takes the place to return to along, by every way', () => {
    const methods = {
      sso: [sso('Corp')],
      providerE: { enabled: true },
      password: { enabled: true },
    };
    const text = login({ methods, returnTo: '/device?a=1&b="x"' });
    expect(text).toContain('/auth/corp/login?returnTo=%2Fdevice%3Fa%3D1%26b%3D%22x%22"');
    const field = '<input type="hidden" name="returnTo" value="/device?a=1&amp;b=&quot;x&quot;">';
    expect(text.split(field)).toHaveLength(3);
  });

  test('shows names of others as text', () => {
    const methods = {
      sso: [sso(HOSTILE)],
      providerE: { enabled: true, host: HOSTILE },
      password: { enabled: false },
    };
    const notice = { tone: 'alert', text: HOSTILE } as const;
    expect(login({ methods, host: HOSTILE, notice })).not.toContain('<script');
  });
});

test.each([
  [
    'who is signed in',
    signedInBody({
      user: HOSTILE,
      csrf: html``,
      logoutEndpoint: '/auth/logout',
      baseUrl: HOSTILE,
      notice: undefined,
    }),
  ],
  ['who types a code', codeBody({ user: HOSTILE, csrf: html``, notice: undefined })],
  ['what happened', messageBody({ title: HOSTILE, text: HOSTILE })],
])('%s is shown as text', (_what, body) => {
  expect(body.html).not.toContain('<script');
});

test('the name that a program gives itself is shown as text', () => {
  const { html: text } = confirmBody({
    user: HOSTILE,
    facts: [['Computer', HOSTILE]],
    warning: 'Beware',
    action: '/device',
    fields: { user_code: HOSTILE, absent: undefined },
    csrf: html``,
  });
  expect(text).not.toContain('<script');
  expect(text).not.toContain('absent');
});

test.each([
  ['alert', 'alert'],
  ['good', 'status'],
] as const)('a notice that is %s is read out as %s', (tone, role) => {
  expect(noticeBox({ tone, text: 'x' }).html).toContain(`role="${role}"`);
  expect(noticeBox(undefined).html).toBe('');
});
