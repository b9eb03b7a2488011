/** SimpleSAMLphp signs people in: through the connector, and through the daemon over HTTP. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Connector } from '../../../src/sign-in/connector.ts';
import { samlConnector } from '../../../src/sign-in/saml/saml-connector.ts';
import { HAS_BROWSER, useBrowser } from '../../support/browser.ts';
import { API, type Daemon, startDaemon } from '../../support/daemon.ts';
import {
  responseXml,
  type SigningKey,
  type SigningMode,
  said,
  signingKey,
} from '../../support/saml-peer.ts';
import {
  SIMPLESAMLPHP_MISSING,
  type SimpleSamlPhp,
  startSimpleSamlPhp,
} from '../../support/simplesamlphp.ts';
import { formOf, type Page, Visitor } from '../../support/visitor.ts';

const MODES: readonly SigningMode[] = ['response', 'assertion', 'both'];
const PEOPLE = {
  ann: {
    password: 'correct horse',
    attributes: { mail: ['ann@example.com'], memberOf: ['dev', 'ops', 'system:masters'] },
  },
  bob: { password: 'battery staple', attributes: { mail: ['bob@example.com'], memberOf: ['qa'] } },
};
const title =
  SIMPLESAMLPHP_MISSING === undefined
    ? 'SimpleSAMLphp'
    : `SimpleSAMLphp (SKIPPED: ${SIMPLESAMLPHP_MISSING})`;

describe.skipIf(SIMPLESAMLPHP_MISSING !== undefined)(title, () => {
  let daemon: Daemon;
  let provider: SimpleSamlPhp;
  let key: SigningKey;

  const redirectUri = (id: string): string => `${daemon.url}/auth/${id}/callback`;

  beforeAll(async () => {
    [daemon, key] = await Promise.all([startDaemon(), signingKey()]);
    const of = (entityId: string, id: string, mode: SigningMode) => ({
      entityId,
      redirectUri: redirectUri(id),
      mode,
    });
    provider = await startSimpleSamlPhp({
      key,
      people: PEOPLE,
      providers: [
        ...MODES.map((mode) => of(`urn:gitplane:${mode}`, mode, mode)),
        of('urn:gitplane:platform', 'saml', 'both'),
        of(redirectUri('second'), 'second', 'assertion'),
      ],
    });
  });

  afterAll(async () => {
    await Promise.all([daemon?.stop(), provider?.stop()]);
  });

  function block(of: object = {}) {
    return {
      ssoURL: provider.ssoUrl,
      ssoIssuer: provider.entityId,
      caData: Buffer.from(key.certificatePem).toString('base64'),
      usernameAttr: 'uid',
      emailAttr: 'mail',
      groupsAttr: 'memberOf',
      nameIDPolicyFormat: 'persistent',
      ...of,
    };
  }

  /** What the provider sends back, as the form that it makes the browser post. */
  async function throughProvider(visitor: Visitor, request: Page, name: 'ann' | 'bob') {
    const posted = formOf(request);
    const login = await visitor.follow(
      await visitor.post(posted.action, posted.fields, request.url),
    );
    const form = formOf(login);
    const credentials = { username: name, password: PEOPLE[name].password };
    const answered = await visitor.post(form.action, { ...form.fields, ...credentials });
    return { page: await visitor.follow(answered), ...formOf(await visitor.follow(answered)) };
  }

  test.each(MODES)('the connector takes its responses when it signs in mode %s', async (mode) => {
    const warnings: string[] = [];
    const connector: Connector = await samlConnector(
      mode,
      block({ redirectURI: redirectUri(mode), entityIssuer: `urn:gitplane:${mode}` }),
      {
        baseUrl: daemon.url,
        clock: { now: Date.now },
        warn: (message) => void warnings.push(message),
      },
    );
    const login = {
      state: randomUUID(),
      requestId: `_${randomUUID()}`,
      nonce: '',
      codeVerifier: '',
      redirectUri: redirectUri(mode),
      startedAt: Date.now(),
    };
    try {
      const { signal } = new AbortController();
      const sendOff = await connector.begin(login, signal);
      if (sendOff.kind !== 'post') throw new Error('no form');
      const inputs = Object.entries(sendOff.fields).map(
        ([name, value]) => `<input name="${name}" value="${value}">`,
      );
      const text = `<form action="${sendOff.url}">${inputs.join('')}</form>`;
      const request = { url: daemon.url, code: 200, headers: {}, text, next: undefined };
      const { action, fields } = await throughProvider(new Visitor(), request, 'ann');
      expect(action).toBe(redirectUri(mode));
      const callback = { url: new URL(action), form: new URLSearchParams(fields) };
      expect(await connector.complete(login, callback, signal)).toEqual({
        userId: 'ann',
        username: 'ann',
        email: 'ann@example.com',
        emailVerified: true,
        groups: ['dev', 'ops', 'system:masters'],
        extraClaims: {},
      });
      const again = { ...callback, form: new URLSearchParams(fields) };
      await expect(connector.complete(login, again, signal)).rejects.toThrow('used before');
      expect(warnings).toEqual([]);
    } finally {
      await connector.close?.();
    }
  });

  describe('signs people in to the daemon', () => {
    const config = (): string =>
      JSON.stringify({
        auth: {
          saml: block({ redirectURI: redirectUri('saml'), entityIssuer: 'urn:gitplane:platform' }),
          connectors: [
            {
              id: 'open',
              saml: {
                ...block({ redirectURI: redirectUri('open') }),
                caData: undefined,
                insecureSkipSignatureValidation: true,
              },
            },
            {
              id: 'second',
              saml: block({ redirectURI: redirectUri('second'), allowedGroups: ['qa'] }),
            },
          ],
        },
      });

    beforeAll(async () => {
      const body = { spec: { raw: config() } };
      const type = 'application/merge-patch+json';
      const answer = await daemon.call('PATCH', `${API}/config/platform`, { body, type });
      expect(answer.code, answer.text).toBe(200);
    });

    function visitor(): Visitor {
      return new Visitor(readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8'));
    }

    /** From the first click to the form that the provider makes the browser post. */
    async function outAndBack(browser: Visitor, id: string, name: 'ann' | 'bob') {
      const sent = await browser.get(`${daemon.url}/auth/${id}/login?returnTo=/version`);
      expect(sent.code, sent.text).toBe(200);
      return await throughProvider(browser, sent, name);
    }

    async function session(browser: Visitor): Promise<Page> {
      return await browser.get(`${daemon.url}/auth/session`);
    }

    test('gives a session with all groups but reserved ones', async () => {
      const browser = visitor();
      const { action, fields, page } = await outAndBack(browser, 'saml', 'ann');
      const bounced = await browser.post(action, fields, page.url);
      expect(bounced.code, bounced.text).toBe(200);
      expect(new URL(formOf(bounced).action).pathname).toBe('/auth/saml/finish');
      const finished = await browser.submit(bounced);
      expect([finished.code, finished.next], finished.text).toEqual([303, `${daemon.url}/version`]);

      const who = JSON.parse((await session(browser)).text);
      expect(who).toMatchObject({ user: 'ann' });
      expect(who.groups).toEqual(expect.arrayContaining(['dev', 'ops']));
      expect(who.groups).toContainEqual(expect.stringMatching(/^gitplane:team:dev-/));
      expect(who.groups).not.toContain('system:masters');
      const teams = await browser.get(`${daemon.url}${API}/teams`);
      expect([teams.code, teams.text]).toEqual([403, expect.stringContaining('User \\"ann\\"')]);
      // Once is enough: neither form is good for a second time.
      expect((await browser.post(action, fields, page.url)).code).toBe(400);
      expect((await browser.submit(bounced)).code).toBe(400);
    });

    // covers: auth.connectors[].saml.{allowedGroups,redirectURI}
    test('admits only the users that its connector admits', async () => {
      const [bob, ann] = [visitor(), visitor()];
      for (const [browser, name] of [
        [bob, 'bob'],
        [ann, 'ann'],
      ] as const) {
        const { action, fields, page } = await outAndBack(browser, 'second', name);
        const last = await browser.follow(await browser.post(action, fields, page.url));
        expect(last.code, last.text).toBe(name === 'bob' ? 200 : 403);
      }
      expect(JSON.parse((await session(bob)).text)).toMatchObject({ user: 'bob' });
      expect((await session(ann)).code).toBe(401);
    });

    test('completes in the browser that began, and in no other', async () => {
      const [browser, other] = [visitor(), visitor()];
      const { action, fields, page } = await outAndBack(browser, 'saml', 'ann');
      // An attacker makes somebody else post what was meant for the attacker.
      await other.get(`${daemon.url}/auth/saml/login`);
      const bounced = await other.post(action, fields, page.url);
      expect(bounced.code).toBe(200);
      const finished = await other.submit(bounced);
      expect(finished.code).toBe(400);
      expect((await session(other)).code).toBe(401);
      // The attempt is gone with it, for the right browser as well.
      expect((await browser.submit(bounced)).code).toBe(400);
      expect((await session(browser)).code).toBe(401);
    });

    test('needs its own connector, POST, and a known attempt', async () => {
      const browser = visitor();
      const { action, fields, page } = await outAndBack(browser, 'saml', 'bob');
      const stranger = { ...fields, RelayState: 'x'.repeat(43) };
      expect((await browser.post(action, stranger, page.url)).code).toBe(400);
      expect((await browser.get(`${action}?state=${fields['RelayState']}`)).code).not.toBe(303);
      const again = await outAndBack(browser, 'saml', 'bob');
      const elsewhere = again.action.replace('/saml/', '/second/');
      expect((await browser.post(elsewhere, again.fields, page.url)).code).toBe(400);
      expect((await session(browser)).code).toBe(401);
    });

    test('admits unchecked users only where the configuration says so, and the log warns', async () => {
      for (const [id, code] of [
        ['open', 200],
        ['saml', 400],
      ] as const) {
        const browser = visitor();
        const sent = formOf(await browser.get(`${daemon.url}/auth/${id}/login?returnTo=/version`));
        const request = Buffer.from(sent.fields['SAMLRequest'] ?? '', 'base64').toString();
        const [, inResponseTo = ''] = / ID="([^"]+)"/.exec(request) ?? [];
        const words = said({
          inResponseTo,
          destination: redirectUri(id),
          issuer: provider.entityId,
          audiences: [id === 'saml' ? 'urn:gitplane:platform' : redirectUri(id)],
          nameId: 'carol',
          attributes: [
            ['uid', ['carol']],
            ['mail', ['carol@example.com']],
            ['memberOf', []],
          ],
        });
        const SAMLResponse = Buffer.from(responseXml(words)).toString('base64');
        const fields = { SAMLResponse, RelayState: sent.fields['RelayState'] ?? '' };
        const bounced = await browser.post(redirectUri(id), fields, provider.ssoUrl);
        const last = await browser.follow(bounced);
        expect([id, last.code], last.text).toEqual([id, code]);
      }
      await vi.waitFor(
        () => {
          expect(daemon.output()).toMatch(/any client can sign in as any user/);
          expect(daemon.output()).toMatch(/"user":"carol".*"identity":"unchecked".*"Signed in"/);
        },
        { timeout: 60_000, interval: 100 },
      );
    });

    describe.skipIf(!HAS_BROWSER)('a browser', () => {
      const { visit } = useBrowser();

      test('sends no cookie with the form, and has one when it is back', async () => {
        const { page, context } = await visit();
        const arrived = page.waitForRequest(
          (request) => request.method() === 'POST' && request.url() === redirectUri('saml'),
        );
        await page.goto(`${daemon.url}/auth/saml/login?returnTo=/version`);
        await page.fill('input[name=username]', 'bob');
        await page.fill('input[name=password]', PEOPLE.bob.password);
        await page.press('input[name=password]', 'Enter');
        const headers = await (await arrived).allHeaders();
        expect(headers).toMatchObject({ 'sec-fetch-site': 'cross-site' });
        expect(headers['cookie'] ?? '').not.toContain('__Host-login');
        await page.waitForURL(`${daemon.url}/version`);
        // Those of the provider, which has the same host, are not ours.
        const all = await context.cookies(daemon.url);
        const cookies = all.filter(({ name }) => name.startsWith('__Host-'));
        expect(cookies.map(({ name }) => name)).toEqual(['__Host-session']);
        expect(cookies[0]).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax' });
        await page.goto(`${daemon.url}/auth/session`);
        // Whom another connector calls bob is somebody else.
        expect(await page.textContent('body')).toMatch(/"user":"bob(-[0-9a-f]+)?"/);
      });
    });

    test('signs in while another client sends slow input', async () => {
      const [hostile, browser] = [visitor(), visitor()];
      const { action, fields, page } = await outAndBack(browser, 'saml', 'bob');
      const bombs = ['<a/>'.repeat(9000), '<a>'.repeat(4500), `<!DOCTYPE a [<!ENTITY b "c">]><a/>`];
      const refusals = bombs.map(async (bomb) => {
        const sent = formOf(await hostile.get(`${daemon.url}/auth/saml/login`));
        const { RelayState = '' } = sent.fields;
        const SAMLResponse = Buffer.from(`<r>${bomb}</r>`).toString('base64');
        const bounced = await hostile.post(action, { SAMLResponse, RelayState }, page.url);
        return (await hostile.follow(bounced)).code;
      });
      const welcome = await browser.follow(await browser.post(action, fields, page.url));
      expect(welcome.code, welcome.text).toBe(200);
      expect(await Promise.all(refusals)).toEqual([400, 400, 400]);
    });
  });
});
