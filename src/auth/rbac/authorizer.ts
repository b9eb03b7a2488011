/**
 * Role-based access control as in Kubernetes: additive, denied by default, without deny rules. `set…`
 * and `remove…` follow the changes of objects, so that a change acts on the next request. An object that
 * is being deleted grants nothing.
 *
 * A Role or RoleBinding without a namespace is a ClusterRole or ClusterRoleBinding.
 *
 * Roles of `spec.clusterRoles` are separate bindings: they hold inside clusters and not on the platform,
 * and bindings of the platform do not hold inside clusters.
 */
import {
  type Attributes,
  AUTHENTICATED_GROUP,
  type Authorizer,
  type Decision,
  jsonEqual,
  type KubeObject,
  SUPERUSER_GROUP,
  type User,
  valueAt,
} from '../../apimachinery/index.ts';
import type { AccessGrant } from '../../kinds/index.ts';
import type { AccessTrace } from './access-trace.ts';
import { type Binding, BindingIndex, type Grant } from './binding-index.ts';
import { EVERYONES_RULES, FULL_AUTHORITY } from './built-in-rights.ts';
import { type PolicyRule, ruleAllows } from './policy-rules.ts';
import { RoleIndex, type RoleKey } from './role-index.ts';

/** Rights as rules, for escalation checks. */
export interface RuleSource extends Authorizer {
  /**
   * Rules of a user, cluster-wide and in the namespace unless it is empty. With `about`, also the rules
   * that the owner and access rules of that object give.
   */
  rulesFor(user: User, namespace: string, about?: ObjectName): PolicyRule[];
  /** Namespaces with rules for a user beyond the cluster-wide ones. */
  namespacesOf(user: User): string[];
  /** Objects whose owner or access rules name the user; for `about` of `rulesFor`. */
  objectsNaming(user: User): Iterable<ObjectName>;
  /** Rules of a role, with aggregation; undefined: there is no such role. */
  roleRules(role: RoleKey): readonly PolicyRule[] | undefined;
  /** Rules of a user inside clusters, from `spec.clusterRoles`. */
  rulesInClusters(user: User): PolicyRule[];
  /** True if a ClusterRole gives its rules to a user inside clusters, by name or by aggregation. */
  isAssignedInClusters(role: KubeObject): boolean;
}

/** One object, as a request names it. */
export interface ObjectName {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Rights that objects grant on themselves, by owner and access rules. */
export interface AccessSource {
  on(object: ObjectName): readonly AccessGrant[];
  /** Objects that name the user or one of the groups. Scans all objects: for rare use. */
  naming(user: User): Iterable<ObjectName>;
}

const NO_ACCESS: AccessSource = { on: () => [], naming: () => [] };

const SUPERUSER: Decision = { allowed: true, reason: `member of group "${SUPERUSER_GROUP}"` };
const EVERYONE: Decision = { allowed: true, reason: 'allowed to every authenticated user' };
const NO_OPINION: Decision = { allowed: false, reason: '' };

export class RbacAuthorizer implements RuleSource {
  readonly #roles = new RoleIndex();
  readonly #bindings = new BindingIndex();
  readonly #inClusters = new BindingIndex();
  /** Team or user → its bindings in clusters. */
  readonly #assigned = new Map<string, readonly KubeObject[]>();
  readonly #access: AccessSource;
  #revision = 0;

  constructor(access: AccessSource = NO_ACCESS) {
    this.#access = access;
  }

  /**
   * Grows with every change of a role or binding in this index, which may follow a change of the state
   * with a delay: a cached decision is valid for one pair of both revisions.
   */
  get revision(): number {
    return this.#revision;
  }

  setRole(object: KubeObject): void {
    this.#revision++;
    const { namespace = '', name = '', deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) this.#roles.set(object);
    else this.#roles.remove(namespace, name);
  }

  removeRole(namespace: string, name: string): void {
    this.#revision++;
    this.#roles.remove(namespace, name);
  }

  setBinding(object: KubeObject): void {
    this.#revision++;
    const { namespace = '', name = '', deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) this.#bindings.set(object);
    else this.#bindings.remove(namespace, name);
  }

  removeBinding(namespace: string, name: string): void {
    this.#revision++;
    this.#bindings.remove(namespace, name);
  }

  /** Sets the bindings of a team or user in clusters (see `roleAssignments`). Returns true if they changed. */
  setAssignments(assignee: string, bindings: readonly KubeObject[]): boolean {
    const before = this.#assigned.get(assignee) ?? [];
    if (jsonEqual(before, bindings)) return false;
    this.#revision++;
    for (const { metadata } of before) this.#inClusters.remove('', metadata.name ?? '');
    for (const binding of bindings) this.#inClusters.set(binding);
    if (bindings.length === 0) this.#assigned.delete(assignee);
    else this.#assigned.set(assignee, bindings);
    return true;
  }

  /** Bindings in clusters, by team or user. */
  get assignments(): ReadonlyMap<string, readonly KubeObject[]> {
    return this.#assigned;
  }

