/** The code flow as clients run it, on a client library that checks what it is told. */
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { Browser, RelyingParty, startProvider } from './running.ts';

async function signedIn(user = 'ann') {
  const provider = await startProvider();
  const browser = new Browser();
  browser.signIn(await provider.login(user));
  return { ...provider, browser };
}

describe('a web client', () => {
  test('learns the signed-in user, with groups in the ID token', async () => {
    const { issuer, browser } = await signedIn();
    const web = await RelyingParty.web(issuer);
    const tokens = await web.signIn(browser);
    expect(tokens.claims()).toMatchObject({
      iss: issuer,
      sub: 'ann',
      aud: 'web',
      name: 'Ann Example',
      preferred_username: 'ann',
      email: 'ann@example.com',
      groups: ['gitplane:user:ann', 'gitplane:team:ops', 'dev'],
    });
    expect(tokens.refresh_token).toBeUndefined();
  });

  test('gets the same from userinfo', async () => {
    const { issuer, browser } = await signedIn();
    const web = await RelyingParty.web(issuer);
    const tokens = await web.signIn(browser);
    expect(await web.userInfo(tokens)).toMatchObject({ sub: 'ann', groups: expect.any(Array) });
  });
});

describe('a program such as kubectl', () => {
  test('signs in with PKCE, on whatever port of the loopback it got, and refreshes', async () => {
    const { issuer, browser } = await signedIn();
    const kubectl = await RelyingParty.kubectl(issuer);
    const tokens = await kubectl.signIn(browser, { scope: 'openid groups offline_access' });
    expect(tokens.refresh_token).toMatch(/^gpr_/);
    const again = await kubectl.refresh(tokens.refresh_token ?? '');
    const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
    const { payload } = await jwtVerify(again.id_token ?? '', keys, {
      issuer,
      audience: 'kubectl',
    });
    expect(payload).toMatchObject({ sub: 'ann', groups: expect.arrayContaining(['dev']) });
  });
});
