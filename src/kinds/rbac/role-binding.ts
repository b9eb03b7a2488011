/** RoleBinding of `rbac.authorization.k8s.io/v1`: gives a role to subjects inside one namespace. */
import { defineKind, type Kind, RBAC_GROUP } from '../kind.ts';
import { BINDING_COLUMNS, bindingProblems, setBindingDefaults } from './binding-rules.ts';
import { rbacNameProblems } from './role-names.ts';

export const ROLE_BINDING: Kind = defineKind({
  group: RBAC_GROUP,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  singular: 'rolebinding',
  scope: 'Namespaced',
  schema: 'rolebinding',
  nameRule: rbacNameProblems,
  allowUnconditionalUpdate: true,
  strategicMerge: true,
  columns: BINDING_COLUMNS,
  setDefaults: setBindingDefaults,
  validate: (object, old) =>
    bindingProblems(object, old, { namespaced: true, roleKinds: ['Role', 'ClusterRole'] }),
});
