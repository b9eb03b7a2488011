/**
 * True if what happened was within the rights of who asked. A finding is a sentence; the campaign
 * fails with it.
 */
import {
  type Ask,
  askPath,
  type Identity,
  idOf,
  isNamespaced,
  MANAGEMENT,
  type Obj,
  type Objects,
  RBAC,
  Rights,
  type Scope,
  scopeAllows,
  teamGroup,
  userIdentity,
} from './rights-model.ts';
import { tracesIn } from './traces.ts';
import { type Change, groupOf, type HeldKey, ownersOf, PLURALS, type World } from './world.ts';

export const GIT_PATH = '/git/platform.git';

/** By which road objects changed, and what the request named. */
export type Road =
  | { readonly by: 'api'; readonly verbs: readonly string[]; readonly target: Target }
  | { readonly by: 'push' }
  /** By people whose rights the platform does not know. */
  | { readonly by: 'remote' };

/** Objects that a request changed. */
export interface Changed {
  readonly changes: readonly Change[];
  /** A control file of the repository changed. */
  readonly steers: boolean;
}

export interface Target {
  readonly plural: string;
  readonly namespace: string;
  /** Empty: the whole collection. */
  readonly name: string;
}

const NOBODY_HAS = 'zz-nobody-has-this';
const NOWHERE: Target = { plural: '', namespace: '', name: '' };

export function askFor(verb: string, { plural, namespace, name }: Target): Ask {
  return { verb, group: groupOf(plural), resource: plural, namespace, name };
}

export class Judge {
  readonly #world: World;
  readonly #namespaces: readonly string[];
  readonly #names: Readonly<Record<string, readonly string[]>>;

  constructor(
    world: World,
    of: { namespaces: readonly string[]; names: Readonly<Record<string, readonly string[]>> },
  ) {
    this.#world = world;
    this.#namespaces = of.namespaces;
    this.#names = of.names;
  }

  /** Findings about changes that a request brought, from before they are applied to the world. */
  changes(key: HeldKey, road: Road, changed: Changed): string[] {
    const { changes } = changed;
    const rights = this.#world.rightsOf(key);
    if (rights === undefined) return [`a key that does not work changed ${describe(changes)}`];
    const findings = changes.flatMap((change) => owned(rights, change));
    if (road.by !== 'api') return [...findings, ...this.#pushed(rights, changed)];
    const { target, verbs } = road;
    for (const change of changes) {
      const isTarget =
        change.plural === target.plural &&
        (target.namespace === '' || change.namespace === target.namespace) &&
        (target.name === '' || change.name === target.name);
      if (!isTarget)
        findings.push(`a write of ${describeTarget(target)} changed ${describe([change])}`);
    }
    const asked = verbs.length > 0 ? verbs : ['(none)'];
    for (const verb of asked) {
      // A create has no name yet; an apply that creates has one, as in Kubernetes.
      const isUnnamed = verb === 'create' && !verbs.includes('patch');
      const at = isUnnamed ? { ...target, name: '' } : target;
      if (!rights.allows(askFor(verb, at))) {
        findings.push(`changed ${describe(changes)} without the right to ${verb} it`);
      }
    }
    return findings;
  }

  #pushed(rights: Rights, { changes, steers }: Changed): string[] {
    const findings: string[] = [];
    if (!rights.allows(askPath('update', GIT_PATH))) findings.push('pushed without the right to');
    if (steers && !mayControl(rights)) {
      findings.push('pushed a control file without the right to control files');
    }
    for (const change of changes) {
      const { before, after } = change;
      const isGone = after === undefined || isDeleted(before, after);
      const verb = before === undefined ? 'create' : isGone ? 'delete' : 'update';
      const at = verb === 'create' ? { ...change, name: '' } : change;
      if (!rights.allows(askFor(verb, at))) {
        findings.push(`pushed ${describe([change])} without the right to ${verb} it`);
      }
    }
    return findings;
  }

