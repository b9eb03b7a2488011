/**
 * Kinds of Kubernetes that the platform shows and nobody writes: the namespaces in which something
 * is, what controllers did, and definitions of its own kinds. They are kept in memory and made anew
 * at each start.
 */
import { EVENT, eventColumns, NAMESPACE } from './cluster-kinds.ts';
import { defineKind, type Kind } from './kind.ts';
import { type KindTable, tableOf } from './table.ts';

const READS = ['get', 'list', 'watch'] as const;

export const CORE_NAMESPACE: Kind = { ...NAMESPACE, verbs: READS };

const INVOLVED = ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'resourceVersion', 'fieldPath'];

export const CORE_EVENT: Kind = {
  ...EVENT,
  verbs: READS,
  selectableFields: [
    ...INVOLVED.map((field) => `involvedObject.${field}`),
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
};

/** The same events under their newer names. */
export const NEW_EVENT: Kind = {
  ...EVENT,
  group: 'events.k8s.io',
  // Those who say `ev` mean the older one.
  shortNames: [],
  schema: 'events-event',
  verbs: READS,
  selectableFields: [
    ...INVOLVED.map((field) => `regarding.${field}`),
    'reason',
    'reportingController',
    'type',
  ],
  columns: eventColumns({ object: 'regarding', message: 'note' }),
};

/** Some clients write no object of a kind before they have found its definition. */
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
  verbs: READS,
  columns: [
    {
      name: 'Created At',
      type: 'string',
      description: 'When the platform began.',
      value: ({ metadata }) => metadata.creationTimestamp ?? undefined,
    },
  ],
});

export const CORE_KINDS: KindTable = tableOf([CORE_NAMESPACE, CORE_EVENT, NEW_EVENT, DEFINITION]);
