/**
 * Users, teams and keys of who signs in, as objects like any other. What is desired state is a commit
 * by the daemon that names who it was for; keys of logins are in the state alone.
 */
import type { Clock } from '../../apimachinery/clock.ts';
import { type JsonObject, jsonEqual } from '../../apimachinery/object.ts';
import type { User } from '../../apimachinery/request.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import { membershipRefusal } from '../../auth/membership.ts';
import { userGroup } from '../../auth/reserved-names.ts';
import type { PlatformConfigSource } from '../../config/config-feed.ts';
import { apiVersionOf, type Kind } from '../../kinds/kind.ts';
import type { KindTable } from '../../kinds/table.ts';
import type { ObjectRegistry, Registry } from '../../registry/registry.ts';
import type { WriteOptions } from '../../registry/write-context.ts';
import type {
  Accounts,
  AdmittedIdentity,
  KeptIdentity,
  LoginKey,
  NewLoginKey,
} from '../../signin/accounts.ts';
import type { ProvidedIdentity } from '../../signin/connector.ts';
import { accountNames, teamNameOf } from '../../signin/names.ts';
import { SignInError } from '../../signin/sign-in-error.ts';
import type { Store, StoredObject } from '../../state/store.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { AccessControl } from '../access/access-control.ts';
import {
  GITPLANE,
  nameOf,
  options,
  origin,
  shutOut,
  userSpec,
  waitsForReview,
  withClaims,
  writing,
} from './account-writes.ts';
import {
  identitySpec,
  keptText,
  loginKeyManifest,
  readKeptIdentity,
  readRefreshTime,
} from './login-key.ts';

export interface AccountParts {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list' | 'observe'>;
  /** Where desired state is written, for review where that is asked for. */
  readonly registry: Pick<ObjectRegistry, 'create' | 'update'>;
  /** Where keys are written: no review holds them up. */
  readonly served: Pick<Registry, 'create' | 'update' | 'delete'>;
  readonly access: Pick<AccessControl, 'directory' | 'rules' | 'logins'>;
  readonly config: PlatformConfigSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** With no rights: what such a one may hand out gives nothing away. */
const NOBODY: User = { name: '', groups: [] };
/** One login makes no more; the next one makes the rest. */
const MOST_NEW_TEAMS = 20;

export class PlatformAccounts implements Accounts {
  readonly #parts: AccountParts;
  /** By identity: two first logins of one person make one user. */
  readonly #entering = new Map<string, Promise<unknown>>();

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  async enter(identity: AdmittedIdentity, requestId?: string): Promise<string> {
    const id = JSON.stringify([identity.connector, identity.userId]);
    const before = this.#entering.get(id);
    const entering = Promise.resolve(before)
      .catch(() => undefined)
      .then(() => this.#enter(identity, requestId));
    this.#entering.set(id, entering);
    try {
      return await entering;
    } finally {
      if (this.#entering.get(id) === entering) this.#entering.delete(id);
    }
  }

  async mint(key: NewLoginKey): Promise<LoginKey> {
    const user = this.#parts.access.directory.user(key.user);
    if (user === undefined || user.disabled) throw shutOut(key.user);
    const kind = this.#kind('ownedaccesskeys');
    const now = this.#parts.clock.now();
    const body = loginKeyManifest({ ...key, user, apiVersion: apiVersionOf(kind), now });
    const { object } = await writing(
      this.#parts.served.create({
        kind,
        namespace: '',
        body,
        duplicates: [],
        options: options(key.requestId),
        inState: true,
      }),
    );
    return { name: nameOf(object), key: String(object.spec?.['key']), user: user.name };
  }

  isLogin(keyName: string): boolean {
    const { type, scope } = this.#find(this.#kind('ownedaccesskeys'), keyName)?.object.spec ?? {};
    return type === 'Login' && scope === undefined;
  }

