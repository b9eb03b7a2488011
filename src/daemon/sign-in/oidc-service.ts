/** The built-in OpenID provider with the users, keys and writes of this platform. */
import { mkdir } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Clock, User } from '../../apimachinery/index.ts';
import {
  KeyRing,
  resolveIdentity,
  type SigningAlgorithm,
  type SigningKey,
} from '../../auth/index.ts';
import {
  OidcServer,
  type Person,
  type PersonSession,
  type ProviderKeys,
} from '../../oidc-server/index.ts';
import { GITPLANE } from '../../registry/index.ts';
import type { OidcService } from '../../server/index.ts';
import { type Accounts, cookieName, readCookie, setCookie } from '../../sign-in/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Platform } from '../platform.ts';

export interface OidcServiceParts
  extends Pick<Platform, 'kinds' | 'store' | 'registry' | 'pending' | 'access' | 'config'> {
  readonly baseUrl: () => string;
  /** Ends logins. Keys that users made themselves outlive their use in a browser. */
  readonly accounts: Pick<Accounts, 'revoke'>;
  /** Folder of the signing keys, created on first use of the provider. */
  readonly keysIn: string;
  /** Algorithm of ID tokens. */
  readonly signWith: SigningAlgorithm;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RunningOidcService extends OidcService {
  /** Rotates the signing keys that are due, once the provider was used. */
  rotateKeys(): Promise<void>;
  close(): void;
}

export function openOidcService(parts: OidcServiceParts): RunningOidcService {
  const { kinds, store, registry, access, accounts, baseUrl, clock, logger } = parts;
  const [group = ''] = kinds.groups;
  const kind = kinds.byPlural(group, 'ownedaccesskeys');
  if (kind === undefined) throw new Error('The table of kinds has no access keys');
  const rings: KeyRing[] = [];
  const userOf = (request: IncomingMessage): User | undefined => browserUser(parts, request);
  const server = new OidcServer({
    config: parts.config,
    baseUrl,
    clock,
    keys: () => openKeys(parts, rings),
    signWith: parts.signWith,
    person: (name) => personOf(parts, name),
    sessionOf: (request) => sessionOf(parts, userOf(request)),
    endSession: async (request, response) => {
      const user = userOf(request);
      response.appendHeader('set-cookie', setCookie('session', { baseUrl: baseUrl() }));
      if (user?.accessKey !== undefined) await accounts.revoke(user.accessKey);
    },
    signInUrl: (returnTo, again) =>
      `/login?${new URLSearchParams({ returnTo, ...(again ? { prompt: 'login' } : {}) })}`,
    refreshTokens: {
      kind,
      store,
      registry,
      keyWorks: (name) => access.keyWorks(name),
      writer: GITPLANE,
    },
    writesAreReviewed: parts.pending !== undefined,
    onError: (err) => logger.error({ err }, 'The OpenID provider failed'),
    onRefused: (of) => logger.info(of, 'The OpenID provider refused a request'),
  });
  return {
    get isOn() {
      return server.isOn;
    },
    handle: (request, response, of) => server.handle(request, response, of),
    userOf,
    rotateKeys: async () => {
      await Promise.all(rings.map((ring) => ring.tend()));
    },
    close: () => server.close(),
  };
}

/** Only users can sign in, not teams or other subjects. */
function personOf({ access, kinds, store }: OidcServiceParts, name: string): Person | undefined {
  const { directory } = access;
  const user = directory.user(name);
  const owner = { key: '', user: name, team: undefined, subject: undefined, groups: [] };
  const identity = resolveIdentity({ ...owner, ownerUid: user?.uid }, directory);
  if (user === undefined || user.disabled || !('user' in identity)) return undefined;
  const [group = ''] = kinds.groups;
  const kind = kinds.byPlural(group, 'users')?.kind ?? '';
  const { displayName } = store.get({ group, kind, namespace: '', name })?.object.spec ?? {};
  return {
    name,
    uid: user.uid ?? '',
    displayName: typeof displayName === 'string' && displayName !== '' ? displayName : undefined,
    email: user.email,
    tokenGeneration: user.tokenGeneration,
    groups: identity.user.groups,
  };
}

/** User of the session cookie; other credentials do not count. */
function browserUser(
  { access, baseUrl }: OidcServiceParts,
  { headers }: IncomingMessage,
): User | undefined {
  const key = readCookie(headers.cookie, cookieName('session', baseUrl()));
  const found = key === undefined ? undefined : access.authenticate(key);
  return found !== undefined && 'user' in found ? found.user : undefined;
}

function sessionOf(
  { access, kinds, store }: OidcServiceParts,
  user: User | undefined,
): PersonSession | undefined {
  // Keys of teams and subjects have names that no user has.
  if (user?.accessKey === undefined || access.directory.user(user.name) === undefined) {
    return undefined;
  }
  const [group = ''] = kinds.groups;
  const kind = kinds.byPlural(group, 'ownedaccesskeys')?.kind ?? '';
  const key = store.get({ group, kind, namespace: '', name: user.accessKey });
  const signedInAt = Date.parse(key?.object.metadata.creationTimestamp ?? '') || 0;
  return { person: user.name, key: user.accessKey, signedInAt, isWhole: user.scope === undefined };
}

const DAY_MS = 86_400_000;
const ROTATE_AFTER_MS = 90 * DAY_MS;
/** Clients present ID tokens as a hint at logout, long after these ended. */
const PUBLISHED_AFTER_MS = DAY_MS;
const ALGORITHMS: readonly SigningAlgorithm[] = ['RS256', 'ES256'];

async function openKeys(
  { keysIn, clock }: OidcServiceParts,
  tended: KeyRing[],
): Promise<() => ProviderKeys> {
  await mkdir(keysIn, { recursive: true, mode: 0o700 });
  const rings = await Promise.all(
    ALGORITHMS.map((algorithm) =>
      KeyRing.open({
        file: join(keysIn, `${algorithm.toLowerCase()}.key`),
        algorithm,
        clock,
        rotateAfterMs: ROTATE_AFTER_MS,
        longestTokenMs: PUBLISHED_AFTER_MS,
      }),
    ),
  );
  tended.push(...rings);
  let known: ProviderKeys = { version: '', jwks: [] };
  return () => {
    const keys = rings.flatMap(signingFirst);
    const version = keys.map(({ kid }) => kid).join();
    if (version !== known.version) known = { version, jwks: keys.map(privateJwk) };
    return known;
  };
}

function signingFirst(ring: KeyRing): SigningKey[] {
  const current = ring.current();
  return [current, ...ring.published().filter(({ kid }) => kid !== current.kid)];
}

function privateJwk({ privateKey, publicJwk, kid }: SigningKey): ProviderKeys['jwks'][number] {
  const { alg = '' } = publicJwk;
  return { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
}
