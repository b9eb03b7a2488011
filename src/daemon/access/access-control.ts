/**
 * Authentication and authorization, with indexes that follow the state:
 * a change of a key, user, team, role or binding acts on the next request.
 */
import { EventEmitter } from 'node:events';
import type { Authorizer, Clock, JsonObject, KubeObject, User } from '../../apimachinery/index.ts';
import {
  AccessKeyIndex,
  type ActingAs,
  ActivityTracker,
  type Authenticated,
  type Directory,
  DirectoryIndex,
  type KeyLifetimeLimits,
  type PermitContext,
  RbacAuthorizer,
  resolveIdentity,
  ScopedAuthorizer,
} from '../../auth/index.ts';
import { type Kind, type KindTable, RBAC_GROUP, roleAssignments } from '../../kinds/index.ts';
import { OWNER_UID } from '../../registry/index.ts';
import type { Authenticate, Identities } from '../../server/index.ts';
import type { JournalEvent, Store, StoredObject } from '../../state/index.ts';
import { objectAccess } from './object-access.ts';

/** Updates of an index for the objects of one kind. */
interface Feed {
  readonly group: string;
  readonly plural: string;
  set(stored: StoredObject): void;
  remove(name: string, namespace: string): void;
}

export interface AccessControlOptions {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list' | 'observe'>;
  /** Persists the last uses of access keys; see `ActivityTracker`. */
  readonly saveUses: (lastUse: ReadonlyMap<string, number>) => Promise<void>;
  readonly clock: Clock;
  readonly limits: () => KeyLifetimeLimits;
  /** Current prefix of the namespaces of projects. */
  readonly projectPrefix: () => string;
  onError(error: unknown): void;
}

export interface AccessControl {
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  /** The same rights as rules, for escalation checks. */
  readonly rules: ScopedAuthorizer;
  /** Current users and teams. */
  readonly directory: Directory;
  /** Current ClusterRoleBindings of teams and users in clusters, without those of disabled users. */
  readonly assignments: {
    all(): readonly KubeObject[];
    /** Calls the listener after each change. Returns a function that unsubscribes it. */
    observe(listener: () => void): () => void;
  };
  /** True if the access key exists and has not ended. */
  keyWorks(name: string): boolean;
  /** Identity of an access key; undefined while the key does not work. */
  keyIdOf(name: string): string | undefined;
  /** Users as their requests have them; undefined: there is none. */
  readonly identities: Identities;
  /** Holder of an access key, as it authenticates; undefined while the key does not work. */
  keyHolder(name: string): Authenticated | undefined;
  /** Context in which scopes of keys and tokens are evaluated. */
  readonly scopes: PermitContext;
  /** True if a key other than a login key acts under the name of a user or team. */
  isActedAs(as: ActingAs, name: string): boolean;
  /** Names of the keys that act under the name of a user or team. */
  keysOf(as: ActingAs, name: string): string[];
  /** Reason why the owner makes a key useless; undefined: the key is usable. */
  ownerProblem(keyName: string): ReturnType<AccessKeyIndex['ownerProblem']>;
  /** Name of the access key that has this concealed text, if any. */
  holderOf(concealed: string): string | undefined;
  /** Login keys by name, with the users that they act as. */
  logins(): readonly { readonly key: string; readonly user: string }[];
  /** Names of the access keys that ended longer ago than `keptMs`. */
  overdueKeys(keptMs: number): string[];
  /** Access key behind a user that `authenticate` returned. */
  session(user: User): Authenticated | undefined;
  /** Persists the last uses and stops following the state. */
  close(): Promise<void>;
}

export function startAccessControl(options: AccessControlOptions): AccessControl {
  const directory = new DirectoryIndex();
  const rules = new RbacAuthorizer(objectAccess(options.kinds, options.store));
  const activity = new ActivityTracker({
    save: options.saveUses,
    onError: options.onError,
  });
  const { clock, limits, kinds, projectPrefix } = options;
  const [group = ''] = kinds.groups;
  const isNamespaced = (of: string, plural: string): boolean =>
    kinds.byPlural(of, plural)?.scope === 'Namespaced';
  const scopes = { group, projectPrefix, isNamespaced };
  const keys = new AccessKeyIndex({ directory, activity, limits, clock, scopes });
  const scoped = new ScopedAuthorizer(rules);
  const assigned = new EventEmitter();
  const stops = feeds(kinds, { directory, rules, keys, assigned }).map((feed) =>
    follow(options, feed),
  );
  const sessions = new WeakMap<User, Authenticated>();
  return {
    authenticate: (token) => {
      const result = keys.authenticate(token);
      if (!result.authenticated) return { message: result.message };
      const { user } = result;
      if (sessions.get(user) !== result) sessions.set(user, result);
      return result;
    },
    authorizer: scoped,
    rules: scoped,
    directory,
    assignments: {
      all: () =>
        [...rules.assignments].flatMap(([assignee, bindings]) => {
          const [plural, name = ''] = assignee.split('/');
          const isShutOut = plural === 'users' && directory.user(name)?.disabled === true;
          return isShutOut ? [] : bindings;
        }),
      observe: (listener) => {
        assigned.on('change', listener);
        return () => assigned.off('change', listener);
      },
    },
    keyWorks: (name) => keys.works(name),
    keyIdOf: (name) => keys.idOf(name),
    identities: {
      user: (name) => userOf(directory, { user: name, ownerUid: directory.user(name)?.uid }),
      team: (name) => userOf(directory, { team: name, ownerUid: directory.team(name)?.uid }),
      key: (name) => keys.holder(name)?.user,
      members: (team) => directory.team(team),
    },
    keyHolder: (name) => keys.holder(name),
    scopes,
    isActedAs: (as, name) => keys.isActedAs(as, name),
    keysOf: (as, name) => keys.keysOf(as, name),
    ownerProblem: (name) => keys.ownerProblem(name),
    holderOf: (concealed) => keys.holderOf(concealed),
    logins: () => keys.logins(),
    overdueKeys: (keptMs) => keys.overdue(keptMs),
    session: (user) => sessions.get(user),
    close: async () => {
      for (const stop of stops) stop();
      await activity.save();
    },
  };
}