  /** The reason of a denial names bound roles that do not exist. */
  authorize(user: User, attributes: Attributes): Decision {
    if (user.groups.includes(SUPERUSER_GROUP)) return SUPERUSER;
    if (user.groups.includes(AUTHENTICATED_GROUP)) {
      if (EVERYONES_RULES.some((rule) => ruleAllows(rule, attributes))) return EVERYONE;
    }
    const bound = this.#byBindings(this.#bindings, user, attributes);
    if (bound.allowed) return bound;
    const own = 'path' in attributes ? [] : this.#grantsTo(user, attributes);
    const title = own.find(({ rule }) => ruleAllows(toPolicyRule(rule), attributes))?.title;
    if (title !== undefined) {
      return {
        allowed: true,
        reason: `allowed by access rule ${JSON.stringify(title)} of the object`,
      };
    }
    return bound;
  }

  /** Decides inside a cluster, only by the roles of `spec.clusterRoles`. */
  authorizeInClusters(user: User, attributes: Attributes): Decision {
    return this.#byBindings(this.#inClusters, user, attributes);
  }

  rulesFor(user: User, namespace: string, about?: ObjectName): PolicyRule[] {
    if (user.groups.includes(SUPERUSER_GROUP)) return [...FULL_AUTHORITY];
    const rules = user.groups.includes(AUTHENTICATED_GROUP) ? [...EVERYONES_RULES] : [];
    for (const rule of this.#rulesBy(this.#bindings, user, namespace)) rules.push(rule);
    if (about === undefined) return rules;
    return [...rules, ...this.#grantsTo(user, about).map(({ rule }) => toPolicyRule(rule))];
  }

  /** Every grant of every user that allows a request; undefined for grants that do not. */
  *tracesOf(attributes: Attributes): Iterable<AccessTrace | undefined> {
    yield* builtInTraces(attributes);
    const namespace = 'path' in attributes ? '' : attributes.namespace;
    for (const { binding, source, subject } of this.#bindings.all(namespace)) {
      const rule = this.#rulesOf(binding)?.find((one) => ruleAllows(one, attributes));
      const { role } = binding;
      yield rule && role && { via: 'binding', subject, binding: source, role, rule };
    }
    if ('path' in attributes || attributes.name === '') return;
    for (const { title, rule, subjects } of this.#access.on(attributes)) {
      if (!ruleAllows(toPolicyRule(rule), attributes)) continue;
      for (const { kind, name } of subjects)
        yield { via: 'object', subject: { kind, name }, title };
    }
  }

  namespacesOf(user: User): string[] {
    return this.#bindings.namespacesOf(user);
  }

  objectsNaming(user: User): Iterable<ObjectName> {
    return this.#access.naming(user);
  }

  roleRules(role: RoleKey): readonly PolicyRule[] | undefined {
    return this.#roles.rules(role);
  }

  rulesInClusters(user: User): PolicyRule[] {
    if (user.groups.includes(SUPERUSER_GROUP)) return [...FULL_AUTHORITY];
    return this.#rulesBy(this.#inClusters, user, '');
  }

  isAssignedInClusters(role: KubeObject): boolean {
    const names = new Set(
      [...this.#assigned.values()].flat().map((one) => String(valueAt(one, ['roleRef', 'name']))),
    );
    return [...names].some((name) => this.#roles.gathers(name, role));
  }

  #byBindings(bindings: BindingIndex, user: User, attributes: Attributes): Decision {
    const missing = new Set<string>();
    const namespace = 'path' in attributes ? '' : attributes.namespace;
    const grant = bindings.find(user, namespace, ({ binding }) => {
      const rules = this.#rulesOf(binding);
      if (rules === undefined) missing.add(binding.roleMissing);
      return rules?.some((rule) => ruleAllows(rule, attributes)) ?? false;
    });
    if (grant !== undefined) return { allowed: true, reason: `RBAC: allowed by ${grant.text}` };
    return missing.size === 0 ? NO_OPINION : { allowed: false, reason: missingText(missing) };
  }

  #rulesBy(bindings: BindingIndex, user: User, namespace: string): PolicyRule[] {
    const rules: PolicyRule[] = [];
    const seen = new Set<Binding>();
    bindings.find(user, namespace, ({ binding }: Grant): boolean => {
      if (!seen.has(binding)) for (const rule of this.#rulesOf(binding) ?? []) rules.push(rule);
      seen.add(binding);
      return false;
    });
    return rules;
  }

  #grantsTo(user: User, object: ObjectName): AccessGrant[] {
    if (object.name === '') return [];
    return this.#access
      .on(object)
      .filter(({ subjects }) =>
        subjects.some(({ kind, name }) =>
          kind === 'Group' ? user.groups.includes(name) : user.name === name,
        ),
      );
  }

  #rulesOf(binding: Binding): readonly PolicyRule[] | undefined {
    return binding.role === undefined ? undefined : this.#roles.rules(binding.role);
  }
}

/** Rights that need no binding. */
function* builtInTraces(attributes: Attributes): Iterable<AccessTrace> {
  yield { via: 'builtin', subject: { kind: 'Group', name: SUPERUSER_GROUP } };
  if (EVERYONES_RULES.some((rule) => ruleAllows(rule, attributes))) {
    yield { via: 'builtin', subject: { kind: 'Group', name: AUTHENTICATED_GROUP } };
  }
}

function toPolicyRule(rule: AccessGrant['rule']): PolicyRule {
  return { ...rule, nonResourceURLs: [] };
}

function missingText(missing: ReadonlySet<string>): string {
  const list = [...missing].sort();
  return `RBAC: ${list.length === 1 ? list[0] : `[${list.join(', ')}]`}`;
}
