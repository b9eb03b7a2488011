/**
 * Refresh tokens. Each login of a person at a client is an access key of type OIDCRefreshToken in git,
 * with the hash of the valid token. Each use replaces the token; a former token that is shown again ends
 * the login.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Clock, StatusError } from '../apimachinery/index.ts';
import { concealAccessKey, hasValidChecksum, type Kind } from '../kinds/index.ts';
import { type ObjectRegistry, ownChange, ownCreate, type WriteOptions } from '../registry/index.ts';
import type { Store, StoredObject } from '../state/index.ts';
import type { Person } from './account-claims.ts';
import {
  annotationsOf,
  isOf,
  type Login,
  mintToken,
  type NewLogin,
  nameOf,
  PREFIX,
  readLogin,
  specOf,
} from './persisted-login.ts';

const NAME = /^oidc-[0-9a-f]{32}$/;

/** Grace time for a client that lost the response, or sent two requests at once. */
const GRACE_MS = 10_000;
/** Limit per person and client; the oldest login is evicted. */
const MOST_LOGINS = 20;

export interface RefreshTokensOptions {
  readonly kind: Kind;
  readonly store: Pick<Store, 'get' | 'list'>;
  readonly registry: Pick<ObjectRegistry, 'create' | 'update' | 'delete'>;
  readonly clock: Clock;
  /** Undefined for an unknown person, and for one who may not sign in. */
  readonly person: (name: string) => Person | undefined;
  /** True if the key is enabled and has not ended. */
  readonly keyWorks: (name: string) => boolean;
  /** Author of the commits. */
  readonly writer: WriteOptions['user'];
  /** Id of the current request. */
  readonly requestId: () => string | undefined;
}

interface Successor {
  readonly token: string;
  readonly until: number;
}

export class RefreshTokens {
  readonly #options: RefreshTokensOptions;
  /** Former token → its successor. In memory only, for the grace time. */
  readonly #successors = new Map<string, Successor>();
  /** Successor → former token. */
  readonly #replaced = new Map<string, string>();

  constructor(options: RefreshTokensOptions) {
    this.#options = options;
  }

  /** Name of the key of a token's login. */
  nameOf(token: string): string {
    return nameOf(token);
  }

  mint(): string {
    return mintToken();
  }

  /** Successor of a token; the same one during the grace time. */
  successorOf(token: string): string {
    this.#forgetOld();
    const known = this.#successors.get(token);
    if (known !== undefined) return known.token;
    const made = mintToken(token);
    this.#successors.set(token, { token: made, until: this.#options.clock.now() + GRACE_MS });
    this.#replaced.set(made, token);
    setTimeout(() => this.#forgetOld(), GRACE_MS + 1).unref();
    return made;
  }

  /** `isFormer`: the token was replaced, so its use is suspicious. */
  find(token: string): { readonly login: Login; readonly isFormer: boolean } | undefined {
    if (!token.startsWith(PREFIX) || !hasValidChecksum(token)) return undefined;
    const login = this.login(nameOf(token));
    if (login === undefined) return undefined;
    this.#forgetOld();
    const isFormer = !this.#isCurrent(login.name, token) && !this.#successors.has(token);
    return { login, isFormer };
  }

  /** Undefined if the key has ended, or its owner is gone or has voided it. */
  login(name: string): Login | undefined {
    const stored = this.#stored(name);
    if (stored === undefined || stored.terminating || !this.#options.keyWorks(name)) {
      return undefined;
    }
    const { object } = stored;
    const login = readLogin(name, object);
    const person = login === undefined ? undefined : this.#options.person(login.user);
    return login !== undefined && person !== undefined && isOf(object, person) ? login : undefined;
  }

  /** Persists a login that begins with `token`; resolves with the name of its key. */
  async begin(token: string, login: NewLogin): Promise<string> {
    const { kind, registry } = this.#options;
    const { person, clientId } = login;
    await this.#makeRoom(person.name, clientId);
    const name = nameOf(token);
    const metadata = { name, annotations: annotationsOf(login) };
    const reason = `${person.name} signed in at the client ${JSON.stringify(clientId)}.`;
    const body = { metadata, spec: specOf(token, login) };
    await registry.create(ownCreate(kind, body, this.#as(reason)));
    return name;
  }

  /** Replaces a token by its successor `next`. False: another request was first. */
  async replace(next: string): Promise<boolean> {
    const { kind, registry } = this.#options;
    const former = this.#replaced.get(next) ?? '';
    const name = nameOf(next);
    try {
      const options = this.#as('The token was used, and replaced.');
      const changed = ownChange({ kind, namespace: '', name }, options, (current) => {
        if (this.#isCurrent(name, next)) return current;
        if (!this.#isCurrent(name, former)) throw new ReplacedError();
        return { ...structuredClone(current), spec: { ...current.spec, key: next } };
      });
      await registry.update(changed);
      return true;
    } catch (error) {
      if (error instanceof ReplacedError || isNotFound(error)) return false;
      throw error;
    }
  }

  /** Ends the login of a token, or of a key. */
  async end(of: { readonly token: string } | { readonly name: string }): Promise<void> {
    const { kind, registry } = this.#options;
    const name = 'name' in of ? of.name : nameOf(of.token);
    if (this.#stored(name) === undefined) return;
    const options = this.#as('The login was ended, or a former token of it was shown.');
    try {
      await registry.delete({ kind, namespace: '', name, delete: {}, options });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #makeRoom(user: string, clientId: string): Promise<void> {
    const { store, kind } = this.#options;
    const mark = JSON.stringify(user);
    const own = store
      .list({ group: kind.group, kind: kind.kind })
      .items.filter(({ key, terminating }) => isPersistedLogin(key.name) && !terminating)
      // Searching bytes is much faster than parsing objects, and there may be many.
      .filter((stored) => stored.json().includes(mark))
      .map(({ key, object }) => readLogin(key.name, object))
      .filter((login) => login?.user === user && login.clientId === clientId)
      .filter((login) => login !== undefined)
      .sort((a, b) => a.issuedAt - b.issuedAt);
    const over = own.slice(0, Math.max(0, own.length - MOST_LOGINS + 1));
    for (const { name } of over) await this.end({ name });
  }

  #isCurrent(name: string, token: string): boolean {
    const held = this.#stored(name)?.hidden?.['spec.key'];
    if (typeof held !== 'string') return false;
    const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
    return timingSafeEqual(digest(held), digest(concealAccessKey(token)));
  }

  #stored(name: string): StoredObject | undefined {
    const { store, kind } = this.#options;
    return store.get({ group: kind.group, kind: kind.kind, namespace: '', name });
  }

  #forgetOld(): void {
    const now = this.#options.clock.now();
    for (const [token, { token: next, until }] of this.#successors) {
      if (until > now) return;
      this.#successors.delete(token);
      this.#replaced.delete(next);
    }
  }

  #as(reason: string): WriteOptions {
    const { writer: user, requestId } = this.#options;
    return { user, dryRun: false, fieldValidation: 'Strict', reason, requestId: requestId() };
  }
}

/** True if a key of that name may be a login. */
function isPersistedLogin(name: string): boolean {
  return NAME.test(name);
}

/** Another request replaced the token first. */
class ReplacedError extends Error {}

function isNotFound(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}
