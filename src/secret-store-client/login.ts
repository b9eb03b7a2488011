/**
 * Logins at the auth methods of a store, and the token of a login: renewed before it expires,
 * replaced by another login if it cannot be renewed, and revoked at the end.
 */
import { StoreError } from '../secrets-merge/index.ts';
import type { StoreClient } from './client.ts';
import { readJson } from './kv-data.ts';
import { RenewalTimer, renewToken } from './token.ts';

export interface Login {
  /** Display name for messages: `AppRole at auth/approle`. */
  readonly name: string;
  /** Relative to `/v1/`, encoded. */
  readonly path: string;
  /** Fields of the request, read for each login. Throws `StoreError`. */
  readonly fields: () => Readonly<Record<string, string>>;
}

/** The token of a login. */
interface Lease {
  readonly token: string;
  /** Seconds; 0: it does not expire. */
  readonly ttl: number;
  readonly isRenewable: boolean;
}

export interface LoginSessionOptions {
  readonly login: Login;
  readonly client: StoreClient;
  /** Revokes a token, within a time limit; never rejects. */
  readonly revoke: (token: string, withinMs?: number) => Promise<void>;
  /** Called with errors of renewals, which are retried. */
  readonly onFailure: (error: unknown) => void;
  readonly random?: (() => number) | undefined;
}

/**
 * A renewal of less than this share of the first lifetime nears the maximum lifetime of the token.
 */
const LEAST_SHARE = 1 / 3;

export class LoginSession {
  readonly #options: LoginSessionOptions;
  readonly #renewals: RenewalTimer;
  #lease: Lease | undefined;
  #pending: Promise<Lease> | undefined;
  #isClosed = false;

  constructor(options: LoginSessionOptions) {
    this.#options = options;
    const { onFailure, random } = options;
    this.#renewals = new RenewalTimer({ renew: () => this.#renew(), onFailure, random });
  }

  /**
   * The token of the session. Logs in if there is none, or if the store no longer accepts the
   * current one (`refused`). Rejects with `StoreError`.
   */
  async token(refused?: string): Promise<string> {
    if (this.#isClosed) {
      // A login now would leave an unrevoked token.
      throw new StoreError('The session at the secret store has ended', { reason: 'Reconfigured' });
    }
    if (this.#lease !== undefined && this.#lease.token !== refused) return this.#lease.token;
    return (await this.#logInOnce()).token;
  }

  /** Revokes the token, within a time limit. Never rejects. */
  async close(withinMs?: number): Promise<void> {
    this.#isClosed = true;
    this.#renewals.close();
    const lease = (await this.#pending?.catch(() => undefined)) ?? this.#lease;
    this.#lease = undefined;
    if (lease !== undefined) await this.#options.revoke(lease.token, withinMs);
  }

  #logInOnce(): Promise<Lease> {
    this.#pending ??= this.#logIn().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #logIn(): Promise<Lease> {
    const { client, login } = this.#options;
    const lease = await requestLogin(client, login);
    this.#lease = lease;
    if (!this.#isClosed) this.#renewals.plan(lease.ttl);
    return lease;
  }

  /** Remaining seconds of the token, which may be a new one. */
  async #renew(): Promise<number> {
    const { client, revoke } = this.#options;
    const before = this.#lease;
    if (before === undefined) return 0;
    if (before.isRenewable) {
      const left = await renewToken(client, before.ttl).catch(zeroIfEnded);
      if (this.#lease !== before) return this.#lease?.ttl ?? 0;
      if (left >= before.ttl * LEAST_SHARE) return left;
    }
    await client.authenticate(before.token);
    void revoke(before.token);
    return this.#lease?.ttl ?? 0;
  }
}

/** Reasons of a store that refuses the login, or has no such method. */
const REFUSALS = new Set(['Rejected', 'WrongEngine']);

/** The store answered that this token is no longer renewable. */
function zeroIfEnded(error: unknown): number {
  const isAnswer = error instanceof StoreError && /^(Forbidden|Rejected)$/.test(error.reason);
  if (isAnswer) return 0;
  throw error;
}

async function requestLogin(client: StoreClient, { name, path, fields }: Login): Promise<Lease> {
  const refused = (why: string): StoreError =>
    new StoreError(`The secret store ${client.origin} ${why} (${name})`, {
      reason: 'LoginRefused',
    });
  const body = JSON.stringify(fields());
  const answer = await client
    .callWithoutToken({ method: 'POST', path, body })
    .catch((error: unknown) => {
      const isRefusal = error instanceof StoreError && REFUSALS.has(error.reason);
      throw isRefusal ? refused('refuses the login; check its credentials and its role') : error;
    });
  if (answer.status === 404) {
    throw refused('has no such login; check the mount, the role and the namespace');
  }
  const { auth } = readJson<{ auth?: AuthFields | null }>(answer, 'The login');
  if (auth?.mfa_requirement)
    throw refused('asks for a second factor, which a daemon does not have');
  if (!auth?.client_token) throw refused('gives no token');
  return {
    token: auth.client_token,
    ttl: auth.lease_duration ?? 0,
    isRenewable: auth.renewable === true,
  };
}

interface AuthFields {
  readonly client_token?: string;
  readonly lease_duration?: number;
  readonly renewable?: boolean;
  readonly mfa_requirement?: object | null;
}
