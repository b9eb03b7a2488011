/**
 * Grants of persons to clients. A grant lives as long as the process, unless the client got a refresh
 * token: then it belongs to the key of that login, and is restored from it after a restart.
 */
import type { AdapterPayload } from 'oidc-provider';
import type { ExpiringMap } from '../apimachinery/index.ts';
import type { Person } from './account-claims.ts';
import type { Login } from './persisted-login.ts';
import type { RefreshTokens } from './refresh-tokens.ts';

/** The person of a grant, and the logins that end with it. */
interface Bond {
  readonly uid: string;
  readonly tokenGeneration: number;
  /** Names of the keys of logins that began with the grant. */
  readonly logins: Set<string>;
}

export interface GrantsOptions {
  readonly kept: ExpiringMap<AdapterPayload>;
  readonly refreshTokens: RefreshTokens;
  readonly person: (name: string) => Person | undefined;
}

const OF_LOGIN = 'login:';

/** Grant id of a persisted login. */
export function grantIdOf({ name }: Login): string {
  return `${OF_LOGIN}${name}`;
}

export class Grants {
  readonly #options: GrantsOptions;
  readonly #bonds = new Map<string, Bond>();

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  /** Undefined also if the person is gone, disabled, replaced by another of the name, or voided the grant. */
  find(id: string): AdapterPayload | undefined {
    if (id.startsWith(OF_LOGIN)) {
      const login = this.#options.refreshTokens.login(id.slice(OF_LOGIN.length));
      return login && grantOf(id, login);
    }
    const grant = this.#options.kept.get(id);
    const bond = this.#bonds.get(id);
    if (grant?.accountId === undefined || bond === undefined) return undefined;
    const person = this.#options.person(grant.accountId);
    const isSame = person?.uid === bond.uid && person.tokenGeneration <= bond.tokenGeneration;
    return isSame ? grant : undefined;
  }

  /** Ties a grant to the current version of the person. */
  keep(id: string, grant: AdapterPayload, seconds: number): void {
    const person = this.#options.person(grant.accountId ?? '');
    if (person === undefined) return;
    const { uid, tokenGeneration } = person;
    const logins = this.#bonds.get(id)?.logins ?? new Set();
    this.#options.kept.set(id, grant, { seconds, owner: grant.accountId ?? '' });
    this.#bonds.set(id, { uid, tokenGeneration, logins });
  }

  /** Ends the login together with the grant. False: the grant has ended already. */
  link(id: string, login: string): boolean {
    if (this.find(id) === undefined) return false;
    this.#bonds.get(id)?.logins.add(login);
    return true;
  }

  /** Ends the grant and all of its logins. */
  async end(id: string): Promise<void> {
    const logins = id.startsWith(OF_LOGIN)
      ? [id.slice(OF_LOGIN.length)]
      : [...(this.#bonds.get(id)?.logins ?? [])];
    this.#options.kept.delete(id);
    for (const name of logins) await this.#options.refreshTokens.end({ name });
  }

  clear(): void {
    this.#bonds.clear();
  }

  /** Call when a grant is evicted. */
  forget(id: string): void {
    this.#bonds.delete(id);
  }
}

function grantOf(jti: string, { user, clientId, scope }: Login): AdapterPayload {
  return { kind: 'Grant', jti, accountId: user, clientId, openid: { scope } };
}
