/** Events as Kubernetes objects, each in two API versions: `v1` and `events.k8s.io`. */
import { createHash } from 'node:crypto';
import {
  type CountedEvent,
  type JsonObject,
  type KubeObject,
  nameUuids,
  type ObjectKey,
  rfc3339,
} from '../../apimachinery/index.ts';
import {
  apiVersionOf,
  CORE_EVENT,
  convertEvent,
  type Kind,
  type KindTable,
  NEW_EVENT,
} from '../../kinds/index.ts';
import type { Change } from '../../state/index.ts';

/** A change of an event in one API version, followed by the same change in the other. */
export function inBothForms(change: Change): [Change, Change] {
  const other = change.key.group === CORE_EVENT.group ? NEW_EVENT : CORE_EVENT;
  const key = { ...change.key, group: other.group };
  if (change.type === 'remove') return [change, { type: 'remove', key }];
  return [change, { type: 'put', key, object: convertEvent(change.object, other) }];
}

/** Changes for an event that happened, or that was removed from the ring. */
export function eventChanges(
  kinds: Pick<KindTable, 'kinds'>,
  event: CountedEvent,
  isForgotten: boolean,
): Change[] {
  const key = keyOf(CORE_EVENT, event);
  if (isForgotten) return inBothForms({ type: 'remove', key });
  const object = objectOf(key, event, coreFields(event, involved(kinds, event)));
  return inBothForms({ type: 'put', key, object });
}

/** Events of objects without a namespace are in `default`, as in Kubernetes. */
function keyOf({ group, kind }: Kind, { key, id }: CountedEvent): ObjectKey {
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 32);
  const name = `${key.name.slice(0, 200)}.${digest}`;
  return { group, kind, namespace: key.namespace || 'default', name };
}

const uidOf = nameUuids('6ba7b812-9dad-11d1-80b4-00c04fd430c8');

function objectOf(
  { namespace, name }: ObjectKey,
  { first }: CountedEvent,
  fields: JsonObject,
): KubeObject {
  return {
    apiVersion: apiVersionOf(CORE_EVENT),
    kind: CORE_EVENT.kind,
    metadata: {
      namespace,
      name,
      uid: uidOf(`event ${namespace}/${name}`),
      creationTimestamp: rfc3339(first),
    },
    ...CORE_EVENT.blank,
    ...fields,
  };
}

function involved({ kinds }: Pick<KindTable, 'kinds'>, { key, uid }: CountedEvent): JsonObject {
  const kind = kinds.find((one) => one.kind === key.kind && one.group === key.group);
  const { namespace, name } = key;
  return {
    ...(kind && { apiVersion: apiVersionOf(kind) }),
    kind: key.kind,
    ...(namespace === '' ? {} : { namespace }),
    name,
    uid,
  };
}

function coreFields(event: CountedEvent, object: JsonObject): JsonObject {
  const { type, reason, message, component, first, time, count } = event;
  return {
    involvedObject: object,
    type,
    reason,
    message,
    source: { component },
    reportingComponent: component,
    firstTimestamp: rfc3339(first),
    lastTimestamp: rfc3339(time),
    count,
  };
}
