/** Events: of clusters, and of the management API under `core/v1` and `events.k8s.io/v1`. */

import type { FieldError, FieldPath, JsonObject, KubeObject } from '../../apimachinery/index.ts';
import {
  invalid,
  jsonEqual,
  qualifiedNameProblems,
  required,
  valueAt,
} from '../../apimachinery/index.ts';
import { AGE, textAt, textColumn } from '../columns.ts';
import { blankFields, defineKind, type Kind, type PrinterColumn } from '../kind.ts';
import { CORE } from './core.ts';
import type { CoreField } from './event-versions.ts';
import { eventField } from './event-versions.ts';

const LONGEST_WORD = 128;

const LONGEST_MESSAGE = 1024;

interface Form {
  readonly namespace: string;
  path(field: CoreField): FieldPath;
  value(field: CoreField): unknown;
  /** '' if it is not a text, or absent. */
  text(field: CoreField): string;
}

const OF_OLD = ['firstTimestamp', 'lastTimestamp', 'count', 'source'] as const;

/** Immutable fields. Only `series` can change. */
const LASTING = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const;

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

/** Fields that an event has even if they are empty. */
function blankEvent(group: string): JsonObject {
  const times = ['firstTimestamp', 'lastTimestamp', 'eventTime'] as const;
  const blank: JsonObject = {
    [eventField(group, 'source')]: {},
    ...Object.fromEntries(times.map((field) => [eventField(group, field), null])),
    [eventField(group, 'involvedObject')]: {},
  };
  return group === '' ? { ...blank, reportingComponent: '', reportingInstance: '' } : blank;
}

/** Problems by the rules of one of the two groups. Paths have the field names of that group. */
function eventProblems(
  group: string,
  event: KubeObject,
  old: KubeObject | undefined,
): FieldError[] {
  const form = formOf(group, event);
  const problems = [
    ...placeProblems(form),
    ...(form.text('eventTime') === '' ? [] : reportProblems(form)),
  ];
  if (group === '') return problems;
  const more = old === undefined ? newProblems(form) : changeProblems(form, formOf(group, old));
  return [...problems, ...more];
}

function formOf(group: string, event: KubeObject): Form {
  const value = (field: CoreField): unknown => event[eventField(group, field)];
  return {
    namespace: event.metadata.namespace ?? '',
    path: (field) => [eventField(group, field)],
    value,
    text: (field) => {
      const found = value(field);
      return typeof found === 'string' ? found : '';
    },
  };
}

/** An event is in the namespace of its object, or in `default` if the object has no namespace. */
function placeProblems(form: Form): FieldError[] {
  const about = valueAt(form.value('involvedObject'), ['namespace']) ?? '';
  const homes = form.text('eventTime') === '' ? ['default'] : ['default', 'kube-system'];
  const fits =
    about === ''
      ? homes.includes(form.namespace)
      : about === form.namespace || form.text('eventTime') !== '';
  if (fits) return [];
  const path = [...form.path('involvedObject'), 'namespace'];
  return [invalid(path, about, 'does not match event.namespace')];
}

function reportProblems(form: Form): FieldError[] {
  const reporter = form.text('reportingComponent');
  const at = form.path('reportingComponent');
  return [
    ...(reporter === '' ? [required(at)] : []),
    ...qualifiedNameProblems(reporter).map((problem) => invalid(at, reporter, problem)),
    ...wordProblems(form, 'reportingInstance'),
    ...wordProblems(form, 'action'),
    ...wordProblems(form, 'reason'),
    ...lengthProblems(form, 'message', LONGEST_MESSAGE),
  ];
}

function wordProblems(form: Form, field: CoreField): FieldError[] {
  if (form.text(field) === '') return [required(form.path(field))];
  return lengthProblems(form, field, LONGEST_WORD);
}

function lengthProblems(form: Form, field: CoreField, most: number): FieldError[] {
  if (Buffer.byteLength(form.text(field)) <= most) return [];
  return [invalid(form.path(field), '', `can have at most ${most} characters`)];
}

function newProblems(form: Form): FieldError[] {
  const type = form.text('type');
  return [
    ...seriesProblems(form),
    ...(form.text('eventTime') === '' ? [required(form.path('eventTime'))] : []),
    ...(type === 'Normal' || type === 'Warning'
      ? []
      : [invalid(form.path('type'), '', `has invalid value: ${type}`)]),
    ...OF_OLD.filter((field) => isSet(form.value(field))).map((field) =>
      invalid(form.path(field), '', 'needs to be unset'),
    ),
  ];
}

/** Zero and empty structs count as absent, as in Go. */
function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === 0 || value === '') return false;
  return typeof value !== 'object' || Object.values(value).some(isSet);
}

function changeProblems(form: Form, old: Form): FieldError[] {
  const goesOn = !jsonEqual(form.value('series'), old.value('series'));
  const changed = LASTING.filter(
    (field) =>
      (isSet(form.value(field)) || isSet(old.value(field))) &&
      !jsonEqual(form.value(field), old.value(field)),
  );
  return [
    ...(goesOn ? seriesProblems(form) : []),
    ...changed.map((field) => invalid(form.path(field), form.value(field), 'field is immutable')),
  ];
}

function seriesProblems(form: Form): FieldError[] {
  const series = form.value('series');
  if (series === undefined || series === null) return [];
  const path = form.path('series');
  const count = valueAt(series, ['count']);
  const few = typeof count !== 'number' || count < 2;
  const isTimed = isSet(valueAt(series, ['lastObservedTime']));
  return [
    ...(few ? [invalid([...path, 'count'], '', 'should be at least 2')] : []),
    ...(isTimed ? [] : [required([...path, 'lastObservedTime'])]),
  ];
}

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
