/**
 * Storage of the provider. Refresh tokens are access keys in git, and clients are in the configuration;
 * everything else is in memory, so that a sign-in in progress starts again after a restart.
 */
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';
import { type Clock, ExpiringMap, type ExpiringMapLimits } from '../apimachinery/index.ts';
import type { Person } from './account-claims.ts';
import type { Clients } from './clients.ts';
import { Grants, grantIdOf } from './grants.ts';
import type { Login } from './persisted-login.ts';
import type { RefreshTokens } from './refresh-tokens.ts';

/** Facts about the current request that affect what is stored. */
export interface TokenRequest {
  /** Redirect URI of the code that a refresh token follows from. */
  readonly redirectUri: string | undefined;
  /** Networks of the request, widest first; entries of strangers are charged to them. */
  readonly networks: readonly string[];
}

export interface StorageOptions {
  readonly clients: Clients;
  readonly refreshTokens: RefreshTokens;
  readonly person: (name: string) => Person | undefined;
  readonly clock: Clock;
  readonly request: () => TokenRequest;
  /** Lifetime of a new refresh token in seconds; 0: it does not end by itself. */
  readonly refreshTtl: () => number;
  /** Error of the library for an invalid token. */
  readonly refusal: (message: string) => Error;
}

const MIB = 1024 * 1024;

/** Kinds that strangers create: interactions, and sessions during a sign-in. */
const LIMITS: Readonly<Record<string, ExpiringMapLimits>> = {
  Interaction: { entries: 10_000, bytes: 32 * MIB },
  Session: { entries: 50_000, bytes: 32 * MIB },
  Grant: { entries: 100_000, bytes: 64 * MIB },
  AuthorizationCode: { entries: 20_000, bytes: 32 * MIB },
  AccessToken: { entries: 100_000, bytes: 64 * MIB },
};

/** Ten years, which the library is told for a token without an end. */
export const LONGEST_SECONDS = 10 * 365 * 86_400;

export class Storage {
  readonly grants: Grants;
  readonly #options: StorageOptions;
  readonly #maps = new Map<string, ExpiringMap<AdapterPayload>>();
  /** Uid of a session → its id. */
  readonly #sessions = new Map<string, string>();
  /** Grant id → the entries issued for it, by kind. */
  readonly #members = new Map<string, Map<string, Set<string>>>();

  constructor(options: StorageOptions) {
    this.#options = options;
    const { clock } = options;
    const gone = (kind: string) => (id: string, payload: AdapterPayload) => {
      this.#forget(kind, id, payload);
    };
    for (const [kind, limits] of Object.entries(LIMITS)) {
      this.#maps.set(kind, new ExpiringMap(limits, clock, gone(kind)));
    }
    this.grants = new Grants({ ...options, kept: this.#map('Grant') });
  }

  /** For the library: one adapter per kind. */
  readonly factory: AdapterFactory = (kind) => {
    if (kind === 'Client') return this.#clients();
    if (kind === 'RefreshToken') return this.#refreshTokens();
    return kind === 'Grant' ? this.#grants() : this.#inMemory(kind);
  };

  /** All in-memory entries. */
  clear(): void {
    for (const map of this.#maps.values()) map.clear();
    this.grants.clear();
    this.#sessions.clear();
    this.#members.clear();
  }

  #inMemory(kind: string): Adapter {
    return {
      ...NOTHING,
      find: async (id) => this.#map(kind).get(id),
      findByUid: async (uid) => this.#map(kind).get(this.#sessions.get(uid) ?? ''),
      upsert: async (id, payload, expiresIn = 0) => {
        this.#map(kind).set(id, payload, { seconds: expiresIn, owner: this.#ownerOf(payload) });
        this.#note(kind, id, payload);
      },
      consume: (id) => this.#consume(kind, id),
      destroy: async (id) => this.#map(kind).delete(id),
      revokeByGrantId: async (grantId) => this.#revoke(kind, grantId),
    };
  }

  /** Owner of an entry: the person if known, else the networks, which no person's name equals. */
  #ownerOf({ accountId, session }: AdapterPayload): string | readonly string[] {
    const person = accountId ?? session?.accountId;
    return person ?? this.#options.request().networks.map((network) => `network ${network}`);
  }

  #clients(): Adapter {
    return { ...NOTHING, find: async (id) => this.#options.clients.metadata(id) };
  }

  #grants(): Adapter {
    return {
      ...NOTHING,
      find: async (id) => this.grants.find(id),
      upsert: async (id, payload, expiresIn = 0) => this.grants.keep(id, payload, expiresIn),
      destroy: (id) => this.grants.end(id),
    };
  }

