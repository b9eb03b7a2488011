/**
 * Rights of a request: the roles of its user, narrowed by the scope of its key (invariant 10). Every
 * decision must be made here, escalation checks included: `RbacAuthorizer` ignores the scope.
 */
import type { Attributes, Decision, KubeObject, User } from '../../apimachinery/index.ts';
import { scopeOf } from '../scope/scope.ts';
import type { AccessTrace } from './access-trace.ts';
import type { ObjectName, RbacAuthorizer, RuleSource } from './authorizer.ts';
import { EVERY_KEYS_RULES } from './built-in-rights.ts';
import { type PolicyRule, ruleAllows } from './policy-rules.ts';
import type { RoleKey } from './role-index.ts';
import { intersectRules } from './rule-intersection.ts';

const ANY_RULE: PolicyRule = {
  verbs: ['*'],
  apiGroups: ['*'],
  resources: ['*'],
  resourceNames: [],
  nonResourceURLs: [],
};

export class ScopedAuthorizer implements RuleSource {
  readonly #rbac: RbacAuthorizer;

  constructor(rbac: RbacAuthorizer) {
    this.#rbac = rbac;
  }

  /** Revision of roles and bindings; the scope belongs to the user. */
  get revision(): number {
    return this.#rbac.revision;
  }

  /** Rights of every key stay allowed: clients need them before anything else. */
  authorize(user: User, attributes: Attributes): Decision {
    const decision = this.#rbac.authorize(user, attributes);
    if (!decision.allowed || user.scope === undefined) return decision;
    if (user.scope.allows(attributes) || isForEveryKey(attributes)) return decision;
    return { allowed: false, reason: refusal(user) };
  }

  rulesFor(user: User, namespace: string, about?: ObjectName): PolicyRule[] {
    return narrowRules(user, this.#rbac.rulesFor(user, namespace, about), namespace);
  }

  /** Exact rules for one kind in one namespace; `namespace` is empty for a cluster-scoped kind. */
  rulesAt(user: User, on: { group: string; resource: string; namespace: string }): PolicyRule[] {
    const { group, resource, namespace } = on;
    const scope = scopeOf(user);
    const rules = this.#rbac.rulesFor(user, namespace);
    const held = scope === undefined ? rules : intersectRules(rules, scope.rulesAt(on));
    const resources = [resource, `${resource}/*`];
    return intersectRules(held, [{ ...ANY_RULE, apiGroups: [group], resources }]);
  }

  /** Grants that allow a request, before scopes of keys. */
  tracesOf(attributes: Attributes): Iterable<AccessTrace | undefined> {
    return this.#rbac.tracesOf(attributes);
  }

  namespacesOf(user: User): string[] {
    return this.#rbac.namespacesOf(user);
  }

  objectsNaming(user: User): Iterable<ObjectName> {
    return this.#rbac.objectsNaming(user);
  }

  /** Decides only by the roles of `spec.clusterRoles`: the cluster checks the scope for itself. */
  authorizeInClusters(user: User, attributes: Attributes): Decision {
    return this.#rbac.authorizeInClusters(user, attributes);
  }

  /** Empty with a scope, since rules cannot express which clusters the scope permits. */
  rulesInClusters(user: User): PolicyRule[] {
    return scopeOf(user) === undefined ? this.#rbac.rulesInClusters(user) : [];
  }

  isAssignedInClusters(role: KubeObject): boolean {
    return this.#rbac.isAssignedInClusters(role);
  }

  roleRules(role: RoleKey): readonly PolicyRule[] | undefined {
    return this.#rbac.roleRules(role);
  }
}

/** Narrows rules to the scope, for the objects of a namespace or everywhere. */
export function narrowRules(user: User, rules: PolicyRule[], namespace: string): PolicyRule[] {
  const scope = scopeOf(user);
  return scope === undefined ? rules : intersectRules(rules, scope.rulesIn(namespace));
}

function isForEveryKey(attributes: Attributes): boolean {
  return EVERY_KEYS_RULES.some((rule) => ruleAllows(rule, attributes));
}

function refusal({ accessKey }: User): string {
  const key =
    accessKey === undefined ? 'the access key' : `access key ${JSON.stringify(accessKey)}`;
  return `the roles of the user allow it, but the scope of ${key} does not`;
}
