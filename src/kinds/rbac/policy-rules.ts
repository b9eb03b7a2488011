/** Validation of `rules` of roles, as in Kubernetes (`pkg/apis/rbac/validation`). */
import {
  type FieldError,
  type FieldPath,
  invalid,
  type KubeObject,
  listAt,
  required,
} from '../../apimachinery/index.ts';

/** One entry of `rules` of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export function policyRulesOf(object: KubeObject): readonly PolicyRule[] {
  return listAt<PolicyRule>(object, ['rules']);
}

export function policyRuleProblems(object: KubeObject, namespaced: boolean): FieldError[] {
  return policyRulesOf(object).flatMap((rule, index) =>
    ruleProblems(rule, ['rules', index], namespaced),
  );
}

function ruleProblems(rule: PolicyRule, path: FieldPath, namespaced: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (rule.verbs.length === 0) {
    errors.push(required([...path, 'verbs'], 'verbs must contain at least one value'));
  }
  const urls = rule.nonResourceURLs ?? [];
  if (urls.length > 0) {
    const at = [...path, 'nonResourceURLs'];
    const parts = [rule.apiGroups, rule.resources, rule.resourceNames];
    if (namespaced) {
      errors.push(invalid(at, urls, 'namespaced rules cannot apply to non-resource URLs'));
    }
    if (parts.some((part) => (part ?? []).length > 0)) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs';
      errors.push(invalid(at, urls, detail));
    }
    return errors;
  }
  if ((rule.apiGroups ?? []).length === 0) {
    const detail = 'resource rules must supply at least one api group';
    errors.push(required([...path, 'apiGroups'], detail));
  }
  if ((rule.resources ?? []).length === 0) {
    const detail = 'resource rules must supply at least one resource';
    errors.push(required([...path, 'resources'], detail));
  }
  return errors;
}