  async revoke(name: string): Promise<void> {
    const kind = this.#kind('ownedaccesskeys');
    if (this.#find(kind, name)?.object.spec?.['type'] !== 'Login') return;
    try {
      await this.#parts.served.delete({
        kind,
        namespace: '',
        name,
        delete: {},
        options: options(),
      });
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 404) throw error;
    }
  }

  identityOf(keyName: string): KeptIdentity | undefined {
    const stored = this.#find(this.#kind('ownedaccesskeys'), keyName);
    return stored && readKeptIdentity(stored);
  }

  refreshedAt(keyName: string): number | undefined {
    const stored = this.#key(keyName);
    return stored && readRefreshTime(stored);
  }

  identityToRefresh(keyName: string): (KeptIdentity & { name: string }) | undefined {
    const own = this.identityOf(keyName);
    if (own !== undefined) return { ...own, name: keyName };
    const user = this.#key(keyName)?.object.spec?.['user'];
    if (typeof user !== 'string') return undefined;
    const logins = this.#parts.access
      .logins()
      .filter((login) => login.user === user)
      .flatMap(({ key }) => this.#key(key) ?? [])
      .sort((a, b) => (readRefreshTime(b) ?? 0) - (readRefreshTime(a) ?? 0));
    for (const stored of logins) {
      const kept = readKeptIdentity(stored);
      if (kept !== undefined) return { ...kept, name: stored.key.name };
    }
    return undefined;
  }

  async keep(keyName: string, provided: ProvidedIdentity): Promise<void> {
    const connectorData = keptText(provided);
    for (const name of this.#sharing(keyName)) {
      await this.#changeKey(name, (identity) => ({ ...identity, connectorData }));
    }
  }

  async refresh(keyName: string, identity: AdmittedIdentity, isNews: boolean): Promise<void> {
    const user = this.#key(keyName)?.object.spec?.['user'];
    const { connector, userId: subject } = identity;
    const [known, ...more] = this.#parts.access.directory.usersOf({ connector, subject });
    if (known === undefined || known !== user || more.length > 0) throw shutOut(String(user));
    if (isNews) await this.enter(identity);
    const now = this.#parts.clock.now();
    for (const name of this.#sharing(keyName)) {
      await this.#changeKey(name, () => identitySpec(identity, now));
    }
  }

  /**
   * The key and its copies: a program's key has the tokens of the login that agreed to it, and a
   * provider may take each token once.
   */
  #sharing(keyName: string): string[] {
    const kept = (name: string): unknown =>
      this.#key(name)?.hidden?.['spec.identity.connectorData'];
    const own = kept(keyName);
    if (own === undefined) return [keyName];
    const user = this.#key(keyName)?.object.spec?.['user'];
    const logins = this.#parts.access.logins().filter((login) => login.user === user);
    return logins.map(({ key }) => key).filter((key) => kept(key) === own);
  }

  async end(keyName: string): Promise<void> {
    const kept = this.identityOf(keyName);
    const user = this.#key(keyName)?.object.spec?.['user'];
    for (const name of this.#sharing(keyName)) await this.revoke(name);
    if (kept === undefined || typeof user !== 'string') return;
    const { connector } = kept;
    const subject = kept.provided.userId;
    // Of nobody but who the key acted as, whatever else the identity says.
    const isOfUser = this.#parts.access.directory.usersOf({ connector, subject }).includes(user);
    if (isOfUser) await this.#takeGroups(user, connector);
  }

  async #takeGroups(name: string, connector: string): Promise<void> {
    const kind = this.#kind('users');
    if (this.#find(kind, name)?.object.spec?.['ssoGroups'] === undefined) return;
    const reason = `${connector} does not vouch for ${name} any more.`;
    await writing(
      this.#parts.registry.update({
        verb: 'patch',
        kind,
        namespace: '',
        name,
        duplicates: [],
        options: { ...options(), reason },
        change: (user) => {
          const { ssoGroups: _gone, ...spec } = user.spec ?? {};
          return { ...user, spec };
        },
      }),
    );
  }

  /** Of a key that is gone nothing. */
  async #changeKey(name: string, change: (identity: JsonObject) => JsonObject): Promise<void> {
    if (this.#key(name) === undefined) return;
    const kind = this.#kind('ownedaccesskeys');
    await writing(
      this.#parts.served.update({
        verb: 'patch',
        kind,
        namespace: '',
        name,
        duplicates: [],
        options: options(),
        change: (key) => {
          const { identity } = key.spec ?? {};
          return {
            ...key,
            spec: { ...key.spec, identity: change((identity ?? {}) as JsonObject) },
          };
        },
      }),
    );
  }

  #key(name: string): StoredObject | undefined {
    return this.#find(this.#kind('ownedaccesskeys'), name);
  }

  async #enter(identity: AdmittedIdentity, requestId: string | undefined): Promise<string> {
    const { directory } = this.#parts.access;
    const { connector, userId: subject } = identity;
    const [known, ...more] = directory.usersOf({ connector, subject });
    if (more.length > 0) {
      throw new SignInError(`users ${[known, ...more].join(', ')} have the same subject`, {
        reason: 'ambiguous-user',
        code: 403,
      });
    }
    const name = known ?? (await this.#makeUser(identity, requestId));
    const user = directory.user(name);
    if (user === undefined) throw waitsForReview(name);
    if (user.disabled) throw shutOut(name);
    if (known !== undefined) await this.#updateUser(name, identity, requestId);
    await this.#makeTeams(name, identity, requestId);
    return name;
  }

  /** Returns the name of the new User. */
  async #makeUser(identity: AdmittedIdentity, requestId: string | undefined): Promise<string> {
    if (this.#parts.config.current.auth.disableUserCreation) {
      throw new SignInError('there is no user for this identity, and none is made', {
        reason: 'user-creation-disabled',
        code: 403,
      });
    }
    const kind = this.#kind('users');
    const spec = userSpec(identity);
    for (const name of accountNames(identity).filter((one) => !this.#isTaken(kind, one))) {
      const body = { metadata: { name }, spec };
      const created = await this.#create(kind, body, origin(name, identity, requestId));
      if (created) return name;
    }
    throw new SignInError('every name for this identity is taken', {
      reason: 'name-taken',
      code: 403,
    });
  }

  /** Whoever gets the name of somebody, or a name that something is granted to, becomes that. */
  #isTaken(kind: Kind, name: string): boolean {
    const { rules: rights, directory } = this.#parts.access;
    if (name === GITPLANE.name || this.#find(kind, name) !== undefined) return true;
    if (directory.teamsOf({ name, groups: [] }).length > 0) return true;
    const rightsOf = { users: [name], groups: [userGroup(name)] };
    const change = { user: NOBODY, after: [{ member: name, rightsOf }], before: [] };
    return membershipRefusal({ rights, directory, group: kind.group }, change) !== undefined;
  }

  /** Only what the provider says now and did not say before. */
  async #updateUser(
    name: string,
    identity: AdmittedIdentity,
    requestId: string | undefined,
  ): Promise<void> {
    const kind = this.#kind('users');
    const current = this.#find(kind, name)?.object;
    if (current === undefined || jsonEqual(withClaims(current, identity), current)) return;
    await writing(
      this.#parts.registry.update({
        verb: 'patch',
        kind,
        namespace: '',
        name,
        duplicates: [],
        options: origin(name, identity, requestId),
        change: (now) => withClaims(now, identity),
      }),
    );
  }

  /** A team is for a group by its `spec.groups` alone: none is taken over for its name. */
  async #makeTeams(
    user: string,
    identity: AdmittedIdentity,
    requestId: string | undefined,
  ): Promise<void> {
    const { config, access, logger } = this.#parts;
    if (config.current.auth.disableTeamCreation) return;
    const kind = this.#kind('teams');
    const missing = identity.groups.filter(
      (group) => access.directory.teamsWith(group).length === 0,
    );
    for (const group of missing.slice(0, MOST_NEW_TEAMS)) {
      const name = teamNameOf(group);
      if (this.#find(kind, name) !== undefined) continue;
      const body = { metadata: { name }, spec: { displayName: group, groups: [group] } };
      try {
        await this.#create(kind, body, origin(user, identity, requestId));
      } catch (error) {
        if (!(error instanceof SignInError)) throw error;
        // Whoever signs in has the group all the same.
        logger.warn({ team: name, problem: error.message }, 'A team for a group cannot be made');
      }
    }
    if (missing.length > MOST_NEW_TEAMS) {
      logger.warn({ user, groups: missing.length }, 'Not every group of a login got its team');
    }
  }

  /** False: somebody else made one of that name first. */
  async #create(kind: Kind, body: JsonObject, of: WriteOptions): Promise<boolean> {
    try {
      const request = { kind, namespace: '', body, duplicates: [], options: of };
      await writing(this.#parts.registry.create(request));
      return true;
    } catch (error) {
      const { cause } = error as SignInError;
      if (cause instanceof StatusError && cause.reason === 'AlreadyExists') return false;
      throw error;
    }
  }

  #find(kind: Kind, name: string): StoredObject | undefined {
    return this.#parts.store.get({ group: kind.group, kind: kind.kind, namespace: '', name });
  }

  #kind(plural: string): Kind {
    const [group = ''] = this.#parts.kinds.groups;
    const kind = this.#parts.kinds.byPlural(group, plural);
    if (kind === undefined) throw new Error(`The table of kinds has no ${plural}`);
    return kind;
  }
}