  /** Findings about what changes hand out; asked before they are applied. `then`: the objects before. */
  grants(
    key: HeldKey,
    changes: readonly Change[],
    next: Objects,
    then: Objects = this.#world.objects,
  ): string[] {
    const rights = this.#world.rightsOf(key);
    if (rights === undefined || !changes.some(isAboutRights)) return [];
    return [
      ...changes.flatMap((change) => this.#followed(rights, change)),
      ...changes.flatMap((change) => keyFields(change)),
      ...changes.flatMap((change) => this.#teamsBound(rights, change)),
      ...this.#gains(rights, changes, { then, next }),
    ];
  }

  /** Values that were another object's before take the right to read them there. */
  brought(person: string, key: HeldKey, changes: readonly Change[]): string[] {
    const rights = this.#world.rightsOf(key);
    const findings: string[] = [];
    for (const { plural, namespace, name, before, after } of changes) {
      if (after === undefined || sourceOf(after) !== undefined) continue;
      const { uid } = after.metadata;
      const had = before === undefined ? new Set() : tracesIn(JSON.stringify(before)).canaries;
      for (const canary of tracesIn(JSON.stringify(after)).canaries) {
        const lives = this.#world.livesWith.get(canary) ?? new Set();
        if (had.has(canary) || lives.has(uid) || lives.size === 0) continue;
        if (this.#world.senders.get(canary)?.has(person) === true) continue;
        const mayRead = [...lives].some((one) => {
          const life = this.#world.lives.get(one);
          if (life === undefined || rights === undefined) return false;
          const isLive = this.#world.isLive(life);
          return rights.allows(askFor('get', isLive ? life : { ...life, name: '' }));
        });
        const from = [...lives].map((one) => describeTarget(this.#world.lives.get(one) ?? NOWHERE));
        if (!mayRead) {
          const to = describeTarget({ plural, namespace, name });
          findings.push(
            `brought ${canary} from ${from.join(', ')} to ${to} without the right to get it`,
          );
        }
      }
    }
    return findings;
  }

  /**
   * An object that a merge brings back has the past that it had: the right on its name is not enough. All
   * that the deletion of a user, a team or a key revoked goes by its uid, so nobody brings one back.
   */
  revived(key: HeldKey, changes: readonly Change[]): string[] {
    const rights = this.#world.rightsOf(key);
    return changes.flatMap((change) => {
      const { plural, namespace, before, after } = change;
      if (before !== undefined || !this.#world.lives.has(after?.metadata.uid ?? '')) return [];
      if (REVOKES.includes(plural)) return [`brought ${describeTarget(change)} back to life`];
      const every = { plural, namespace, name: '' };
      const mayRead = [every, { ...every, name: NOBODY_HAS }].every(
        (target) => rights?.allows(askFor('get', target)) === true,
      );
      return mayRead ? [] : [`brought ${describeTarget(change)} back without the right to get all`];
    });
  }

  /** A project secret that begins to follow shows its readers the data of another object. */
  #followed(rights: Rights, { plural, before, after }: Change): string[] {
    const source = sourceOf(after);
    if (plural !== 'projectsecrets' || source === undefined) return [];
    const was = sourceOf(before);
    if (was?.name === source.name && was.namespace === source.namespace) return [];
    return rights.allows(askFor('get', source))
      ? []
      : [`has a project secret follow ${describeTarget(source)} without the right to get it`];
  }

  /** A binding to a team takes membership, or `bind` on the team (specification, section 2.4). */
  #teamsBound(rights: Rights, { plural, before, after }: Change): string[] {
    if (!plural.endsWith('rolebindings')) return [];
    const had = new Set((before?.subjects ?? []).map(({ name }) => name));
    return (after?.subjects ?? []).flatMap(({ kind, name }) => {
      const team = /^gitplane:team:(.+)$/.exec(name)?.[1];
      if (kind !== 'Group' || team === undefined || had.has(name)) return [];
      if (rights.identity.groups.has(name)) return [];
      const ask = askFor('bind', { plural: 'teams', namespace: '', name: team });
      return rights.allows(ask) ? [] : [`bound a role to team ${team} without bind on the team`];
    });
  }

  #gains(
    rights: Rights,
    changes: readonly Change[],
    { then: before, next }: { then: Objects; next: Objects },
  ): string[] {
    if (changes.some((change) => mayHandOut(rights, change))) return [];
    const everyone = new Rights(before, {
      user: NOBODY_HAS,
      groups: new Set(['system:authenticated']),
      scopes: [],
    });
    // A change of a role that waits for a review gives its holders more after the merge as well.
    const will = before === this.#world.objects ? rights : new Rights(before, rights.identity);
    const asks = this.#asks();
    for (const [name, identity] of holders(next)) {
      const now = new Rights(next, identity);
      const old = holders(before).get(name);
      const then = old && new Rights(before, old);
      for (const ask of asks) {
        if (!now.allows(ask) || then?.allows(ask) === true) continue;
        if (rights.allows(ask) || will.allows(ask) || everyone.holds(ask)) continue;
        if (isOwnCreation(rights, { holder: identity, ask }, changes)) continue;
        return [
          `handed ${describeAsk(ask)} to ${name}, by ${describe(changes)}, without having it`,
        ];
      }
    }
    return [];
  }

  /** Every verb on every name that there may be, and on one that nobody names. */
  #asks(): Ask[] {
    const asks: Ask[] = [];
    for (const plural of PLURALS) {
      const namespaces = isNamespaced(plural) ? ['', ...this.#namespaces] : [''];
      const names = ['', NOBODY_HAS, ...(this.#names[plural] ?? [])];
      for (const namespace of namespaces) {
        for (const name of names) {
          for (const verb of VERBS) asks.push(askFor(verb, { plural, namespace, name }));
        }
      }
    }
    for (const verb of ['get', 'update']) asks.push(askPath(verb, GIT_PATH));
    return asks;
  }

  /** Findings about a scope that was given to a key or token by one with scopes. */
  scopes(outer: readonly Scope[], inner: Scope | undefined): string[] {
    if (outer.length === 0) return [];
    if (inner === undefined) return ['made a key without a scope by one with a scope'];
    const asks = [...this.#asks(), ...SPECIAL.flatMap((verb) => this.#special(verb))];
    const beyond = asks.find(
      (ask) => scopeAllows(inner, ask) && !outer.every((scope) => scopeAllows(scope, ask)),
    );
    return beyond === undefined
      ? []
      : [`made a key whose scope allows ${describeAsk(beyond)}, by one whose scope does not`];
  }

  #special(verb: string): Ask[] {
    return PLURALS.flatMap((plural) =>
      ['', NOBODY_HAS].map((name) => askFor(verb, { plural, namespace: '', name })),
    );
  }

  /** Findings about key objects that a request made or changed. */
  keysWritten(key: HeldKey, changes: readonly Change[]): string[] {
    // A key that waits for its finalizers does not authenticate: a deletion of it gives nothing.
    return changes.flatMap(({ plural, after }) =>
      plural !== 'ownedaccesskeys' || after?.metadata.deletionTimestamp !== undefined
        ? []
        : this.#keyWritten(key, after),
    );
  }

  #keyWritten(key: HeldKey, after: Obj | undefined): string[] {
    const rights = this.#world.rightsOf(key);
    if (rights === undefined || after === undefined) return [];
    const { user, team, scope, groups = [] } = after.spec ?? {};
    const findings = this.scopes(rights.identity.scopes, scope);
    const names: [string, string][] = [];
    if (user !== undefined && user !== rights.identity.user) names.push(['users', user]);
    const wanted = [...groups, ...(team === undefined ? [] : [teamGroup(team)])];
    for (const group of wanted) {
      if (!rights.identity.groups.has(group)) names.push(['groups', group]);
    }
    for (const [resource, name] of names) {
      const ask = { verb: 'impersonate', group: '', resource, namespace: '', name };
      if (!rights.allows(ask)) findings.push(`made a key of ${name} without impersonate`);
    }
    return findings;
  }
}

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'bind',
  'escalate',
  'makeowner',
];
/** Kinds whose deletion revokes sessions, keys and tokens. */
const REVOKES = ['users', 'teams', 'ownedaccesskeys'];
const SPECIAL = ['*', 'impersonate', 'approve', 'use'];

function isAboutRights({ plural, before, after }: Change): boolean {
  if (plural !== 'sharedsecrets' && plural !== 'projectsecrets') return true;
  const own = (object: Obj | undefined): string =>
    JSON.stringify([object?.spec?.owner, object?.spec?.access, object?.metadata.labels]);
  return own(before) !== own(after);
}

/** What waits for its finalizers is there, and not in git. */
function isDeleted(before: Obj | undefined, { metadata }: Obj): boolean {
  return (
    metadata.deletionTimestamp !== undefined && before?.metadata.deletionTimestamp === undefined
  );
}

/** Control files take a right of their own. */
function mayControl(rights: Rights): boolean {
  return rights.allows({
    verb: 'update',
    group: MANAGEMENT,
    resource: 'repository/controlfiles',
    namespace: '',
    name: '',
  });
}

/** Verbs that lift the rule that nobody hands out what they do not hold. */
function mayHandOut(rights: Rights, { plural, namespace, name, after }: Change): boolean {
  if (after === undefined) return false;
  const at = { plural, namespace, name };
  if (plural === 'roles' || plural === 'clusterroles') return rights.allows(askFor('escalate', at));
  if (plural === 'teams' || plural === 'users') return rights.allows(askFor('bind', at));
  if (!plural.endsWith('rolebindings') || after.roleRef === undefined) return false;
  const resource = after.roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
  const role = { verb: 'bind', group: RBAC, resource, namespace, name: after.roleRef.name };
  return rights.allows(role);
}

/**
 * A user who makes an object for themselves, or for a team of theirs, owns it as soon as it is there, and
 * gives of it to others what the scope of the key reaches.
 */
function isOwnCreation(
  { identity }: Rights,
  { holder, ask }: { holder: Identity; ask: Ask },
  changes: readonly Change[],
): boolean {
  return changes.some(({ plural, namespace, name, before, after }) => {
    if (before !== undefined || after === undefined) return false;
    if (ask.resource !== plural || ask.namespace !== namespace || ask.name !== name) return false;
    const { user, team } = after.spec?.owner ?? {};
    const isOwner = ({ user: name, groups }: Identity): boolean =>
      user === name || (team !== undefined && groups.has(teamGroup(team)));
    if (!isOwner(identity)) return false;
    return isOwner(holder) || identity.scopes.every((scope) => scopeAllows(scope, ask));
  });
}

/** Every user, team and stranger, that a user may act as one day. */
function holders(objects: ReadonlyMap<string, Obj>): Map<string, Identity> {
  const found = new Map<string, Identity>();
  for (const [id, { metadata }] of objects) {
    const { name } = metadata;
    if (id.startsWith('users/')) {
      const identity = userIdentity(objects, name);
      if (identity !== undefined) found.set(`user ${name}`, identity);
    } else if (id.startsWith('teams/')) {
      const groups = new Set(['system:authenticated', teamGroup(name)]);
      found.set(`team ${name}`, { user: teamGroup(name), groups, scopes: [] });
    }
  }
  return found;
}

/** An object goes with its owners. */
function owned(rights: Rights, change: Change): string[] {
  const { before, after } = change;
  const isChanged = before !== undefined && ownersOf(before) !== ownersOf(after);
  if (!isChanged || ownersOf(after) === '[]' || rights.allows(askFor('delete', change))) return [];
  return [`gave ${describeTarget(change)} other owners without the right to delete it`];
}

/** Fields of keys that belong to the server. */
function keyFields({ plural, before, after }: Change): string[] {
  if (plural !== 'ownedaccesskeys' || after === undefined) return [];
  const { type, oidcProvider, oidcLogin, parent } = after.spec ?? {};
  const set = { oidcProvider, oidcLogin, parent, type: type === 'Login' ? type : undefined };
  return Object.entries(set)
    .filter(([field, value]) => {
      const was = (before?.spec as Record<string, unknown> | undefined)?.[field];
      return value !== undefined && JSON.stringify(was) !== JSON.stringify(value);
    })
    .map(([field]) => `set spec.${field} of a key, which is the server's`);
}

export function sourceOf(object: Obj | undefined): Target | undefined {
  const labels = object?.metadata.labels ?? {};
  const name = labels['gitplane.dev/sharedsecret-name'];
  const namespace = labels['gitplane.dev/sharedsecret-namespace'];
  if (name === undefined || namespace === undefined) return undefined;
  return { plural: 'sharedsecrets', namespace, name };
}

function describeTarget({ plural, namespace, name }: Target): string {
  return idOf(plural, namespace, name);
}

export function describe(changes: readonly Change[]): string {
  return changes
    .map((change) => {
      const { before, after } = change;
      const verb = before === undefined ? 'new' : after === undefined ? 'gone' : 'changed';
      return `${verb} ${describeTarget(change)}`;
    })
    .join(', ');
}

function describeAsk({ verb, resource, namespace, name, path }: Ask): string {
  return path === undefined ? `${verb} ${idOf(resource, namespace, name)}` : `${verb} ${path}`;
}
