/** Users and teams of sign-in, as desired state: the daemon commits them and names the user. */
import { type JsonObject, jsonEqual, StatusError, type User } from '../../apimachinery/index.ts';
import { membershipRefusal, userGroup } from '../../auth/index.ts';
import { KeyedMutex } from '../../concurrency/index.ts';
import type { Kind } from '../../kinds/index.ts';
import {
  GITPLANE,
  ownChange,
  ownCreate,
  ownOptions,
  type WriteOptions,
} from '../../registry/index.ts';
import {
  type AdmittedIdentity,
  accountNames,
  SignInError,
  teamNameOf,
} from '../../sign-in/index.ts';
import { type AccountParts, findObject, kindOf } from './account-parts.ts';
import {
  awaitingReviewError,
  disabledError,
  userSpec,
  withClaims,
  writeOptions,
  writing,
} from './account-writes.ts';

/** A writer without rights: it could only hand out rights that are not worth protecting. */
const NOBODY: User = { name: '', groups: [] };
/** Limit per login; later logins create the rest. */
const MOST_NEW_TEAMS = 20;

export class UsersAndTeams {
  readonly #parts: AccountParts;
  /** By identity, so that two concurrent first logins create one user. */
  readonly #entering = new KeyedMutex();

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  enter(identity: AdmittedIdentity, requestId?: string): Promise<string> {
    const id = JSON.stringify([identity.connector, identity.userId]);
    return this.#entering.run(id, () => this.#enter(identity, requestId));
  }

  /** Removes the groups of a user when the provider stops vouching for the user. */
  async takeGroups(name: string, connector: string): Promise<void> {
    const kind = kindOf(this.#parts, 'users');
    if (findObject(this.#parts, kind, name)?.object.spec?.['ssoGroups'] === undefined) return;
    const reason = `${connector} does not vouch for ${name} any more.`;
    const changed = ownChange({ kind, namespace: '', name }, ownOptions({ reason }), (user) => {
      const { ssoGroups: _gone, ...spec } = user.spec ?? {};
      return { ...user, spec };
    });
    await writing(this.#parts.registry.update(changed));
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
    if (user === undefined) throw awaitingReviewError(name);
    if (user.disabled) throw disabledError(name);
    if (known !== undefined) await this.#updateUser(name, identity, requestId);
    await this.#makeTeams(name, identity, requestId);
    return name;
  }

  /** Returns the name of the new User. */
  async #makeUser(identity: AdmittedIdentity, requestId: string | undefined): Promise<string> {
    if (this.#parts.config.current.auth.disableUserCreation) {
      throw new SignInError('there is no user for this identity, and user creation is disabled', {
        reason: 'user-creation-disabled',
        code: 403,
      });
    }
    const kind = kindOf(this.#parts, 'users');
    const spec = userSpec(identity);
    for (const name of accountNames(identity).filter((one) => !this.#isTaken(kind, one))) {
      const body = { metadata: { name }, spec };
      const created = await this.#create(kind, body, writeOptions(name, identity, requestId));
      if (created) return name;
    }
    const names = accountNames(identity).join(' and ');
    const why = `the names ${names} are taken by a user, a team, a binding or an access key`;
    throw new SignInError(why, {
      reason: 'name-taken',
      code: 403,
    });
  }

  /** A new user must not take a name that already has rights, or that another object acts under. */
  #isTaken(kind: Kind, name: string): boolean {
    const { rules: rights, directory, isActedAs } = this.#parts.access;
    if (name === GITPLANE.name || findObject(this.#parts, kind, name) !== undefined) return true;
    if (directory.teamsOf({ name, groups: [] }).length > 0 || isActedAs('user', name)) return true;
    const rightsOf = { users: [name], groups: [userGroup(name)] };
    const change = { user: NOBODY, after: [{ member: name, rightsOf }], before: [] };
    return membershipRefusal({ rights, directory, group: kind.group }, change) !== undefined;
  }

  /** Writes the user only if the claims of the provider have changed. */
  async #updateUser(
    name: string,
    identity: AdmittedIdentity,
    requestId: string | undefined,
  ): Promise<void> {
    const kind = kindOf(this.#parts, 'users');
    const current = findObject(this.#parts, kind, name)?.object;
    if (current === undefined || jsonEqual(withClaims(current, identity), current)) return;
    const options = writeOptions(name, identity, requestId);
    const changed = ownChange({ kind, namespace: '', name }, options, (now) =>
      withClaims(now, identity),
    );
    await writing(this.#parts.registry.update(changed));
  }

  /** A team belongs to a group only by `spec.groups`; a team of the same name is not taken over. */
  async #makeTeams(
    user: string,
    identity: AdmittedIdentity,
    requestId: string | undefined,
  ): Promise<void> {
    const { config, access, logger } = this.#parts;
    if (config.current.auth.disableTeamCreation) return;
    const kind = kindOf(this.#parts, 'teams');
    const missing = identity.groups.filter(
      (group) => access.directory.teamsWith(group).length === 0,
    );
    for (const group of missing.slice(0, MOST_NEW_TEAMS)) {
      const name = teamNameOf(group);
      if (findObject(this.#parts, kind, name) !== undefined) continue;
      if (access.isActedAs('team', name)) {
        const remedy = 'delete the access keys of the team, or make the team by hand';
        logger.warn(
          { team: name, remedy },
          'Keys of a former team exist: no team is created for the group',
        );
        continue;
      }
      const body = { metadata: { name }, spec: { displayName: group, groups: [group] } };
      try {
        await this.#create(kind, body, writeOptions(user, identity, requestId));
      } catch (error) {
        if (!(error instanceof SignInError)) throw error;
        // The user has the group even without a team.
        logger.warn(
          { team: name, problem: error.message },
          'The team of a group cannot be created',
        );
      }
    }
    if (missing.length > MOST_NEW_TEAMS) {
      logger.warn({ user, groups: missing.length }, 'Not every group of a login has a team yet');
    }
  }

  /** False: an object of that name was created concurrently. */
  async #create(kind: Kind, body: JsonObject, of: WriteOptions): Promise<boolean> {
    try {
      await writing(this.#parts.registry.create(ownCreate(kind, body, of)));
      return true;
    } catch (error) {
      const cause = error instanceof SignInError ? error.cause : undefined;
      if (cause instanceof StatusError && cause.reason === 'AlreadyExists') return false;
      throw error;
    }
  }
}
