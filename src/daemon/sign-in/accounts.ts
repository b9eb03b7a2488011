/**
 * Users, teams and keys of sign-in. Users and teams are desired state: the daemon commits them and names
 * the user in the commit. Login keys are only in the state.
 */
import type {
  Accounts,
  AdmittedIdentity,
  LoginKey,
  NewLoginKey,
  PersistedIdentity,
  ProvidedIdentity,
} from '../../sign-in/index.ts';
import type { AccountParts } from './account-parts.ts';
import { disabledError } from './account-writes.ts';
import { LoginKeys } from './login-keys.ts';
import { UsersAndTeams } from './users-and-teams.ts';

export class PlatformAccounts implements Accounts {
  readonly #directory: AccountParts['access']['directory'];
  readonly #people: UsersAndTeams;
  readonly #keys: LoginKeys;

  constructor(parts: AccountParts) {
    this.#directory = parts.access.directory;
    this.#people = new UsersAndTeams(parts);
    this.#keys = new LoginKeys(parts);
  }

  enter(identity: AdmittedIdentity, requestId?: string): Promise<string> {
    return this.#people.enter(identity, requestId);
  }

  mint(key: NewLoginKey): Promise<LoginKey> {
    return this.#keys.mint(key);
  }

  revoke(name: string): Promise<void> {
    return this.#keys.revoke(name);
  }

  isLogin(keyName: string): boolean {
    return this.#keys.isLogin(keyName);
  }

  identityOf(keyName: string): PersistedIdentity | undefined {
    return this.#keys.identityOf(keyName);
  }

  refreshedAt(keyName: string): number | undefined {
    return this.#keys.refreshedAt(keyName);
  }

  identityToRefresh(keyName: string): (PersistedIdentity & { readonly name: string }) | undefined {
    return this.#keys.identityToRefresh(keyName);
  }

  keep(keyName: string, provided: ProvidedIdentity): Promise<void> {
    return this.#keys.keep(keyName, provided);
  }

  async refresh(keyName: string, identity: AdmittedIdentity, isNews: boolean): Promise<void> {
    const user = this.#keys.userOf(keyName);
    const { connector, userId: subject } = identity;
    const [known, ...more] = this.#directory.usersOf({ connector, subject });
    if (known === undefined || known !== user || more.length > 0) throw disabledError(String(user));
    if (isNews) await this.enter(identity);
    await this.#keys.refreshed(keyName, identity);
  }

  async end(keyName: string): Promise<void> {
    const kept = this.identityOf(keyName);
    const user = this.#keys.userOf(keyName);
    for (const name of this.#keys.sharing(keyName)) await this.revoke(name);
    if (kept === undefined || user === undefined) return;
    const { connector } = kept;
    const subject = kept.provided.userId;
    // Only for the user that the key acted as, whatever the stored identity says.
    const isOfUser = this.#directory.usersOf({ connector, subject }).includes(user);
    if (isOfUser) await this.#people.takeGroups(user, connector);
  }
}
