/** Role of `rbac.authorization.k8s.io/v1`: permissions inside one namespace. */
import { CREATED_AT } from '../columns.ts';
import { blankFields, defineKind, type Kind, RBAC_GROUP } from '../kind.ts';
import { policyRuleProblems } from './policy-rules.ts';
import { rbacNameProblems } from './role-names.ts';

export const ROLE: Kind = defineKind({
  group: RBAC_GROUP,
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  scope: 'Namespaced',
  schema: 'role',
  nameRule: rbacNameProblems,
  allowUnconditionalUpdate: true,
  strategicMerge: true,
  columns: [CREATED_AT],
  ...blankFields({ rules: null }),
  validate: (object) => policyRuleProblems(object, true),
});
