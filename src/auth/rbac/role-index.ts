/**
 * Roles and ClusterRoles by name, with aggregation. An aggregated ClusterRole has only the rules of the
 * ClusterRoles that its selectors match: Kubernetes overwrites its own rules.
 */
import { isRecord, type KubeObject } from '../../apimachinery/index.ts';
import { texts } from '../fields.ts';
import { type PolicyRule, policyRules } from './policy-rules.ts';

type Labels = Readonly<Record<string, string>>;

interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

interface Role {
  readonly name: string;
  readonly labels: Labels;
  readonly rules: readonly PolicyRule[];
  /** One list of requirements per selector; undefined: no aggregationRule. */
  readonly selectors: readonly (readonly LabelRequirement[])[] | undefined;
}

/** Key of a role; the namespace of a ClusterRole is empty. */
export interface RoleKey {
  readonly namespace: string;
  readonly name: string;
}

export class RoleIndex {
  /** namespace → name → role; ClusterRoles have the empty namespace. */
  readonly #roles = new Map<string, Map<string, Role>>();
  /** Cached rules of aggregated roles by name, cleared by each change. */
  readonly #aggregated = new Map<string, readonly PolicyRule[]>();

  set(object: KubeObject): void {
    const { name = '', namespace = '', labels = {} } = object.metadata;
    const roles = this.#roles.get(namespace) ?? new Map<string, Role>();
    this.#roles.set(namespace, roles);
    roles.set(name, {
      name,
      labels,
      rules: policyRules(object['rules']),
      selectors: readSelectors(object['aggregationRule']),
    });
    this.#aggregated.clear();
  }

  remove(namespace: string, name: string): void {
    const roles = this.#roles.get(namespace);
    if (roles?.delete(name) && roles.size === 0) this.#roles.delete(namespace);
    this.#aggregated.clear();
  }

  /** Undefined: there is no such role. */
  rules(key: RoleKey): readonly PolicyRule[] | undefined {
    const role = this.#roles.get(key.namespace)?.get(key.name);
    if (role?.selectors === undefined || key.namespace !== '') return role?.rules;
    let rules = this.#aggregated.get(key.name);
    if (rules === undefined) {
      rules = [...new Set(this.#gather(role, new Set()))];
      this.#aggregated.set(key.name, rules);
    }
    return rules;
  }

  /**
   * True if the rules of a ClusterRole count for the role `name`: it is that role, or that role selects it,
   * directly or through others.
   */
  gathers(
    name: string,
    { metadata }: Pick<KubeObject, 'metadata'>,
    seen = new Set<Role>(),
  ): boolean {
    if (name === metadata.name) return true;
    const clusterRoles = this.#roles.get('');
    const role = clusterRoles?.get(name);
    if (role?.selectors === undefined || seen.has(role)) return false;
    seen.add(role);
    const { selectors } = role;
    const isSelected = (labels: Labels): boolean =>
      selectors.some((selector) => selects(selector, labels));
    if (isSelected(metadata.labels ?? {})) return true;
    return [...(clusterRoles?.values() ?? [])].some(
      (one) => isSelected(one.labels) && this.gathers(one.name, { metadata }, seen),
    );
  }

  /** Depth first; `seen` ends cycles of roles that select each other. */
  #gather(role: Role, seen: Set<Role>): PolicyRule[] {
    if (seen.has(role)) return [];
    seen.add(role);
    if (role.selectors === undefined) return [...role.rules];
    const { selectors } = role;
    const clusterRoles = [...(this.#roles.get('')?.values() ?? [])];
    return clusterRoles
      .filter(({ labels }) => selectors.some((selector) => selects(selector, labels)))
      .flatMap((selected) => this.#gather(selected, seen));
  }
}

function readSelectors(aggregationRule: unknown): LabelRequirement[][] | undefined {
  if (!isRecord(aggregationRule)) return undefined;
  const selectors = aggregationRule['clusterRoleSelectors'];
  if (!Array.isArray(selectors) || selectors.length === 0) return undefined;
  return selectors.filter(isRecord).map(requirements);
}

/** A LabelSelector of apimachinery; all of `matchLabels` and `matchExpressions` must match. */
function requirements(selector: Record<string, unknown>): LabelRequirement[] {
  const { matchLabels, matchExpressions } = selector;
  const equal = isRecord(matchLabels) ? Object.entries(matchLabels) : [];
  const expressions = Array.isArray(matchExpressions) ? matchExpressions.filter(isRecord) : [];
  return [
    ...equal.map(([key, value]) => ({ key, operator: 'In', values: texts([value]) })),
    ...expressions.map(({ key, operator, values }) => ({
      key: String(key),
      operator: String(operator),
      values: texts(values),
    })),
  ];
}

function selects(selector: readonly LabelRequirement[], labels: Labels): boolean {
  return selector.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    switch (operator) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
      default:
        return false;
    }
  });
}
