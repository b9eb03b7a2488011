/**
 * Users and teams for authentication: existence, disabled users, membership. `set…` and `remove…` follow
 * the changes of objects, so that a change of membership acts on the next request.
 */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import { text, texts } from '../fields.ts';
import { Multimap } from './multimap.ts';
import { isReservedGroup, PLATFORM_PREFIX } from './reserved-names.ts';

export interface DirectoryUser {
  readonly name: string;
  readonly uid: string | undefined;
  readonly email: string | undefined;
  readonly disabled: boolean;
  /** Groups of the User object, including those of its last login; without team groups. */
  readonly groups: readonly string[];
  /** Raising it voids the endpoint tokens of the user. */
  readonly tokenGeneration: number;
  /** Identity at a provider that signs in as this user. */
  readonly identity: ProviderIdentity | undefined;
  /** Undefined: the user has no password. */
  readonly passwordHash: string | undefined;
}

/** An identity at a provider. */
export interface ProviderIdentity {
  readonly connector: string;
  readonly subject: string;
}

export interface DirectoryTeam {
  readonly name: string;
  readonly uid: string | undefined;
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** Empty: the team has none. */
  readonly username: string;
}

/** Look-ups for resolving an identity. */
export interface Directory {
  /** Changes with every change of a user or team. */
  readonly version: number;
  user(name: string): DirectoryUser | undefined;
  team(name: string): DirectoryTeam | undefined;
  /** Users that an identity signs in as, by name; more than one is a mistake. */
  usersOf(identity: ProviderIdentity): string[];
  /** Names of the teams that have a group, sorted. */
  teamsWith(group: string): string[];
  /** Names of the teams with a `spec.username`, sorted; more than one is a mistake. */
  teamsNamed(username: string): string[];
  /** Names of the teams that list the user or one of its groups, sorted. */
  teamsOf(user: Pick<DirectoryUser, 'name' | 'groups'>): string[];
}

export class DirectoryIndex implements Directory {
  readonly #users = new Map<string, DirectoryUser>();
  readonly #teams = new Map<string, DirectoryTeam>();
  readonly #teamsByUser = new Multimap();
  readonly #teamsByGroup = new Multimap();
  readonly #teamsByUsername = new Multimap();
  readonly #usersByIdentity = new Multimap();
  #version = 0;

  get version(): number {
    return this.#version;
  }

  user(name: string): DirectoryUser | undefined {
    return this.#users.get(name);
  }

  team(name: string): DirectoryTeam | undefined {
    return this.#teams.get(name);
  }

  usersOf(identity: ProviderIdentity): string[] {
    return [...this.#usersByIdentity.get(identityKey(identity))].sort();
  }

  teamsWith(group: string): string[] {
    return [...this.#teamsByGroup.get(group)].sort();
  }

  teamsNamed(username: string): string[] {
    return [...this.#teamsByUsername.get(username)].sort();
  }

  teamsOf(user: Pick<DirectoryUser, 'name' | 'groups'>): string[] {
    const teams = new Set(this.#teamsByUser.get(user.name));
    for (const group of user.groups) {
      for (const team of this.#teamsByGroup.get(group)) teams.add(team);
    }
    return [...teams].sort();
  }

  /** A user that is being deleted counts as gone: its keys stop at once, whatever its finalizers. */
  setUser(object: KubeObject, passwordHash?: string): void {
    const user = readUser(object, passwordHash);
    this.removeUser(user.name);
    if (object.metadata.deletionTimestamp !== undefined) return;
    this.#users.set(user.name, user);
    if (user.identity !== undefined) {
      this.#usersByIdentity.add(identityKey(user.identity), user.name);
    }
  }

  removeUser(name: string): void {
    const identity = this.#users.get(name)?.identity;
    if (identity !== undefined) this.#usersByIdentity.delete(identityKey(identity), name);
    this.#users.delete(name);
    this.#version++;
  }

  setTeam(object: KubeObject): void {
    const team = readTeam(object);
    this.removeTeam(team.name);
    if (object.metadata.deletionTimestamp !== undefined) return;
    this.#teams.set(team.name, team);
    for (const user of team.users) this.#teamsByUser.add(user, team.name);
    for (const group of team.groups) this.#teamsByGroup.add(group, team.name);
    if (team.username !== '') this.#teamsByUsername.add(team.username, team.name);
  }

  removeTeam(name: string): void {
    const team = this.#teams.get(name);
    this.#teams.delete(name);
    for (const user of team?.users ?? []) this.#teamsByUser.delete(user, name);
    for (const group of team?.groups ?? []) this.#teamsByGroup.delete(group, name);
    if (team?.username) this.#teamsByUsername.delete(team.username, name);
    this.#version++;
  }
}

/**
 * Groups of a user have two sources with different trust. `spec.groups` is desired state, and may name
 * `system:masters`; `spec.ssoGroups` is a claim of an identity provider, so reserved names in it are
 * dropped. Groups of the platform itself are computed, and never taken from either.
 */
function readUser(object: KubeObject, passwordHash: string | undefined): DirectoryUser {
  const spec = object.spec ?? {};
  const own = texts(spec['groups']).filter((group) => !group.startsWith(PLATFORM_PREFIX));
  const claimed = texts(spec['ssoGroups']).filter((group) => !isReservedGroup(group));
  const { tokenGeneration } = spec;
  return {
    name: object.metadata.name ?? '',
    uid: object.metadata.uid,
    email: text(spec['email']),
    disabled: spec['disabled'] === true,
    groups: [...new Set([...own, ...claimed])],
    tokenGeneration: typeof tokenGeneration === 'number' ? tokenGeneration : 0,
    identity: readIdentity(spec),
    passwordHash,
  };
}

function readIdentity(spec: JsonObject): ProviderIdentity | undefined {
  const [connector, subject] = [text(spec['connector']), text(spec['subject'])];
  return connector === undefined || subject === undefined ? undefined : { connector, subject };
}

function identityKey({ connector, subject }: ProviderIdentity): string {
  return JSON.stringify([connector, subject]);
}

function readTeam(object: KubeObject): DirectoryTeam {
  const spec = object.spec ?? {};
  return {
    name: object.metadata.name ?? '',
    uid: object.metadata.uid,
    // Copies have no room for more items, as a list has that was filled one by one.
    users: texts(spec['users']).slice(),
    groups: texts(spec['groups']).slice(),
    username: text(spec['username']) ?? '',
  };
}
