/**
 * Validation of events, as in Kubernetes. Events of core/v1 have few rules. Events with an `eventTime`
 * need a reporter. The newer group accepts new events only in the new form.
 */
import {
  type FieldError,
  type FieldPath,
  invalid,
  jsonEqual,
  type KubeObject,
  qualifiedNameProblems,
  required,
  valueAt,
} from '../../apimachinery/index.ts';
import { type CoreField, eventField } from './event-versions.ts';

const LONGEST_WORD = 128;
const LONGEST_MESSAGE = 1024;

/** Problems by the rules of one of the two groups. Paths have the field names of that group. */
export function eventProblems(
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

interface Form {
  readonly namespace: string;
  path(field: CoreField): FieldPath;
  value(field: CoreField): unknown;
  /** '' if it is not a text, or absent. */
  text(field: CoreField): string;
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

const OF_OLD = ['firstTimestamp', 'lastTimestamp', 'count', 'source'] as const;

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
