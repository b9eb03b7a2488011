import { CREATED_AT } from '../columns.ts';
import { defineKind, type Kind, READ_VERBS } from '../kind.ts';

/** Definitions of the platform's own kinds. Some clients write no object before they find its definition. */
export const DEFINITION: Kind = defineKind({
  group: 'apiextensions.k8s.io',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  scope: 'Cluster',
  storedIn: 'cluster',
  schema: 'customresourcedefinition',
  verbs: READ_VERBS,
  columns: [{ ...CREATED_AT, description: 'When the platform began.' }],
});