function feeds(
  kinds: KindTable,
  to: {
    directory: DirectoryIndex;
    rules: RbacAuthorizer;
    keys: AccessKeyIndex;
    /** Emits `change` after a change of `spec.clusterRoles`. */
    assigned: EventEmitter;
  },
): Feed[] {
  const { directory, rules, keys, assigned } = to;
  const [group = ''] = kinds.groups;
  const assign = (plural: string, of: KubeObject | string): void => {
    const kind = kindOf(kinds, { group, plural });
    const name = typeof of === 'string' ? of : of.metadata.name;
    const bindings = typeof of === 'string' ? [] : roleAssignments(kind, of);
    const isChanged = rules.setAssignments(`${plural}/${name}`, bindings);
    if (isChanged || bindings.length > 0) assigned.emit('change');
  };
  const role = {
    set: ({ object }: StoredObject) => rules.setRole(object),
    remove: (name: string, namespace: string) => rules.removeRole(namespace, name),
  };
  const binding = {
    set: ({ object }: StoredObject) => rules.setBinding(object),
    remove: (name: string, namespace: string) => rules.removeBinding(namespace, name),
  };
  return [
    {
      group,
      plural: 'users',
      set: ({ object, hidden }) => {
        directory.setUser(object, hiddenText(hidden, 'spec.passwordHash'));
        assign('users', object);
      },
      remove: (name) => {
        directory.removeUser(name);
        assign('users', name);
      },
    },
    {
      group,
      plural: 'teams',
      set: ({ object }) => {
        directory.setTeam(object);
        assign('teams', object);
      },
      remove: (name) => {
        directory.removeTeam(name);
        assign('teams', name);
      },
    },
    {
      group,
      plural: 'ownedaccesskeys',
      set: ({ key, object, hidden }) => keys.set(key.name, object, hiddenOfKey(hidden)),
      remove: (name) => keys.remove(name),
    },
    { group: RBAC_GROUP, plural: 'roles', ...role },
    { group: RBAC_GROUP, plural: 'clusterroles', ...role },
    { group: RBAC_GROUP, plural: 'rolebindings', ...binding },
    { group: RBAC_GROUP, plural: 'clusterrolebindings', ...binding },
  ];
}

/** The user of a request without an access key, so without a scope. */
function userOf(
  directory: Directory,
  owner: { readonly user?: string; readonly team?: string; readonly ownerUid: string | undefined },
): User | undefined {
  const whole = { key: '', user: undefined, team: undefined, subject: undefined, groups: [] };
  const identity = resolveIdentity({ ...whole, ...owner }, directory);
  if (!('user' in identity)) return undefined;
  const { accessKey: _none, ...user } = identity.user;
  return user;
}

function hiddenText(hidden: JsonObject | undefined, path: string): string | undefined {
  const value = hidden?.[path];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function hiddenOfKey(hidden: JsonObject | undefined): JsonObject | undefined {
  const { 'spec.key': key, [OWNER_UID]: ownerUid } = hidden ?? {};
  return { ...(key !== undefined && { key }), ...(ownerUid !== undefined && { ownerUid }) };
}

/** Fills an index from the store, then passes every change to it. */
function follow({ kinds, store }: AccessControlOptions, feed: Feed): () => void {
  const kind = kindOf(kinds, feed);
  const collection = { group: kind.group, kind: kind.kind };
  for (const stored of store.list(collection).items) feed.set(stored);
  return store.observe(collection, ({ type, current }: JournalEvent) => {
    if (type === 'DELETED') feed.remove(current.key.name, current.key.namespace);
    else feed.set(current);
  });
}

function kindOf(kinds: KindTable, { group, plural }: { group: string; plural: string }): Kind {
  const kind = kinds.byPlural(group, plural);
  if (kind === undefined) throw new Error(`The table of kinds has no ${plural}.${group}`);
  return kind;
}
