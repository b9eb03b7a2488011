/**
 * The platform as an OpenID provider for configured clients (spec section 2.8.8, `oidc`). It is loaded
 * when the configuration enables it, and every change of the configuration acts on the next request.
 */

import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JWK, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type Clock, ExpiringMap, isRecord, StatusError } from '../apimachinery/index.ts';
import type { PlatformConfigSource } from '../config/index.ts';
import type { Person, PersonSession } from './account-claims.ts';
import type { OidcConfig } from './client-config.ts';
import { Clients } from './clients.ts';
import { answerInteraction, RedirectGoneError } from './interaction.ts';
import { type Library, loadLibrary } from './library.ts';
import { errorPage, PAGE_POLICY } from './pages.ts';
import { buildProvider } from './provider.ts';
import { RefreshTokens, type RefreshTokensOptions } from './refresh-tokens.ts';
import { Storage } from './storage.ts';

/** The only script submits a form; the library adds its hash to `script-src`. */
const FORM_POLICY = `${PAGE_POLICY}; script-src`;

/** Path below the base URL. */
const OIDC_PATH = '/oidc';

/** Keys that sign ID tokens. */
export interface ProviderKeys {
  /** Changes with the keys. */
  readonly version: string;
  /** Private keys of both algorithms; the current one of each comes first. */
  readonly jwks: readonly JWK[];
}

export interface OidcServerOptions {
  readonly config: PlatformConfigSource;
  /** With scheme, without a trailing slash; read at every request. */
  readonly baseUrl: () => string;
  readonly clock: Clock;
  /** Opened on first use, and read at every request. */
  readonly keys: () => Promise<() => ProviderKeys>;
  readonly signWith: 'RS256' | 'ES256';
  /** Undefined for an unknown or disabled person. */
  readonly person: (name: string) => Person | undefined;
  readonly sessionOf: (request: IncomingMessage) => PersonSession | undefined;
  /** Ends the session of the browser, and clears its cookie. */
  readonly endSession: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Sign-in page that returns to a path. `again`: it must ask for credentials. */
  readonly signInUrl: (returnTo: string, again: boolean) => string;
  readonly refreshTokens: Omit<RefreshTokensOptions, 'clock' | 'person' | 'requestId'>;
  /** True if a review delays writes, so that a login cannot get its key at once. */
  readonly writesAreReviewed: boolean;
  onError(error: unknown): void;
  /** Called when a request of a client is refused; `problem` is only for operators. */
  onRefused(of: Handled & { readonly problem: string; readonly requestId: string }): void;
}

/** Facts about a request for the audit log, as far as they are known. */
export interface Handled {
  readonly client?: string;
  readonly person?: string;
}

export interface OidcRequest {
  /** Request id in log and audit. */
  readonly id: string;
  /** Path and query below the issuer: `/token`. */
  readonly path: string;
  /** Networks of the client, widest first. */
  readonly networks: readonly string[];
}

interface Built {
  readonly version: string;
  readonly provider: Provider;
  readonly answer: ReturnType<Provider['callback']>;
}

interface Running {
  readonly library: Library;
  readonly storage: Storage;
  readonly refreshTokens: RefreshTokens;
  readonly clients: Clients;
  readonly keys: () => ProviderKeys;
  readonly cookieKey: string;
}

export class OidcServer {
  readonly #options: OidcServerOptions;
  readonly #requests = new WeakMap<IncomingMessage, Pick<OidcRequest, 'id' | 'networks'>>();
  readonly #hadKeys: ExpiringMap<string>;
  readonly #handled = new WeakMap<IncomingMessage, Handled>();
  readonly #stop: () => void;
  #running: Promise<Running> | undefined;
  #built: Built | undefined;

