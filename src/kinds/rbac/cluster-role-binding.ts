/** ClusterRoleBinding of `rbac.authorization.k8s.io/v1`: gives a cluster role to subjects everywhere. */
import { defineKind, type Kind, RBAC_GROUP } from '../kind.ts';
import { BINDING_COLUMNS, bindingProblems, setBindingDefaults } from './binding-rules.ts';
import { rbacNameProblems } from './role-names.ts';

export const CLUSTER_ROLE_BINDING: Kind = defineKind({
  group: RBAC_GROUP,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  scope: 'Cluster',
  schema: 'clusterrolebinding',
  nameRule: rbacNameProblems,
  allowUnconditionalUpdate: true,
  strategicMerge: true,
  columns: BINDING_COLUMNS,
  setDefaults: setBindingDefaults,
  validate: (object, old) =>
    bindingProblems(object, old, { namespaced: false, roleKinds: ['ClusterRole'] }),
});
