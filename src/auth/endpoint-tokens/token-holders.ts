/**
 * Users of endpoint tokens in served clusters. A signature is verified once. Everything that can change
 * is checked at each request: the end of the token, its revocation, its owner, its access key. A token
 * acts with the current rights of that key, narrowed by its own scope.
 */
import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { type Clock, isRecord, type JsonObject, type User } from '../../apimachinery/index.ts';
import type { Authenticated } from '../access-keys/access-key-index.ts';
import type { PermitContext } from '../scope/permits.ts';
import { Scope, scopeOf } from '../scope/scope.ts';

export interface TokenHolderParts {
  /** Rejects text that is not a valid endpoint token of this platform. */
  verify(token: string): Promise<JWTPayload>;
  /** Reason why a token is void; undefined: it is valid. */
  voidReason(claims: JWTPayload): string | undefined;
  /** Holder of an access key; undefined while the key does not work. */
  keyHolder(name: string): Authenticated | undefined;
  /** Context in which scopes are evaluated. */
  readonly scopes: PermitContext;
  readonly clock: Clock;
}

export interface TokenHolder {
  readonly user: User;
  /** End of the token, in milliseconds since the epoch. */
  readonly keyExpiresAt: number;
}

interface Verified {
  readonly claims: JWTPayload;
  readonly expiresAt: number;
  /** Result for `key`, which is the same object until the key or its owner changes. */
  answer: { readonly key: Authenticated; readonly given: TokenHolder | Refused } | undefined;
}

interface Refused {
  readonly message: string;
}

const TOKEN_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Number of verified tokens in the cache. */
const MOST_VERIFIED = 4096;
const UNKNOWN: Refused = { message: 'Unauthorized' };

export class TokenHolders {
  readonly #parts: TokenHolderParts;
  readonly #verified = new LRUCache<string, Verified>({ max: MOST_VERIFIED });

  constructor(parts: TokenHolderParts) {
    this.#parts = parts;
  }

  /** Verifies text in the form of a token; undefined: there is nothing to verify. Never rejects. */
  prepare(token: string): Promise<void> | undefined {
    if (this.#verified.has(token) || !TOKEN_FORM.test(token)) return undefined;
    return this.#parts.verify(token).then(
      (claims) => this.#cache(token, claims),
      () => undefined,
    );
  }

  /** Undefined: the text does not have the form of a token. */
  authenticate(token: string): TokenHolder | Refused | undefined {
    const found = this.#verified.get(token);
    if (found === undefined) return TOKEN_FORM.test(token) ? UNKNOWN : undefined;
    const { claims, expiresAt } = found;
    if (expiresAt <= this.#parts.clock.now()) {
      this.#verified.delete(token);
      return { message: 'the endpoint token has ended; ask for a new one' };
    }
    const why = this.#parts.voidReason(claims);
    if (why !== undefined) return { message: why };
    const key = this.#parts.keyHolder(keyNameOf(claims));
    if (key === undefined) return UNKNOWN;
    if (found.answer?.key !== key) found.answer = { key, given: this.#holder(found, key) };
    return found.answer.given;
  }

  #cache(token: string, claims: JWTPayload): void {
    const expiresAt = (claims.exp ?? 0) * 1000;
    this.#verified.set(token, { claims, expiresAt, answer: undefined });
  }

  #holder({ claims, expiresAt }: Verified, key: Authenticated): TokenHolder | Refused {
    const { user, owner } = key;
    const { kind, name, uid, scope: written } = platformClaims(claims);
    if (owner.kind !== kind || owner.name !== name || (user.uid ?? null) !== uid) {
      return { message: 'the access key that asked for the token belongs to another user by now' };
    }
    const own = isRecord(written)
      ? new Scope(written as JsonObject, this.#parts.scopes)
      : undefined;
    const narrower = scopeOf(user);
    if (narrower !== undefined && !narrower.coversJson(own?.source)) {
      return { message: 'the access key that asked for the token has a narrower scope by now' };
    }
    const { scope: _ofKey, ...holder } = user;
    return {
      user: own === undefined ? holder : { ...holder, scope: own },
      keyExpiresAt: Math.min(expiresAt, key.keyExpiresAt),
    };
  }
}

function platformClaims({ gitplane }: JWTPayload): Readonly<Record<string, unknown>> {
  return isRecord(gitplane) ? gitplane : {};
}

function keyNameOf(claims: JWTPayload): string {
  const { key } = platformClaims(claims);
  return typeof key === 'string' ? key : '';
}
