/**
 * Sign-in attempts: valid for ten minutes, once, in the browser that began them. Strangers begin them, so
 * the server stores nothing per attempt: `state` carries the data under a MAC, and the other secrets are
 * derived from `state`. The key lives as long as the process: after a restart, sign-ins start again.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { CountingSlots } from '../auth/index.ts';
import type { LoginTransaction } from './connector.ts';

/** A connector as currently configured. */
export interface LoginRoute {
  /** Id of the connector. */
  readonly connector: string;
  readonly generation: number;
  readonly redirectUri: string;
}

export interface PendingLogin extends LoginTransaction {
  /** Generation of the connector when the attempt began. */
  readonly generation: number;
  /** Keyed hash of the browser's cookie. */
  readonly browser: Buffer;
}

const LIFE_MS = 10 * 60_000;

/** Bytes of `state` in this order: 80 characters, the limit of a SAML RelayState. */
const RANDOM_BYTES = 18;
const TIME_BYTES = 6;
const GENERATION_BYTES = 4;
const BROWSER_BYTES = 16;
const MAC_BYTES = 16;
const BODY_BYTES = RANDOM_BYTES + TIME_BYTES + GENERATION_BYTES + BROWSER_BYTES;
const STATE = /^[\w-]{80}$/;

/** Used attempts; the slots hold 200,000 at a time, and then new attempts are refused. */
const ONCE = { burst: 1, perSecond: 1000 / LIFE_MS };
const SLOTS_OF_USED = 2 ** 18;

export class LoginTransactions {
  readonly #clock: { now(): number };
  readonly #key = randomBytes(32);
  readonly #used = new CountingSlots(ONCE, SLOTS_OF_USED);

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  /** `browser`: id from its cookie. */
  begin(route: LoginRoute, browser: string): PendingLogin {
    const random = randomBytes(RANDOM_BYTES);
    const facts = Buffer.alloc(TIME_BYTES + GENERATION_BYTES);
    facts.writeUIntBE(Math.max(0, this.#clock.now()), 0, TIME_BYTES);
    facts.writeUInt32BE(route.generation >>> 0, TIME_BYTES);
    const body = Buffer.concat([random, facts, this.#browserHash(random, browser)]);
    const state = Buffer.concat([body, this.#mac(body, route)]).toString('base64url');
    return this.#pending(state, body, route);
  }

  /** Undefined: unknown, used, expired, or begun by another connector. */
  find(state: string, route: LoginRoute): PendingLogin | undefined {
    if (!STATE.test(state)) return undefined;
    const bytes = Buffer.from(state, 'base64url');
    const [body, mac] = [bytes.subarray(0, BODY_BYTES), bytes.subarray(BODY_BYTES)];
    // The last character has spare bits, which must not give an attempt a second text.
    if (mac.length !== MAC_BYTES || bytes.toString('base64url') !== state) return undefined;
    if (!timingSafeEqual(mac, this.#mac(body, route))) return undefined;
    const pending = this.#pending(state, body, route);
    const now = this.#clock.now();
    const age = now - pending.startedAt;
    const isLive = age >= 0 && age < LIFE_MS && this.#used.wait(state, now) === 0;
    return isLive ? pending : undefined;
  }

  /** False: it was used before. */
  use({ state }: PendingLogin): boolean {
    return this.#used.take(state, this.#clock.now()) === 0;
  }

  isSameBrowser({ state, browser }: PendingLogin, cookie: string | undefined): boolean {
    const random = Buffer.from(state, 'base64url').subarray(0, RANDOM_BYTES);
    return cookie !== undefined && timingSafeEqual(this.#browserHash(random, cookie), browser);
  }

  #pending(state: string, body: Buffer, { redirectUri }: LoginRoute): PendingLogin {
    const derived = (use: string): Buffer => this.#hash(use, state);
    return {
      state,
      requestId: `_${derived('request id').subarray(0, 20).toString('hex')}`,
      nonce: derived('nonce').toString('base64url'),
      codeVerifier: derived('code verifier').toString('base64url'),
      redirectUri,
      startedAt: body.readUIntBE(RANDOM_BYTES, TIME_BYTES),
      generation: body.readUInt32BE(RANDOM_BYTES + TIME_BYTES),
      browser: body.subarray(BODY_BYTES - BROWSER_BYTES),
    };
  }

  /** The generation is in the body, so that an attempt from before a change of the connector is reported as such. */
  #mac(body: Buffer, { connector, redirectUri }: LoginRoute): Buffer {
    const route = JSON.stringify([connector, redirectUri, body.toString('base64url')]);
    return this.#hash('state', route).subarray(0, MAC_BYTES);
  }

  #browserHash(random: Buffer, cookie: string): Buffer {
    const text = JSON.stringify([random.toString('base64url'), cookie]);
    return this.#hash('browser', text).subarray(0, BROWSER_BYTES);
  }

  #hash(use: string, text: string): Buffer {
    return createHmac('sha256', this.#key).update(`gitplane login ${use}\0${text}`).digest();
  }
}

/** 256 bits in 43 characters. */
export function random(): string {
  return randomBytes(32).toString('base64url');
}
