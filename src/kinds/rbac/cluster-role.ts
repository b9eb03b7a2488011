/** ClusterRole of `rbac.authorization.k8s.io/v1`: permissions everywhere, and on URLs. */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  invalid,
  type KubeObject,
  labelValueProblems,
  listAt,
  qualifiedNameProblems,
  required,
} from '../../apimachinery/index.ts';
import { CREATED_AT } from '../columns.ts';
import { blankFields, defineKind, type Kind, RBAC_GROUP } from '../kind.ts';
import { policyRuleProblems } from './policy-rules.ts';
import { rbacNameProblems } from './role-names.ts';

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export const CLUSTER_ROLE: Kind = defineKind({
  group: RBAC_GROUP,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  singular: 'clusterrole',
  scope: 'Cluster',
  schema: 'clusterrole',
  nameRule: rbacNameProblems,
  allowUnconditionalUpdate: true,
  strategicMerge: true,
  columns: [CREATED_AT],
  ...blankFields({ rules: null }),
  validate: (object) => [...policyRuleProblems(object, false), ...aggregationProblems(object)],
});

function aggregationProblems(object: KubeObject): FieldError[] {
  const aggregation = object['aggregationRule'];
  if (aggregation === undefined || aggregation === null) return [];
  const path = ['aggregationRule', 'clusterRoleSelectors'];
  const selectors = listAt<LabelSelector>(object, path);
  if (selectors.length === 0) {
    const detail = 'at least one clusterRoleSelector required if aggregationRule is non-nil';
    return [required(path, detail)];
  }
  return selectors.flatMap((selector, index) => selectorProblems(selector, [...path, index]));
}

function selectorProblems(selector: LabelSelector, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    const at = [...path, 'matchLabels'];
    errors.push(...qualifiedNameProblems(key).map((text) => invalid(at, key, text)));
    errors.push(...labelValueProblems(value).map((text) => invalid([...at, key], value, text)));
  }
  for (const [index, { key, operator, values = [] }] of (
    selector.matchExpressions ?? []
  ).entries()) {
    const at = [...path, 'matchExpressions', index];
    errors.push(...qualifiedNameProblems(key).map((text) => invalid([...at, 'key'], key, text)));
    const wantsValues = operator === 'In' || operator === 'NotIn';
    if (wantsValues && values.length === 0) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      errors.push(required([...at, 'values'], detail));
    } else if (!wantsValues && values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      errors.push(forbidden([...at, 'values'], detail));
    }
  }
  return errors;
}
