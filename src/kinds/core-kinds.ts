/**
 * Kinds of Kubernetes that the platform shows and nobody writes: the namespaces in which something
 * is, and what controllers did. They are kept in memory and made anew at each start.
 */
import { EVENT, eventColumns, NAMESPACE } from './cluster-kinds.ts';
import type { Kind } from './kind.ts';
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

export const CORE_KINDS: KindTable = tableOf([CORE_NAMESPACE, CORE_EVENT, NEW_EVENT]);