  #refreshTokens(): Adapter {
    const { refreshTokens } = this.#options;
    return {
      ...NOTHING,
      find: async (token) => {
        const found = refreshTokens.find(token);
        if (found === undefined || !this.#isStillAllowed(found.login)) return undefined;
        return this.#payloadOf(token, found);
      },
      upsert: (token, payload) => this.#keepRefreshToken(token, payload),
      destroy: (token) => refreshTokens.end({ token }),
      revokeByGrantId: (grantId) => this.grants.end(grantId),
    };
  }

  /** Removes entries that were issued for a redirect URI which the client no longer has. */
  #isStillAllowed({ clientId, redirectUri }: Login): boolean {
    return this.#options.clients.allowsRedirect(clientId, redirectUri);
  }

  #payloadOf(
    token: string,
    { login, isFormer }: { login: Login; isFormer: boolean },
  ): AdapterPayload {
    const now = Math.floor(this.#options.clock.now() / 1000);
    const { clientId, user, scope, nonce, signedInAt, issuedAt, expiresAt } = login;
    return {
      kind: 'RefreshToken',
      jti: token,
      clientId,
      accountId: user,
      scope,
      nonce,
      ...(signedInAt === undefined ? {} : { authTime: signedInAt, claims: TELL_WHEN }),
      iat: issuedAt,
      iiat: issuedAt,
      exp: expiresAt ?? now + LONGEST_SECONDS,
      grantId: grantIdOf(login),
      gty: 'authorization_code',
      ...(isFormer ? { consumed: now } : {}),
    };
  }

  async #keepRefreshToken(token: string, payload: AdapterPayload): Promise<void> {
    const { refreshTokens, refusal, person: find, request, refreshTtl } = this.#options;
    if (refreshTokens.login(refreshTokens.nameOf(token)) !== undefined) {
      if (await refreshTokens.replace(token)) return;
      throw refusal('the refresh token was replaced by another request');
    }
    const { accountId = '', clientId = '', grantId = '', scope = '', nonce, authTime } = payload;
    const person = find(accountId);
    const { redirectUri } = request();
    if (person === undefined || redirectUri === undefined) throw refusal('the login is over');
    const clientName = this.#options.clients.nameOf(clientId);
    const login = { person, clientId, clientName, scope, nonce, redirectUri, signedInAt: authTime };
    const name = await refreshTokens.begin(token, { ...login, ttlSeconds: refreshTtl() });
    // The code was used again, or the person was disabled, while the key was written.
    if (this.grants.link(grantId, name)) return;
    await refreshTokens.end({ name });
    throw refusal('the login is over');
  }

  /** Runs without a yield: of two requests with the same code, at most one gets valid tokens. */
  async #consume(kind: string, id: string): Promise<void> {
    const payload = this.#map(kind).get(id);
    const isUsed = payload?.consumed !== undefined;
    if (payload !== undefined) payload.consumed = Math.floor(this.#options.clock.now() / 1000);
    if (isUsed) await this.grants.end(payload.grantId ?? '');
    if (isUsed || payload === undefined) throw this.#options.refusal('it was used already');
  }

  #note(kind: string, id: string, { uid, grantId }: AdapterPayload): void {
    if (kind === 'Session' && uid !== undefined) this.#sessions.set(uid, id);
    if (grantId === undefined || !HANDED_OUT.has(kind)) return;
    const members = this.#members.get(grantId) ?? new Map<string, Set<string>>();
    members.set(kind, (members.get(kind) ?? new Set()).add(id));
    this.#members.set(grantId, members);
  }

  #forget(kind: string, id: string, { uid, grantId }: AdapterPayload): void {
    if (kind === 'Grant') this.grants.forget(id);
    if (kind === 'Session' && uid !== undefined && this.#sessions.get(uid) === id) {
      this.#sessions.delete(uid);
    }
    const members = grantId === undefined ? undefined : this.#members.get(grantId);
    const ids = members?.get(kind);
    if (grantId === undefined || members === undefined || !ids?.delete(id)) return;
    if (ids.size === 0) members.delete(kind);
    if (members.size === 0) this.#members.delete(grantId);
  }

  #revoke(kind: string, grantId: string): void {
    for (const id of [...(this.#members.get(grantId)?.get(kind) ?? [])]) this.#map(kind).delete(id);
  }

  #map(kind: string): ExpiringMap<AdapterPayload> {
    const map = this.#maps.get(kind);
    if (map === undefined) throw new Error(`Nothing of the kind ${kind} is kept`);
    return map;
  }
}

/** Kinds that are removed with their grant. */
const HANDED_OUT = new Set(['AuthorizationCode', 'AccessToken']);

/** Every ID token has the time of the sign-in, not only the first. */
const TELL_WHEN = { id_token: { auth_time: { essential: true } } };

const NOTHING: Adapter = {
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  upsert: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};
