/**
 * The OpenID provider on a platform in this process, behind a plain HTTP server; with a browser that
 * keeps cookies, a page to sign in on, and a client on a well-kept library.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as client from 'openid-client';
import { Agent, fetch as undiciFetch } from 'undici';
import { afterAll, onTestFinished } from 'vitest';
import { DEFAULTS } from '../../src/config/config-feed.ts';
import type { PlatformConfig } from '../../src/config/platform-config.ts';
import type { ConfigService } from '../../src/daemon/config/config-service.ts';
import { openOidcService, type RunningOidcService } from '../../src/daemon/sign-in/oidc-service.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type GuardedPlatform, object, openGuardedPlatform } from '../support/guarded-platform.ts';
import { kindOf, kinds } from '../support/platform.ts';

export type OidcSettings = NonNullable<PlatformConfig['oidc']>;

/** Long enough that no warning is due. */
export const SECRET = 'a-secret-of-the-web-client-0123456789';

export const WEB = {
  clientId: 'web',
  name: 'Web',
  clientSecret: SECRET,
  redirectURIs: ['https://app.example.com/callback'],
};
export const KUBECTL = { clientId: 'kubectl' };
export const LOOPBACK = 'http://localhost:8000/';

const ROOT = { name: 'root', groups: ['system:masters'] };

export interface RunningProvider {
  readonly issuer: string;
  readonly platform: GuardedPlatform;
  /** What was logged. */
  readonly log: readonly string[];
  configure(oidc: OidcSettings): void;
  /** A new process on the same platform, at the same address. */
  restart(): void;
  setClock(now: () => number): void;
  /** The key of a login of somebody. */
  login(user: string, spec?: object): Promise<string>;
}

/** Making RSA keys takes long: the tests of a file share them. */
const sharedKeys = mkdtempSync(join(tmpdir(), 'gitplane-oidc-'));
afterAll(() => rmSync(sharedKeys, { recursive: true, force: true }));

