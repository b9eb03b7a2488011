/** Events have two forms, of one content: that of core/v1, and that of `events.k8s.io/v1`. */
import type { JsonObject, KubeObject } from '../../apimachinery/index.ts';
import { textAt } from '../columns.ts';
import { apiVersionOf, type Kind } from '../kind.ts';

/** What fields of the older form are called in the newer one; all others have one name. */
const NEWER_NAMES = {
  involvedObject: 'regarding',
  message: 'note',
  reportingComponent: 'reportingController',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
} as const;

export type CoreField =
  | keyof typeof NEWER_NAMES
  | 'type'
  | 'reason'
  | 'action'
  | 'eventTime'
  | 'series'
  | 'related'
  | 'reportingInstance';

const OLDER_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(NEWER_NAMES).map(([older, newer]) => [newer, older]),
);

/** What a field is called in the form of a group: '' has the names of core/v1. */
export function eventField(group: string, field: CoreField): string {
  return group === '' ? field : ((NEWER_NAMES as Record<string, string>)[field] ?? field);
}

/** What each form has although it is empty. */
export function blankEvent(group: string): JsonObject {
  const always = { source: {}, firstTimestamp: null, lastTimestamp: null, eventTime: null };
  const names = Object.entries({ ...always, involvedObject: {} }).map(([field, value]) => [
    eventField(group, field as CoreField),
    value,
  ]);
  const blank = Object.fromEntries(names) as JsonObject;
  return group === '' ? { ...blank, reportingComponent: '', reportingInstance: '' } : blank;
}

/** Who noticed, in events of either recorder; by the names of core/v1. */
export function sourceOf(event: KubeObject): string {
  return textAt(event, ['source', 'component']) ?? textAt(event, ['reportingComponent']) ?? '';
}

/** The same event as an object of the other kind. */
export function inForm(event: KubeObject, kind: Kind): KubeObject {
  const names: Readonly<Record<string, string>> = kind.group === '' ? OLDER_NAMES : NEWER_NAMES;
  const renamed = Object.entries(event)
    .filter(([, value]) => value !== '')
    .map(([field, value]) => [names[field] ?? field, value]);
  const said = Object.fromEntries(renamed) as KubeObject;
  return { ...kind.blank, ...said, apiVersion: apiVersionOf(kind) };
}
