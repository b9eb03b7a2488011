/** When an access key stops working (spec section 8): a pure function of times and limits. */

/** loginAccessKeyTTLSeconds where the configuration says nothing: 20 days. */
const DEFAULT_LOGIN_TTL_SECONDS = 1_728_000;

/** What a key says about its own life. Times in milliseconds since the epoch. */
export interface KeyLifetime {
  readonly creation: number;
  /** Undefined: not set. 0: no limit of its own. */
  readonly ttlSeconds: number | undefined;
  readonly ttlAfterLastActivity: boolean;
  /** A key made by a login, which has a limit even when it names none. */
  readonly login: boolean;
}

/** `status.auth` of Config; absent fields keep their defaults. */
export interface KeyLifetimeLimits {
  readonly accessKeyMaxTTLSeconds?: number | undefined;
  readonly loginAccessKeyTTLSeconds?: number | undefined;
}

/**
 * The first millisecond at which the key no longer works; Infinity when there is none. The maximum
 * is a lifespan: it counts from creation whatever the activity, and for keys older than the setting.
 */
export function expiresAt(
  lifetime: KeyLifetime,
  lastActivity: number | undefined,
  limits: KeyLifetimeLimits,
): number {
  const { creation, ttlAfterLastActivity, login } = lifetime;
  const unset = login ? (limits.loginAccessKeyTTLSeconds ?? DEFAULT_LOGIN_TTL_SECONDS) : 0;
  const base = ttlAfterLastActivity ? (lastActivity ?? creation) : creation;
  return Math.min(
    after(base, lifetime.ttlSeconds ?? unset),
    after(creation, limits.accessKeyMaxTTLSeconds ?? 0),
  );
}

/** The latest that `expiresAt` can ever come to, however often the key is used. */
export function latestEnd(lifetime: KeyLifetime, limits: KeyLifetimeLimits): number {
  const used = lifetime.ttlAfterLastActivity ? Number.POSITIVE_INFINITY : undefined;
  return expiresAt(lifetime, used, limits);
}

/** Clocks of the machines that make commits may differ by this. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/**
 * The time of creation is that of a commit, which says what its author wants. A key from the future
 * would end later than the maximum lets it.
 */
export function isFromTheFuture({ creation }: Pick<KeyLifetime, 'creation'>, now: number): boolean {
  return creation > now + CLOCK_TOLERANCE_MS;
}

function after(start: number, seconds: number): number {
  return seconds > 0 ? start + seconds * 1000 : Number.POSITIVE_INFINITY;
}