export async function startProvider(
  oidc: Partial<OidcSettings> = {},
  {
    keysIn = sharedKeys,
    signWith = 'RS256',
  }: { keysIn?: string; signWith?: 'RS256' | 'ES256' } = {},
): Promise<RunningProvider> {
  let now = (): number => Date.now();
  const clock = { now: () => now() };
  const platform = await openGuardedPlatform(clock);
  await platform.give(
    object('User', 'ann', {
      spec: { displayName: 'Ann Example', email: 'ann@example.com', groups: ['dev'] },
    }),
    object('User', 'bob'),
    object('Team', 'ops', { spec: { users: ['ann'] } }),
  );
  const config = new ChangingConfig({ enabled: true, clients: [WEB, KUBECTL], ...oidc });
  const log: string[] = [];
  let base = '';
  const open = (): RunningOidcService =>
    openOidcService({
      kinds,
      store: platform.platform.store,
      registry: platform.platform.registry,
      pending: undefined,
      access: platform.access,
      config: config as unknown as ConfigService,
      baseUrl: () => base,
      accounts: { revoke: (name) => remove(platform, name) },
      keysIn,
      signWith,
      clock,
      logger: createLogger('info', { write: (line) => log.push(line) }),
    });
  let service = open();
  let count = 0;
  const server = createServer((incoming, response) => {
    const url = incoming.url ?? '';
    if (!url.startsWith('/oidc') || !service.isOn) return respond(response, 404);
    count += 1;
    return void service.handle(incoming, response, {
      id: `request-${count}`,
      path: url.slice(5),
      networks: ['127.0.0.1'],
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(async () => {
    service.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    issuer: `${base}/oidc`,
    platform,
    log,
    configure: (settings) => config.set(settings),
    restart: () => {
      service.close();
      service = open();
    },
    setClock: (changed) => {
      now = changed;
    },
    login: async (user, spec = {}) => {
      const { object: made } = await platform.platform.registry.create({
        kind: kindOf('ownedaccesskeys'),
        namespace: '',
        body: { metadata: {}, spec: { user, type: 'Login', ...spec } },
        duplicates: [],
        options: { user: ROOT, dryRun: false, fieldValidation: 'Strict' },
      });
      return String(made.spec?.['key']);
    },
  };
}

async function remove({ platform }: GuardedPlatform, name: string): Promise<void> {
  await platform.registry.delete({
    kind: kindOf('ownedaccesskeys'),
    namespace: '',
    name,
    delete: {},
    options: { user: ROOT, dryRun: false, fieldValidation: 'Strict' },
  });
}

class ChangingConfig {
  current: PlatformConfig;
  readonly #listeners = new Set<(now: PlatformConfig, before: PlatformConfig) => void>();

  constructor(oidc: OidcSettings) {
    this.current = { ...DEFAULTS, oidc };
  }

  set(oidc: OidcSettings): void {
    const before = this.current;
    this.current = { ...DEFAULTS, oidc };
    for (const listener of this.#listeners) listener(this.current, before);
  }

  subscribe(listener: (now: PlatformConfig, before: PlatformConfig) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function respond(response: ServerResponse, code: number): void {
  response.writeHead(code);
  response.end();
}

export interface Visit {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Where it leads, whole. */
  readonly location: string | undefined;
}

/** Follows nothing by itself, and keeps cookies of one host by name and path. */
export class Browser {
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();
  readonly #ca: string | undefined;

  /** `ca`: what it trusts; with it, it is at home on HTTPS. */
  constructor(ca?: string) {
    this.#ca = ca;
  }

  get #session(): string {
    return this.#ca === undefined ? 'gitplane-session' : '__Host-session';
  }

  signIn(key: string): void {
    this.#cookies.set(this.#session, { value: key, path: '/' });
  }

  signOut(): void {
    this.#cookies.delete(this.#session);
  }

  get cookieNames(): string[] {
    return [...this.#cookies.keys()];
  }

  async get(url: string): Promise<Visit> {
    return await this.#visit('GET', url);
  }

  async post(url: string, form: Record<string, string>): Promise<Visit> {
    return await this.#visit('POST', url, new URLSearchParams(form).toString());
  }

  /** Follows redirects as long as they stay at the host of `url`. */
  async follow(url: string): Promise<Visit> {
    let visit = await this.get(url);
    for (let hops = 0; hops < 10 && visit.location?.startsWith(new URL(url).origin); hops++) {
      if (new URL(visit.location).pathname === '/login') break;
      visit = await this.get(visit.location);
    }
    return visit;
  }

  #visit(method: string, url: string, body?: string): Promise<Visit> {
    const { pathname } = new URL(url);
    const cookie = [...this.#cookies]
      .filter(([, { path }]) => pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const headers = { cookie, accept: 'text/html', ...(body === undefined ? {} : form) };
    return new Promise((resolve, reject) => {
      const send = url.startsWith('https:') ? requestTls : request;
      const options = { method, headers, ...(this.#ca === undefined ? {} : { ca: this.#ca }) };
      const sent = send(url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          this.#keep(response.headers['set-cookie'] ?? []);
          const { statusCode: code = 0, headers: received } = response;
          const { location } = received;
          resolve({
            code,
            headers: received,
            text: Buffer.concat(chunks).toString(),
            location: location === undefined ? undefined : new URL(location, url).href,
          });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  #keep(cookies: readonly string[]): void {
    for (const cookie of cookies) {
      const [pair = '', ...attributes] = cookie.split('; ');
      const [name = '', value = ''] = pair.split('=');
      const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? '/';
      const isOver = value === '' || /expires=Thu, 01 Jan 1970/i.test(cookie);
      if (isOver) this.#cookies.delete(name);
      else this.#cookies.set(name, { value, path });
    }
  }
}

/** A client of the provider. */
export class RelyingParty {
  readonly config: client.Configuration;
  readonly redirectUri: string;
  /** What the last callback brought. */
  lastCode = '';

  private constructor(config: client.Configuration, redirectUri: string) {
    this.config = config;
    this.redirectUri = redirectUri;
  }

  static async discover(
    issuer: string,
    of: { id: string; secret?: string; redirectUri: string; ca?: string | undefined },
  ): Promise<RelyingParty> {
    const auth = of.secret === undefined ? client.None() : client.ClientSecretBasic(of.secret);
    const execute = [client.allowInsecureRequests, client.enableNonRepudiationChecks];
    const options = {
      execute,
      ...(of.ca === undefined ? {} : { [client.customFetch]: trusting(of.ca) }),
    };
    const config = await client.discovery(new URL(issuer), of.id, undefined, auth, options);
    return new RelyingParty(config, of.redirectUri);
  }

  static web(issuer: string, ca?: string): Promise<RelyingParty> {
    const [redirectUri = ''] = WEB.redirectURIs;
    return RelyingParty.discover(issuer, { id: 'web', secret: SECRET, redirectUri, ca });
  }

  static kubectl(issuer: string, ca?: string): Promise<RelyingParty> {
    return RelyingParty.discover(issuer, { id: 'kubectl', redirectUri: LOOPBACK, ca });
  }

  /** An authorization request, and what is needed to finish it. */
  async begin(parameters: Record<string, string> = {}): Promise<Attempt> {
    const verifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const nonce = client.randomNonce();
    const url = client.buildAuthorizationUrl(this.config, {
      redirect_uri: this.redirectUri,
      scope: 'openid profile email groups',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      ...parameters,
    });
    return { url: url.href, verifier, state, nonce };
  }

  /** Throws what the library finds wrong with the answer. */
  async finish(attempt: Attempt, callback: string): Promise<Tokens> {
    this.lastCode = new URL(callback).searchParams.get('code') ?? '';
    return await client.authorizationCodeGrant(this.config, new URL(callback), {
      pkceCodeVerifier: attempt.verifier,
      expectedState: attempt.state,
      expectedNonce: attempt.nonce,
    });
  }

  /** The whole way, in a browser that is signed in. */
  async signIn(browser: Browser, parameters: Record<string, string> = {}): Promise<Tokens> {
    const attempt = await this.begin(parameters);
    const { location = '' } = await browser.follow(attempt.url);
    return await this.finish(attempt, location);
  }

  async refresh(token: string): Promise<Tokens> {
    return await client.refreshTokenGrant(this.config, token);
  }

  async userInfo(tokens: Tokens): Promise<client.UserInfoResponse> {
    return await client.fetchUserInfo(this.config, tokens.access_token, client.skipSubjectCheck);
  }

  async isActive(token: string): Promise<boolean> {
    return (await client.tokenIntrospection(this.config, token)).active;
  }
}

export function trusting(ca: string): client.CustomFetch {
  const dispatcher = new Agent({ connect: { ca } });
  return (url, options) =>
    undiciFetch(url, { ...(options as object), dispatcher }) as unknown as Promise<Response>;
}

export interface Attempt {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
}

export type Tokens = client.TokenEndpointResponse & client.TokenEndpointResponseHelpers;
