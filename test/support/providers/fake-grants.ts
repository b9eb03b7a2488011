/** The grants of OAuth 2 (RFC 6749, 7636) that a provider keeps: codes, access tokens, refresh tokens. */
import { createHash, randomBytes } from 'node:crypto';

export interface Granted<User> {
  readonly user: User;
  readonly scopes: readonly string[];
  readonly nonce: string | undefined;
}

interface Code<User> extends Granted<User> {
  readonly redirectUri: string;
  readonly challenge: string;
}

export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Refused for the reason that RFC 6749 has a word for. */
export interface Refused {
  readonly error: string;
}

export class FakeGrants<User> {
  readonly client: Client = { clientId: 'platform', clientSecret: 'client-s3cret' };
  readonly redirectUris = new Set(['https://platform.example.com/auth/x/callback']);
  readonly #codes = new Map<string, Code<User>>();
  readonly #access = new Map<string, Granted<User>>();
  readonly #refresh = new Map<string, Granted<User>>();

  /** What a person agrees to at the page of the provider: where the browser goes next. */
  authorize(at: URL, user: User): URL {
    const ask = at.searchParams;
    const redirectUri = ask.get('redirect_uri') ?? '';
    if (ask.get('client_id') !== this.client.clientId) throw new Error('unknown client');
    if (!this.redirectUris.has(redirectUri)) throw new Error(`unknown redirect ${redirectUri}`);
    if (ask.get('response_type') !== 'code') throw new Error('no code is asked for');
    if (ask.get('code_challenge_method') !== 'S256') throw new Error('no PKCE');
    const code = secret('code');
    this.#codes.set(code, {
      user,
      redirectUri,
      scopes: (ask.get('scope') ?? '').split(' '),
      challenge: ask.get('code_challenge') ?? '',
      nonce: ask.get('nonce') ?? undefined,
    });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', ask.get('state') ?? '');
    return back;
  }

  /** Takes a code or a refresh token, each once. */
  take(form: URLSearchParams): Granted<User> | Refused {
    const isClient =
      form.get('client_id') === this.client.clientId &&
      form.get('client_secret') === this.client.clientSecret;
    if (!isClient) return { error: 'invalid_client' };
    if (form.get('grant_type') === 'refresh_token') {
      return this.#once(this.#refresh, form.get('refresh_token')) ?? { error: 'invalid_grant' };
    }
    if (form.get('grant_type') !== 'authorization_code') return { error: 'unsupported_grant_type' };
    const code = this.#once(this.#codes, form.get('code'));
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '');
    const isGood =
      code !== undefined &&
      code.redirectUri === form.get('redirect_uri') &&
      code.challenge === challenge.digest('base64url');
    return isGood ? code : { error: 'invalid_grant' };
  }

  accessToken(granted: Granted<User>): string {
    const token = secret('access');
    this.#access.set(token, granted);
    return token;
  }

  refreshToken(granted: Granted<User>): string {
    const token = secret('refresh');
    this.#refresh.set(token, granted);
    return token;
  }

  /** Whose request it is, by its bearer token. */
  bearer(headers: Readonly<Record<string, string>>): Granted<User> | undefined {
    return this.#access.get((headers['authorization'] ?? '').replace(/^Bearer /, ''));
  }

  /** The person takes it back, or the time of the access tokens is over. */
  revoke(what: { access?: boolean; refresh?: boolean }): void {
    if (what.access === true) this.#access.clear();
    if (what.refresh === true) this.#refresh.clear();
  }

  #once<Value>(kept: Map<string, Value>, key: string | null): Value | undefined {
    const value = kept.get(key ?? '');
    kept.delete(key ?? '');
    return value;
  }
}

export function isRefused<User>(taken: Granted<User> | Refused): taken is Refused {
  return 'error' in taken;
}

function secret(kind: string): string {
  return `${kind}-s3cret-${randomBytes(9).toString('base64url')}`;
}
