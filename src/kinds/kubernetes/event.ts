/** Events: of clusters, and of the management API under `core/v1` and `events.k8s.io/v1`. */

import type { KubeObject } from '../../apimachinery/index.ts';
import { AGE, textAt, textColumn } from '../columns.ts';
import { blankFields, defineKind, type Kind, type PrinterColumn } from '../kind.ts';
import { CORE } from './core.ts';
import { eventProblems } from './event-rules.ts';
import { blankEvent } from './event-versions.ts';

const INVOLVED = ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'resourceVersion', 'fieldPath'];

/** Events of clusters. */
export const EVENT: Kind = defineKind({
  ...CORE,
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  scope: 'Namespaced',
  schema: 'event',
  selectableFields: [
    'involvedObject.kind',
    'involvedObject.name',
    'involvedObject.namespace',
    'involvedObject.uid',
    'reason',
    'type',
  ],
  columns: eventColumns({ object: 'involvedObject', message: 'message' }),
});

/** Events of controllers and clients, kept in memory. */
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

/** Component that reported a core/v1 event, from either of its two fields. */
function sourceOf(event: KubeObject): string {
  return textAt(event, ['source', 'component']) ?? textAt(event, ['reportingComponent']) ?? '';
}

/** The same events under their newer names. */
export const NEW_EVENT: Kind = {
  ...EVENT,
  group: 'events.k8s.io',
  // `ev` means the older group.
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

/** Columns of events. `fields` are the two names that differ between the groups. */
function eventColumns(fields: {
  readonly object: string;
  readonly message: string;
}): PrinterColumn[] {
  return [
    textColumn('Type', 'Normal or Warning.', (object) => textAt(object, ['type'])),
    textColumn('Reason', 'What happened, in a word.', (object) => textAt(object, ['reason'])),
    textColumn('Object', 'What it happened to.', (object) => {
      const kind = textAt(object, [fields.object, 'kind'])?.toLowerCase();
      return `${kind}/${textAt(object, [fields.object, 'name'])}`;
    }),
    textColumn('Message', 'What happened.', (object) => textAt(object, [fields.message])),
    AGE,
  ];
}
