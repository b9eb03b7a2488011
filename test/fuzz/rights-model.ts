/**
 * The oracle of the campaign: rights worked out anew from the objects that an administrator sees. It
 * shares no code with the daemon, so that one mistake is not made twice. Where the documentation
 * leaves a choice, the oracle allows less.
 */

export const MANAGEMENT = 'management.gitplane.dev';
export const RBAC = 'rbac.authorization.k8s.io';

export interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface ScopeRule {
  readonly verbs?: readonly string[];
  readonly resources?: readonly { readonly group?: string; readonly resources?: string[] }[];
  readonly resourceNames?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Scope {
  readonly rules?: readonly ScopeRule[];
  readonly projects?: readonly { readonly project: string }[];
}

export interface AccessRule {
  readonly verbs?: readonly string[];
  readonly users?: readonly string[];
  readonly teams?: readonly string[];
  readonly subresources?: readonly string[];
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly apiGroup?: string;
}

export interface Spec {
  readonly displayName?: string;
  readonly owner?: { readonly user?: string; readonly team?: string };
  readonly access?: readonly AccessRule[];
  readonly data?: Readonly<Record<string, string>>;
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  readonly user?: string;
  readonly team?: string;
  readonly subject?: string;
  readonly scope?: Scope;
  readonly disabled?: boolean;
  readonly type?: string;
  readonly oidcProvider?: object;
  readonly oidcLogin?: object;
  readonly parent?: string;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly object[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Obj {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Spec;
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly Subject[];
}

/** A request as rights know it. `name` is empty for a collection and for what has no name yet. */
export interface Ask {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly path?: string;
}

export interface Identity {
  readonly user: string;
  readonly groups: ReadonlySet<string>;
  /** Every one of them has to let a request through. */
  readonly scopes: readonly Scope[];
}

/** Objects by `plural/namespace/name`. */
export type Objects = ReadonlyMap<string, Obj>;

export const idOf = (plural: string, namespace: string, name: string): string =>
  `${plural}/${namespace}/${name}`;

export const teamGroup = (team: string): string => `gitplane:team:${team}`;
const EVERYONE = 'system:authenticated';

export function askPath(verb: string, path: string): Ask {
  return { verb, group: '', resource: '', namespace: '', name: '', path };
}

/** Who, or what, is being deleted gives nobody anything; what it has on itself stays. */
function isEnding({ metadata }: Obj): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** The identity of a user, whatever key it shows. Undefined: there is no such user, or it is shut out. */
export function userIdentity(
  objects: Objects,
  name: string,
  more: { groups?: readonly string[]; scopes?: readonly Scope[] } = {},
): Identity | undefined {
  const user = objects.get(idOf('users', '', name));
  if (user === undefined || isEnding(user) || user.spec?.disabled === true) return undefined;
  const own = (user.spec?.groups ?? []).filter((group) => !group.startsWith('gitplane:'));
  const teams: string[] = [];
  for (const [id, team] of objects) {
    if (!id.startsWith('teams/') || isEnding(team)) continue;
    const { users = [], groups = [] } = team.spec ?? {};
    if (users.includes(name) || groups.some((group) => own.includes(group)))
      teams.push(teamGroup(team.metadata.name));
  }
  const added = (more.groups ?? []).filter((group) => !/^(system|gitplane):/.test(group));
  const groups = new Set([EVERYONE, `gitplane:user:${name}`, ...teams, ...own, ...added]);
  return { user: name, groups, scopes: more.scopes ?? [] };
}

/** The identity that a key gives; undefined: the key does not work. */
export function keyIdentity(
  objects: Objects,
  key: Obj,
  ancestors: readonly Scope[],
): Identity | undefined {
  const { user, team, groups, scope, disabled } = key.spec ?? {};
  if (disabled === true || isEnding(key)) return undefined;
  const scopes = scope === undefined ? ancestors : [scope, ...ancestors];
  if (user !== undefined) return userIdentity(objects, user, { groups: groups ?? [], scopes });
  const object = objects.get(idOf('teams', '', team ?? ''));
  if (team === undefined || object === undefined || isEnding(object)) return undefined;
  return { user: teamGroup(team), groups: new Set([EVERYONE, teamGroup(team)]), scopes };
}

/** Rights of an identity, collected once for many questions. */
export class Rights {
  readonly identity: Identity;
  readonly #cluster: Rule[] = [];
  readonly #byNamespace = new Map<string, Rule[]>();
  readonly #onObjects = new Map<string, string[]>();

  constructor(objects: Objects, identity: Identity) {
    this.identity = identity;
    for (const [id, object] of objects) {
      if (id.startsWith('clusterrolebindings/') || id.startsWith('rolebindings/')) {
        this.#addBinding(objects, object);
      } else if (object.spec?.owner !== undefined || object.spec?.access !== undefined) {
        const verbs = grantedOn(object, identity);
        if (verbs.length > 0) this.#onObjects.set(id, verbs);
      }
    }
  }

  allows(ask: Ask): boolean {
    return this.holds(ask) && this.identity.scopes.every((scope) => scopeAllows(scope, ask));
  }

  /** The same without regard to scopes. */
  holds(ask: Ask): boolean {
    const within = ask.namespace === '' ? [] : (this.#byNamespace.get(ask.namespace) ?? []);
    return (
      this.#cluster.some((rule) => ruleAllows(rule, ask)) ||
      within.some((rule) => ruleAllows(rule, ask)) ||
      this.#byObject(ask)
    );
  }

  #byObject({ group, resource, namespace, name, verb }: Ask): boolean {
    if (name === '' || group !== MANAGEMENT) return false;
    const [plural = ''] = resource.split('/');
    const verbs = this.#onObjects.get(idOf(plural, namespace, name));
    return verbs !== undefined && (verbs.includes('*') || verbs.includes(verb));
  }

  #addBinding(objects: Objects, binding: Obj): void {
    const { roleRef, subjects, metadata } = binding;
    if (isEnding(binding)) return;
    if (roleRef === undefined || !(subjects ?? []).some((one) => this.#isSubject(one))) return;
    const { namespace = '' } = metadata;
    const role =
      roleRef.kind === 'ClusterRole'
        ? objects.get(idOf('clusterroles', '', roleRef.name))
        : objects.get(idOf('roles', namespace, roleRef.name));
    const rules = role === undefined || isEnding(role) ? [] : (role.rules ?? []);
    if (namespace === '') this.#cluster.push(...rules);
    else this.#byNamespace.set(namespace, [...(this.#byNamespace.get(namespace) ?? []), ...rules]);
  }

  #isSubject({ kind, name }: Subject): boolean {
    return kind === 'Group' ? this.identity.groups.has(name) : name === this.identity.user;
  }
}

/** Verbs that owner and access rules of an object give; those of subresources do not count. */
function grantedOn({ spec = {} }: Obj, { user, groups }: Identity): string[] {
  const { owner = {}, access = [] } = spec;
  const owns = owner.user === user || (owner.team && groups.has(teamGroup(owner.team)));
  if (owns === true) return ['*'];
  return access
    .filter(
      ({ users = [], teams = [] }) =>
        users.includes(user) ||
        users.includes('*') ||
        teams.includes('*') ||
        teams.some((team) => groups.has(teamGroup(team))),
    )
    .flatMap(({ verbs = [] }) => verbs.filter((verb) => verb !== 'create'));
}

function includes(patterns: readonly string[] | undefined, wanted: string): boolean {
  return patterns?.includes(wanted) === true || patterns?.includes('*') === true;
}

export function ruleAllows(rule: Rule, ask: Ask): boolean {
  if (!includes(rule.verbs, ask.verb)) return false;
  if (ask.path !== undefined) {
    return (rule.nonResourceURLs ?? []).some((pattern) => pathMatches(pattern, ask.path ?? ''));
  }
  if (!includes(rule.apiGroups, ask.group) || !includes(rule.resources, ask.resource)) return false;
  const { resourceNames = [] } = rule;
  return resourceNames.length === 0 || resourceNames.includes(ask.name);
}

function pathMatches(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

const LIFTING = ['bind', 'escalate', 'impersonate', 'makeowner'];

export function scopeAllows(scope: Scope, ask: Ask): boolean {
  const { rules = [], projects = [] } = scope;
  return (
    rules.some((rule) => scopeRuleAllows(rule, ask)) ||
    (ask.path === undefined && projects.some(({ project }) => inProject(project, ask)))
  );
}

function scopeRuleAllows(rule: ScopeRule, ask: Ask): boolean {
  const { verbs = [], resources = [], resourceNames = [], namespaces = [] } = rule;
  const isVerb = verbs.length === 0 ? !LIFTING.includes(ask.verb) : verbs.includes(ask.verb);
  if (!isVerb) return false;
  const paths = rule.nonResourceURLs ?? [];
  if (ask.path !== undefined) {
    if (paths.length > 0) return paths.some((pattern) => pathMatches(pattern, ask.path ?? ''));
    return resources.length === 0 && namespaces.length === 0;
  }
  if (paths.length > 0) return false;
  const isResource =
    resources.length === 0 ||
    resources.some(
      ({ group = '', resources: names = [] }) =>
        group === ask.group && (names.length === 0 || includes(names, ask.resource)),
    );
  if (!isResource) return false;
  if (resourceNames.length > 0 && !resourceNames.includes(ask.name)) return false;
  if (namespaces.length === 0) return true;
  // All namespaces at once take a rule without namespaces.
  return NAMESPACED.has(ask.resource)
    ? ask.namespace !== '' && namespaces.includes(ask.namespace)
    : namespaces.includes('');
}

function inProject(project: string, { verb, namespace }: Ask): boolean {
  if (LIFTING.includes(verb)) return false;
  return project === '*'
    ? namespace.startsWith('p-') && namespace.length > 2
    : namespace === `p-${project}`;
}

const NAMESPACED = new Set(['sharedsecrets', 'projectsecrets', 'roles', 'rolebindings']);

export function isNamespaced(plural: string): boolean {
  return NAMESPACED.has(plural);
}
