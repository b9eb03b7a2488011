/**
 * The core group as far as kubectl cannot do without it: `events`, which tell what the secret sync
 * did, and are kept in memory only. With the group in discovery kubectl takes `kind: List` as input,
 * which is what its own `get -o yaml` prints, and `describe` and `get events` find what they ask for.
 */
import { createHash } from 'node:crypto';
import { rfc3339 } from '../apimachinery/clock.ts';
import type { KubeObject } from '../apimachinery/object.ts';
import { parseFieldSelector } from '../apimachinery/selectors.ts';
import { apiVersionOf } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/table.ts';
import type { CountedEvent } from '../storesync/events.ts';
import type { ApiGroupVersion } from './documents/discovery.ts';
import type { ResourceInfo } from './input/request-info.ts';
import { type Answer, jsonAnswer } from './output/answer.ts';

export const CORE_GROUP: ApiGroupVersion = {
  group: '',
  version: 'v1',
  resources: [
    {
      name: 'events',
      singularName: 'event',
      namespaced: true,
      kind: 'Event',
      verbs: ['list'],
      shortNames: ['ev'],
    },
  ],
};

const INVOLVED = ['apiVersion', 'kind', 'namespace', 'name', 'uid', 'resourceVersion', 'fieldPath'];
const SELECTABLE = [
  ...INVOLVED.map((field) => `involvedObject.${field}`),
  'metadata.name',
  'metadata.namespace',
  'reason',
  'reportingComponent',
  'source',
  'type',
];
const COMPONENT = 'gitplane-secret-sync';

export interface EventParts {
  readonly kinds: Pick<KindTable, 'kinds'>;
  readonly store: { readonly resourceVersion: number };
  readonly events: { list(): readonly CountedEvent[] };
}

/** Undefined when the request is not for the list of events. */
export function answerEvents(
  { kinds, store, events }: EventParts,
  { group, version, resource, verb, namespace, query }: ResourceInfo,
): Answer | undefined {
  if (group !== '' || version !== 'v1' || resource !== 'events' || verb !== 'list')
    return undefined;
  const selector = parseFieldSelector(query.get('fieldSelector') ?? '', SELECTABLE);
  const items = events
    .list()
    .filter(({ key }) => namespace === '' || key.namespace === namespace)
    .map((event) => eventObject(kinds, event))
    .filter((event) => selector.matches(event));
  const metadata = { resourceVersion: String(store.resourceVersion) };
  return jsonAnswer({ kind: 'EventList', apiVersion: 'v1', metadata, items });
}

function eventObject({ kinds }: EventParts['kinds'], event: CountedEvent): KubeObject {
  const { key, uid, type, reason, message, first, time, count } = event;
  const kind = kinds.find((one) => one.kind === key.kind && one.group === key.group);
  const { namespace, name } = key;
  const id = createHash('sha256').update([uid, type, reason, message].join('\n')).digest('hex');
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name: `${name.slice(0, 200)}.${id.slice(0, 16)}`, uid: id.slice(0, 32) },
    involvedObject: {
      ...(kind && { apiVersion: apiVersionOf(kind) }),
      kind: key.kind,
      namespace,
      name,
      uid,
    },
    type,
    reason,
    message,
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: rfc3339(first),
    lastTimestamp: rfc3339(time),
    count,
  };
}
