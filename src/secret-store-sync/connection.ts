/**
 * One store in one namespace: its token, its mounts, and the request pace. A token is not used
 * after the configuration has another one, or none.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../apimachinery/index.ts';
import type { StoreLink } from '../kinds/index.ts';
import {
  checkNamespace,
  detectMount,
  type FolderList,
  httpTransport,
  kv1,
  kv2,
  type Listing,
  LoginSession,
  listFolder,
  listVersions,
  type Mount,
  StoreClient,
  type StoreRequest,
  TokenKeeper,
  type Transport,
} from '../secret-store-client/index.ts';
import { StoreError, type StoreSide } from '../secrets-merge/index.ts';
import { type LoginSettings, loginOf } from './login-settings.ts';
import { LearnedPace } from './pace.ts';
import { pacedTransport, type Timing } from './paced-transport.ts';
import type { StoreSettings } from './settings.ts';
import { SettingsError } from './settings-error.ts';

const systemTiming: Timing = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
};

export interface ConnectionOptions {
  readonly settings: StoreSettings;
  /** The configured token; undefined: none, or a login provides one. */
  readonly token: () => string | undefined;
  /** Text of a file; `field` names it in messages. Throws `SettingsError`. */
  readonly fileText: (field: string, path: string) => string;
  readonly clock: Clock;
  /** Called before each request; if it throws, the request is not sent. */
  readonly sending: (request: StoreRequest) => void;
  /** Receives messages about background failures. */
  readonly warn: (message: string) => void;
  readonly random?: (() => number) | undefined;
  /** Absent: HTTP. */
  readonly transport?: Transport | undefined;
  /** Absent: the system clock. */
  readonly timing?: Timing | undefined;
  /** Called when the store refuses a request over its quota. */
  readonly refused?: (() => void) | undefined;
}

/** Highest pace: more would burden a small store. */
const FASTEST = { perSecond: 100, burst: 100 };

/** A token that cannot be revoked in this time expires by itself. */
const LONGEST_REVOCATION_MS = 60_000;

/**
 * Retry interval for features that the store did not support: it may be upgraded, or a policy may
 * be widened.
 */
const RETRY_FEATURES_MS = 60 * 60_000;

export class StoreConnection {
  readonly client: StoreClient;
  readonly pace = new LearnedPace(FASTEST);
  readonly #options: ConnectionOptions;
  readonly #transport: Transport;
  readonly #keeper: TokenKeeper;
  readonly #session: LoginSession | undefined;
  /** Mounts of this cycle. */
  #mounts = new Map<string, Promise<Mount>>();
  /** Folders without version listings, and the time of the next attempt. */
  readonly #unlisted = new Map<string, number>();
  /** Mounts that respect the namespace header, by uuid. */
  readonly #namespaced = new Set<string>();
  /** Token of the last cycle. */
  #token: string | undefined;
  /** Token whose renewal is scheduled. */
  #renewedToken: string | undefined;
  #warnings: readonly string[] = [];
  readonly #ended = new AbortController();

