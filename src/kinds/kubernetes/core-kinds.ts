/**
 * Kinds of Kubernetes that are kept in memory: the namespaces in which something is and definitions of
 * the platform's own kinds, which nobody writes, and events, which tell what controllers did, ours and
 * those of clients.
 */

import { CREATED_AT } from '../columns.ts';
import { blankFields, defineKind, type Kind } from '../kind.ts';
import { type KindTable, tableOf } from '../table.ts';
import { EVENT, eventColumns, NAMESPACE } from './cluster-kinds.ts';
import { eventProblems } from './event-rules.ts';
import { blankEvent, sourceOf } from './event-versions.ts';

const READS = ['get', 'list', 'watch'] as const;

export const CORE_NAMESPACE: Kind = { ...NAMESPACE, verbs: READS };

const INVOLVED = ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'resourceVersion', 'fieldPath'];

export const CORE_EVENT: Kind = {
  ...EVENT,
  createdByUpdate: true,
  ...blankFields(blankEvent('')),
  validate: (event, old) => eventProblems('', event, old),
  fieldText: (event, field) => (field === 'source' ? sourceOf(event) : undefined),
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
  createdByUpdate: true,
  ...blankFields(blankEvent('events.k8s.io')),
  validate: (event, old) => eventProblems('events.k8s.io', event, old),
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
  columns: [{ ...CREATED_AT, description: 'When the platform began.' }],
});

export const CORE_KINDS: KindTable = tableOf([CORE_NAMESPACE, CORE_EVENT, NEW_EVENT, DEFINITION]);
