/** Lifetime of an access key (spec section 8), computed from times and limits. */

/** Default of loginAccessKeyTTLSeconds: 20 days. */
const DEFAULT_LOGIN_TTL_SECONDS = 1_728_000;

/** Lifetime fields of a key. Times in milliseconds since the epoch. */
export interface KeyLifetime {
  readonly creation: number;
  /** Undefined: not set. 0: unlimited. */
  readonly ttlSeconds: number | undefined;
  readonly ttlAfterLastActivity: boolean;
  /** True for a key of a login, which is limited by default. */
  readonly login: boolean;
}

/** Limits from `status.auth` of Config; absent fields have defaults. */
export interface KeyLifetimeLimits {
  readonly accessKeyMaxTTLSeconds?: number | undefined;
  readonly loginAccessKeyTTLSeconds?: number | undefined;
}

/**
 * First millisecond at which the key no longer works; Infinity: it does not end. The maximum counts from
 * creation whatever the activity, also for keys older than the setting.
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

/** Latest possible result of `expiresAt`, however often the key is used. */
export function latestEnd(lifetime: KeyLifetime, limits: KeyLifetimeLimits): number {
  const used = lifetime.ttlAfterLastActivity ? Number.POSITIVE_INFINITY : undefined;
  return expiresAt(lifetime, used, limits);
}

/** Tolerated clock difference between machines that make commits. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/**
 * The creation time comes from a commit, whose author can set it. A key from the future would end later
 * than the maximum lifetime allows.
 */
export function isFromTheFuture({ creation }: Pick<KeyLifetime, 'creation'>, now: number): boolean {
  return creation > now + CLOCK_TOLERANCE_MS;
}

function after(start: number, seconds: number): number {
  return seconds > 0 ? start + seconds * 1000 : Number.POSITIVE_INFINITY;
}
