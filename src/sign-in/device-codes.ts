/**
 * Sign-ins of programs that have no browser beside them (RFC 8628): the program polls with a secret
 * device code while a user types the short user code into a browser elsewhere and agrees.
 *
 * Clients without credentials start them, so each network has few at a time, and of all of them those of
 * the network with the most make room. A user code is valid until a user decided, a device code until it
 * was answered. They live in memory.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { type Clock, ExpiringMap } from '../apimachinery/index.ts';
import { networkOf, networksOf } from '../auth/index.ts';

const LIFE_MS = 10 * 60_000;
/** Seconds between two polls, and the increase after each early poll. */
const INTERVAL = 5;
/** Tolerance for clocks and networks. */
const TOLERANCE_MS = 500;
const MOST_PENDING = { entries: 5_000, bytes: 16 * 1024 * 1024 };
const MOST_OF_ONE_SOURCE = 20;
/** No vowels, so that no words appear; no ambiguous characters (RFC 8628, section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LETTERS_OF_CODE = 8;

/** Facts that the approving person sees. */
export interface DeviceRequest {
  /** Address of the program. */
  readonly source: string;
  /** Name of the program, by its own claim. */
  readonly client: string;
  /** Name of its computer, by its own claim. */
  readonly device: string;
}

export interface BegunSignIn {
  readonly deviceCode: string;
  /** `BCDF-GHJK`. */
  readonly userCode: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly interval: number;
}

export type Polled<Grant> =
  /** Error codes of RFC 8628, section 3.5. */
  | { readonly error: 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' }
  | { readonly grant: Grant; readonly request: DeviceRequest };

interface Pending<Grant> {
  readonly request: DeviceRequest;
  readonly deviceCode: string;
  readonly userCode: string;
  readonly endsAt: number;
  interval: number;
  nextPollAt: number;
  decision: { readonly grant: Grant } | 'denied' | undefined;
}

/** `Grant`: the approving user, for whom the key is made. */
export class DeviceCodes<Grant> {
  readonly #clock: Clock;
  readonly #byDevice: ExpiringMap<Pending<Grant>>;
  /** Undecided sign-ins. */
  readonly #byUser = new Map<string, Pending<Grant>>();
  readonly #bySource = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#byDevice = new ExpiringMap(MOST_PENDING, clock, (_code, gone) => this.#forget(gone));
  }

  /** Undefined: too many from this source, or from its provider among all. */
  begin(request: DeviceRequest): BegunSignIn | undefined {
    const now = this.#clock.now();
    this.#byDevice.deleteEnded();
    const source = networkOf(request.source);
    const own = this.#bySource.get(source) ?? 0;
    if (own >= MOST_OF_ONE_SOURCE) return undefined;
    const pending: Pending<Grant> = {
      request,
      deviceCode: randomBytes(32).toString('base64url'),
      userCode: this.#freeUserCode(),
      endsAt: now + LIFE_MS,
      interval: INTERVAL,
      nextPollAt: now,
      decision: undefined,
    };
    const { deviceCode, userCode } = pending;
    this.#byUser.set(userCode, pending);
    this.#bySource.set(source, own + 1);
    const owner = networksOf(request.source);
    this.#byDevice.set(deviceCode, pending, { seconds: LIFE_MS / 1000, owner });
    if (this.#byDevice.get(deviceCode) === undefined) return undefined;
    const shown = `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
    return { deviceCode, userCode: shown, expiresIn: LIFE_MS / 1000, interval: INTERVAL };
  }

  /** Facts about a typed user code; undefined: it is unknown or has expired. */
  requestOf(userCode: string): DeviceRequest | undefined {
    return this.#undecided(userCode)?.request;
  }

  /** False: the code was decided already, or has expired. */
  decide(userCode: string, decision: { readonly grant: Grant } | 'denied'): boolean {
    const pending = this.#undecided(userCode);
    if (pending === undefined) return false;
    pending.decision = decision;
    this.#byUser.delete(pending.userCode);
    return true;
  }

  /** Returns a grant once. */
  poll(deviceCode: string): Polled<Grant> {
    const now = this.#clock.now();
    const pending = this.#byDevice.get(deviceCode);
    if (pending === undefined) return { error: 'expired_token' };
    const { decision, nextPollAt } = pending;
    if (now + TOLERANCE_MS < nextPollAt) {
      pending.interval += INTERVAL;
      pending.nextPollAt = now + pending.interval * 1000;
      return { error: 'slow_down' };
    }
    pending.nextPollAt = now + pending.interval * 1000;
    if (decision === undefined) return { error: 'authorization_pending' };
    this.#byDevice.delete(deviceCode);
    if (decision === 'denied') return { error: 'access_denied' };
    return { grant: decision.grant, request: pending.request };
  }

  #undecided(typed: string): Pending<Grant> | undefined {
    const pending = this.#byUser.get(normalUserCode(typed));
    return pending !== undefined && this.#clock.now() < pending.endsAt ? pending : undefined;
  }

  #freeUserCode(): string {
    for (;;) {
      const code = Array.from(
        { length: LETTERS_OF_CODE },
        () => LETTERS[randomInt(LETTERS.length)],
      ).join('');
      if (!this.#byUser.has(code)) return code;
    }
  }

  #forget({ deviceCode, userCode, request }: Pending<Grant>): void {
    const source = networkOf(request.source);
    // After the decision, the user code may be reused.
    if (this.#byUser.get(userCode)?.deviceCode === deviceCode) this.#byUser.delete(userCode);
    const left = (this.#bySource.get(source) ?? 1) - 1;
    if (left > 0) this.#bySource.set(source, left);
    else this.#bySource.delete(source);
  }
}

/** Accepts any case, and any characters between the letters. */
function normalUserCode(typed: string): string {
  return typed
    .slice(0, 64)
    .toUpperCase()
    .replace(/[^A-Z]/g, '');
}