  /** Throws a one-sentence error for an invalid address. */
  constructor(options: ConnectionOptions) {
    const { settings, token, clock, sending, warn, random = Math.random } = options;
    const { timing = systemTiming, refused: onRefusal = () => {} } = options;
    const { address, skipTLSVerify, tls, namespace, intervalMs } = settings;
    const transport = options.transport ?? httpTransport({ address, skipTLSVerify, tls });
    this.#options = options;
    this.#transport = transport;
    this.client = new StoreClient({
      transport: pacedTransport(transport, {
        pace: this.pace,
        timing,
        sending,
        refused: onRefusal,
      }),
      token: async (refused) => (await this.#session?.token(refused)) ?? token(),
      clock,
      intervalMs,
      random,
      ...(namespace !== '' && { namespace }),
    });
    const onFailure = (error: unknown): void =>
      warn(`The token cannot be renewed: ${sentence(error)}`);
    this.#session = settings.login && this.#sessionOf(settings.login, onFailure);
    this.#keeper = new TokenKeeper({
      client: this.client,
      random,
      onFacts: (facts) => {
        this.#warnings = facts?.warnings ?? [];
      },
      onFailure,
    });
  }

  #sessionOf(login: LoginSettings, onFailure: (error: unknown) => void): LoginSession {
    const { fileText, random } = this.#options;
    const { name, path, fields } = loginOf(login, fileText);
    return new LoginSession({
      login: { name, path, fields: () => asStoreError(fields) },
      client: this.client,
      revoke: (token, withinMs) => this.#revoke(token, withinMs),
      onFailure,
      random,
    });
  }

  /**
   * Revokes a token from a login. This is the only request that is also sent to a former store: it
   * only ends what the daemon has there. If the store refuses it over its quota, it is retried at
   * the accepted pace until the time limit. Never rejects.
   */
  async #revoke(token: string, withinMs = LONGEST_REVOCATION_MS): Promise<void> {
    const { clock, settings, warn, timing = systemTiming } = this.#options;
    const { intervalMs, namespace } = settings;
    // Closing it ends only this request: the connection may live on.
    const own = { ...this.#transport, close: () => {} };
    const pacing = { pace: this.pace, timing, sending: () => {}, refused: () => {} };
    const client = new StoreClient({
      transport: pacedTransport(own, pacing),
      token: async () => token,
      clock,
      intervalMs,
      ...(namespace !== '' && { namespace }),
    });
    const limit = new AbortController();
    const signal = AbortSignal.any([limit.signal, this.#ended.signal]);
    const late = delay(withinMs, undefined, { ref: false, signal })
      .catch(() => undefined)
      .then(() => {
        throw new StoreError('The store did not answer in time', { reason: 'Unreachable' });
      });
    const isEnded = this.#ended.signal.aborted;
    const call = isEnded ? late : client.call({ method: 'POST', path: 'auth/token/revoke-self' });
    await Promise.race([call, late]).catch((error: unknown) => {
      if (error instanceof StoreError && error.reason === 'TokenInvalid') return;
      warn(`A token could not be revoked and stays until it ends: ${sentence(error)}`);
    });
    limit.abort();
    late.catch(() => undefined);
    call.catch(() => undefined);
    client.close();
  }

  /** Warnings about a working connection. */
  get warnings(): readonly string[] {
    const { skipTLSVerify } = this.#options.settings;
    const insecure = skipTLSVerify ? ['the certificate of the store is not checked'] : [];
    const pace = this.pace.perSecond.toFixed(1);
    const limited = this.pace.isLimited
      ? [`the store refuses requests over its quota; the pace is ${pace} requests per second`]
      : [];
    return [...insecure, ...limited, ...this.#warnings];
  }

  /**
   * Looks up a new token and clears the known mounts. Rejects with `StoreError` when the store does
   * not answer, or there is no token.
   */
  async beginCycle(): Promise<void> {
    this.#mounts = new Map();
    if (this.#session !== undefined) return await this.client.authenticate();
    const token = this.#options.token();
    if (token !== this.#token) this.client.tryAgain();
    this.#token = token;
    if (token !== undefined && token === this.#renewedToken) return;
    this.#renewedToken = undefined;
    await this.#keeper.start();
    this.#renewedToken = token;
  }

  /** The store side of a link. Rejects with `StoreError`. */
  async sideOf({ mount: name, path, version }: StoreLink): Promise<StoreSide> {
    const mount = await this.mount(name);
    if (version !== undefined && version !== mount.version) {
      const message = `The mount ${name} is KV v${mount.version}, not v${version}`;
      throw new StoreError(message, { reason: 'WrongEngine' });
    }
    const { client } = this;
    return mount.version === 2 ? kv2({ client, mount, path }) : kv1({ client, mount, path });
  }

  /** Newest versions in a folder; undefined if the store does not support such listings. */
  async listing(
    name: string,
    folder: string,
  ): Promise<{ listing: Listing; mount: string | undefined } | undefined> {
    const mount = await this.mount(name);
    const { clock } = this.#options;
    const place = mount.path + folder;
    const again = this.#unlisted.get(place) ?? 0;
    if (mount.version === 1 || clock.now() < again) return undefined;
    const listing = await listVersions(this.client, mount, folder);
    if (listing === undefined) this.#unlisted.set(place, clock.now() + RETRY_FEATURES_MS);
    return listing && { listing, mount: mount.uuid };
  }

  /** Entries of a folder. Rejects with `StoreError`, also if the token may not list it. */
  async folder(name: string, folder: string): Promise<FolderList> {
    const mount = await this.mount(name);
    const { clock } = this.#options;
    const place = mount.path + folder;
    const isDetailed = clock.now() >= (this.#unlisted.get(place) ?? 0);
    const found = await listFolder(this.client, mount, { folder, isDetailed });
    if (isDetailed && !found.isDetailed && found.keys.length > 0) {
      this.#unlisted.set(place, clock.now() + RETRY_FEATURES_MS);
    }
    return found;
  }

  mount(name: string): Promise<Mount> {
    const known = this.#mounts.get(name);
    if (known !== undefined) return known;
    const found = this.#detect(name);
    this.#mounts.set(name, found);
    return found;
  }

  /** Ends renewals and, within a time limit, revokes the login token. Never rejects. */
  async close(withinMs?: number): Promise<void> {
    this.#keeper.close();
    const revoked = this.#session?.close(withinMs);
    const limit = withinMs && delay(withinMs, undefined, { ref: false });
    await (limit ? Promise.race([revoked, limit]) : revoked);
    this.end();
    await revoked;
  }

  /** Ends what is in flight, a login or a revocation included, which would keep the process alive. */
  end(): void {
    this.#ended.abort();
    this.client.close();
  }

  async #detect(name: string): Promise<Mount> {
    const mount = await detectMount(this.client, name);
    const { uuid } = mount;
    if (uuid === undefined || this.#namespaced.has(uuid)) return mount;
    await checkNamespace(this.client, mount);
    this.#namespaced.add(uuid);
    return mount;
  }
}

/** An unreadable file prevents use of the store, like an invalid token. */
function asStoreError<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new StoreError(error.message, { reason: error.reason, cause: error });
  }
}

function sentence(error: unknown): string {
  return error instanceof StoreError ? error.message : 'an internal error';
}
