/** Login keys: objects only in the state, made, read, refreshed and ended by sign-in. */
import { isRecord, type JsonObject, StatusError } from '../../apimachinery/index.ts';
import { time } from '../../auth/index.ts';
import { apiVersionOf, type Kind } from '../../kinds/index.ts';
import { ownChange, ownCreate, ownOptions } from '../../registry/index.ts';
import type {
  AdmittedIdentity,
  LoginKey,
  NewLoginKey,
  PersistedIdentity,
  ProvidedIdentity,
} from '../../sign-in/index.ts';
import type { StoredObject } from '../../state/index.ts';
import { type AccountParts, findObject, kindOf } from './account-parts.ts';
import { disabledError, endedError, writing } from './account-writes.ts';
import {
  identitySpec,
  loginKeyManifest,
  persistedText,
  readPersistedIdentity,
} from './login-key.ts';

export class LoginKeys {
  readonly #parts: AccountParts;
  readonly #kind: Kind;

  constructor(parts: AccountParts) {
    this.#parts = parts;
    this.#kind = kindOf(parts, 'ownedaccesskeys');
  }

  async mint(key: NewLoginKey): Promise<LoginKey> {
    const { directory, keyWorks } = this.#parts.access;
    const user = directory.user(key.user);
    if (user === undefined || user.disabled) throw disabledError(key.user);
    const kind = this.#kind;
    const body = loginKeyManifest({
      ...key,
      user,
      apiVersion: apiVersionOf(kind),
      now: this.#parts.clock.now(),
    });
    const request = ownCreate(kind, body, ownOptions({ requestId: key.requestId }));
    const { object } = await writing(this.#parts.served.create({ ...request, inState: true }));
    const name = object.metadata.name ?? '';
    const now = directory.user(user.name);
    const isSame =
      now?.disabled === false && now.uid === user.uid && now.passwordHash === user.passwordHash;
    const { approvedBy } = key;
    // A sign-out or a new password that was written first did not find this key.
    if (!isSame || (approvedBy !== undefined && !keyWorks(approvedBy))) {
      await this.revoke(name);
      throw endedError(user.name);
    }
    return { name, key: String(object.spec?.['key']), user: user.name };
  }

  isLogin(keyName: string): boolean {
    const { type, scope } = this.#find(keyName)?.object.spec ?? {};
    return type === 'Login' && scope === undefined;
  }

  async revoke(name: string): Promise<void> {
    const kind = this.#kind;
    if (this.#find(name)?.object.spec?.['type'] !== 'Login') return;
    try {
      const options = ownOptions();
      await this.#parts.served.delete({ kind, namespace: '', name, delete: {}, options });
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
    }
  }

  identityOf(keyName: string): PersistedIdentity | undefined {
    const stored = this.#find(keyName);
    return stored && readPersistedIdentity(stored);
  }

  refreshedAt(keyName: string): number | undefined {
    const stored = this.#find(keyName);
    return stored && readRefreshTime(stored);
  }

  identityToRefresh(keyName: string): (PersistedIdentity & { name: string }) | undefined {
    const own = this.identityOf(keyName);
    if (own !== undefined) return { ...own, name: keyName };
    const user = this.#find(keyName)?.object.spec?.['user'];
    if (typeof user !== 'string') return undefined;
    const logins = this.#parts.access
      .logins()
      .filter((login) => login.user === user)
      .flatMap(({ key }) => this.#find(key) ?? [])
      .sort((a, b) => (readRefreshTime(b) ?? 0) - (readRefreshTime(a) ?? 0));
    for (const stored of logins) {
      const kept = readPersistedIdentity(stored);
      if (kept !== undefined) return { ...kept, name: stored.key.name };
    }
    return undefined;
  }

  async keep(keyName: string, provided: ProvidedIdentity): Promise<void> {
    const connectorData = persistedText(provided);
    for (const name of this.sharing(keyName)) {
      await this.#change(name, (identity) => ({ ...identity, connectorData }));
    }
  }

  /** Writes the refreshed identity to the key and the keys that share its login. */
  async refreshed(keyName: string, identity: AdmittedIdentity): Promise<void> {
    const now = this.#parts.clock.now();
    for (const name of this.sharing(keyName)) {
      await this.#change(name, () => identitySpec(identity, now));
    }
  }

  /** User that a key acts as; undefined for a deleted key, or one that acts as a team. */
  userOf(keyName: string): string | undefined {
    const user = this.#find(keyName)?.object.spec?.['user'];
    return typeof user === 'string' ? user : undefined;
  }

  /**
   * The key and those that share its login: the key of a program has the provider tokens of the login that
   * approved it, and a provider may accept each token only once.
   */
  sharing(keyName: string): string[] {
    const kept = (name: string): unknown =>
      this.#find(name)?.hidden?.['spec.identity.connectorData'];
    const own = kept(keyName);
    if (own === undefined) return [keyName];
    const user = this.#find(keyName)?.object.spec?.['user'];
    const logins = this.#parts.access.logins().filter((login) => login.user === user);
    return logins.map(({ key }) => key).filter((key) => kept(key) === own);
  }

  /** Does nothing for a deleted key. */
  async #change(name: string, change: (identity: JsonObject) => JsonObject): Promise<void> {
    if (this.#find(name) === undefined) return;
    const target = { kind: this.#kind, namespace: '', name };
    const changed = ownChange(target, ownOptions(), (key) => {
      const { identity } = key.spec ?? {};
      return {
        ...key,
        spec: { ...key.spec, identity: change(isRecord(identity) ? identity : {}) },
      };
    });
    await writing(this.#parts.served.update(changed));
  }

  #find(name: string): StoredObject | undefined {
    return findObject(this.#parts, this.#kind, name);
  }
}

/** Time of the last refresh, in milliseconds since the epoch. */
function readRefreshTime({ object }: StoredObject): number | undefined {
  const identity = object.spec?.['identity'];
  return isRecord(identity) ? time(identity['identityRefresh']) : undefined;
}