  constructor(options: OidcServerOptions) {
    this.#options = options;
    this.#hadKeys = new ExpiringMap({ entries: 10_000, bytes: 4 * 1024 * 1024 }, options.clock);
    this.#stop = options.config.subscribe((now, before) => {
      if (now.oidc?.enabled !== true && before.oidc?.enabled === true) void this.#forgetAll();
    });
  }

  /** False: the provider is not configured. */
  get isOn(): boolean {
    return this.#options.config.current.oidc?.enabled === true;
  }

  /** Answers the request. Rejects only for errors of the socket. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    { id, path, networks }: OidcRequest,
  ): Promise<Handled> {
    this.#requests.set(request, { id, networks });
    try {
      const running = await this.#run();
      const { provider, answer } = this.#provider(running);
      this.#pinAddress(request, path);
      if (!/^\/interaction\/[^/?]+$/.test(path)) await answer(request, response);
      else await this.#interaction({ ...running, provider }, request, response);
    } catch (error) {
      this.#fail(error, response, id);
    }
    return this.#handled.get(request) ?? {};
  }

  close(): void {
    this.#stop();
  }

  get #issuer(): URL {
    return new URL(`${this.#options.baseUrl()}${OIDC_PATH}`);
  }

  #config(): OidcConfig {
    return this.#options.config.current.oidc ?? {};
  }

  /** Loads the library once. After a failure, such as an unreadable key, the next request tries again. */
  #run(): Promise<Running> {
    this.#running ??= this.#load().catch((error: unknown) => {
      this.#running = undefined;
      throw error;
    });
    return this.#running;
  }

  async #load(): Promise<Running> {
    const { clock, person, config, keys, refreshTokens: parts } = this.#options;
    const library = await loadLibrary();
    const clients = new Clients(() => this.#config());
    const current = () => this.#requests.get(library.Provider.ctx?.req as IncomingMessage);
    const requestId = (): string | undefined => current()?.id;
    const refreshTokens = new RefreshTokens({ ...parts, clock, person, requestId });
    const storage = new Storage({
      clients,
      refreshTokens,
      person,
      clock,
      request: () => ({
        redirectUri: library.Provider.ctx?.oidc.entities.AuthorizationCode?.redirectUri,
        networks: current()?.networks ?? [],
      }),
      refreshTtl: () => config.current.auth.loginAccessKeyTTLSeconds,
      refusal: (message) => new library.errors.InvalidGrant(message),
    });
    const cookieKey = newCookieKey();
    return { library, clients, refreshTokens, storage, cookieKey, keys: await keys() };
  }

  /** Creates the provider anew when its keys or its issuer change; issued tokens are stored elsewhere. */
  #provider(running: Running): Built {
    const { version: keys, jwks } = running.keys();
    const { href: issuer } = this.#issuer;
    const version = `${issuer} ${keys}`;
    if (this.#built?.version === version) return this.#built;
    const { person, sessionOf, signWith, writesAreReviewed, onError } = this.#options;
    const provider = buildProvider({
      ...running,
      keys: jwks,
      signWith,
      person,
      issuer,
      sessionOf: (request) => {
        const session = sessionOf(request);
        return session?.isWhole === true ? session : undefined;
      },
      referenceOf: (request) => this.#requests.get(request)?.id ?? '',
      offersRefresh: () => !writesAreReviewed,
    });
    provider.use(async (ctx, next) => {
      allowForm(ctx);
      await next();
      // The library does not tell the reason.
      const refusal = ctx.req.errored;
      if (refusal instanceof StatusError && isRecord(ctx.body)) {
        ctx.body = { ...ctx.body, error_description: refusal.message };
      }
      const { oidc = {} } = ctx as unknown as { oidc?: OidcFacts };
      this.#note(ctx.req, oidc);
      if (oidc.session?.destroyed === true) await this.#options.endSession(ctx.req, ctx.res);
    });
    const events: EventEmitter = provider;
    events.on('server_error', (_ctx, error) => onError(error));
    // Keep the web framework of the library from writing to the console.
    events.on('error', onError);
    for (const event of REFUSALS) events.on(event, (ctx, error) => this.#refused(ctx, error));
    this.#built = { version, provider, answer: provider.callback() };
    return this.#built;
  }

  #refused(ctx: KoaContextWithOIDC, { message, error_detail: detail }: Refusal): void {
    const { client } = ctx.oidc;
    this.#options.onRefused({
      ...(client === undefined ? {} : { client: client.clientId }),
      problem: detail ?? message,
      requestId: this.#requests.get(ctx.req)?.id ?? '',
    });
  }

  #note(request: IncomingMessage, { client, account, session }: OidcFacts): void {
    const person = account?.accountId ?? session?.accountId;
    this.#handled.set(request, {
      ...(client === undefined ? {} : { client: client.clientId }),
      ...(person === undefined ? {} : { person }),
    });
  }

  async #interaction(
    { provider, clients }: Running & { provider: Provider },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { sessionOf, signInUrl } = this.#options;
    const path = `${this.#issuer.pathname}${request.url ?? ''}`;
    const hadKeys = this.#hadKeys;
    const networks = this.#requests.get(request)?.networks ?? [];
    const parts = { provider, clients, sessionOf, signInUrl, path, hadKeys, networks };
    await answerInteraction(parts, request, response);
  }

  /** Pins host and scheme, so that addresses in responses are those of the issuer, whatever the request says. */
  #pinAddress(request: IncomingMessage, path: string): void {
    const { host, protocol, pathname } = this.#issuer;
    const { headers } = request;
    headers.host = host;
    headers['x-forwarded-host'] = host;
    headers['x-forwarded-proto'] = protocol.slice(0, -1);
    request.url = path;
    Object.assign(request, { originalUrl: `${pathname}${path}` });
  }

  #fail(error: unknown, response: ServerResponse, id: string): void {
    const isExpected =
      error instanceof RedirectGoneError || (isRecord(error) && error['expose'] === true);
    if (!isExpected) this.#options.onError(error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const code = isExpected ? 400 : 500;
    const reason = error instanceof RedirectGoneError ? 'invalid_redirect_uri' : 'invalid_request';
    response.writeHead(code, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
      'cache-control': 'no-store',
    });
    response.end(errorPage(isExpected ? reason : 'server_error', id));
  }

  async #forgetAll(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    if (!this.isOn) running?.storage.clear();
  }
}

/** Policy of a page of the library with a script, whose hash the library adds. */
function allowForm(ctx: { set(name: string, value: string): void }): void {
  ctx.set('content-security-policy', FORM_POLICY);
}

function newCookieKey(): string {
  return randomBytes(32).toString('base64url');
}

const REFUSALS = [
  'authorization.error',
  'grant.error',
  'introspection.error',
  'revocation.error',
  'userinfo.error',
  'end_session.error',
];

interface Refusal {
  readonly message: string;
  readonly error_detail?: string | undefined;
}

interface OidcFacts {
  readonly client?: { readonly clientId: string };
  readonly account?: { readonly accountId: string };
  readonly session?: { readonly accountId?: string; readonly destroyed?: boolean };
}
