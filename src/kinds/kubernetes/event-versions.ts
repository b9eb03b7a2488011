/** Conversion of events between core/v1 and `events.k8s.io/v1`. */
import type { KubeObject } from '../../apimachinery/index.ts';
import { apiVersionOf, type Kind } from '../kind.ts';

/** Names in `events.k8s.io/v1` of fields of core/v1. All other fields have the same name. */
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

const NEWER: Readonly<Record<string, string>> = NEWER_NAMES;
const OLDER: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(NEWER_NAMES).map(([older, newer]) => [newer, older]),
);

/** Name of a field in the version of a group. '' is core/v1. */
export function eventField(group: string, field: CoreField): string {
  return group === '' ? field : (NEWER[field] ?? field);
}

/** Converts an event to `kind`. */
export function convertEvent(event: KubeObject, kind: Kind): KubeObject {
  const names = kind.group === '' ? OLDER : NEWER;
  const { kind: name, metadata } = event;
  const apiVersion = apiVersionOf(kind);
  const converted: KubeObject = { ...kind.blank, apiVersion, kind: name, metadata };
  for (const [field, value] of Object.entries(event)) {
    if (field !== 'apiVersion' && value !== '') converted[names[field] ?? field] = value;
  }
  return converted;
}
