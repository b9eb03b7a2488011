/** Events as objects of Kubernetes, each twice: as core/v1 has it, and as `events.k8s.io` has it. */
import { createHash } from 'node:crypto';
import { rfc3339 } from '../apimachinery/clock.ts';
import type { ObjectKey } from '../apimachinery/key.ts';
import { nameUuids } from '../apimachinery/name-uuid.ts';
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import type { CountedEvent } from '../apimachinery/object-events.ts';
import { CORE_EVENT, NEW_EVENT } from '../kinds/core-kinds.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Change } from '../state/store.ts';

/** What an event that happened, or is forgotten, changes. */
export function eventChanges(
  kinds: Pick<KindTable, 'kinds'>,
  event: CountedEvent,
  isForgotten: boolean,
): Change[] {
  return [CORE_EVENT, NEW_EVENT].map((kind) => {
    const key = keyOf(kind, event);
    if (isForgotten) return { type: 'remove', key };
    const make = kind === CORE_EVENT ? coreFields : newFields;
    const fields = make(event, involved(kinds, event));
    return { type: 'put', key, object: objectOf(kind, key, fields) };
  });
}

/** Events of objects without a namespace are in `default`, as in Kubernetes. */
function keyOf({ group, kind }: Kind, { key, id }: CountedEvent): ObjectKey {
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 16);
  const name = `${key.name.slice(0, 200)}.${digest}`;
  return { group, kind, namespace: key.namespace || 'default', name };
}

const uidOf = nameUuids('6ba7b812-9dad-11d1-80b4-00c04fd430c8');

function objectOf(kind: Kind, { namespace, name }: ObjectKey, fields: JsonObject): KubeObject {
  const { firstTime, ...rest } = fields;
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      namespace,
      name,
      uid: uidOf(`event ${namespace}/${name}`),
      creationTimestamp: String(firstTime),
    },
    ...rest,
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
    firstTime: rfc3339(first),
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

function newFields(event: CountedEvent, object: JsonObject): JsonObject {
  const { type, reason, message, component, first, time, count } = event;
  return {
    firstTime: rfc3339(first),
    regarding: object,
    type,
    reason,
    note: message,
    reportingController: component,
    deprecatedSource: { component },
    deprecatedFirstTimestamp: rfc3339(first),
    deprecatedLastTimestamp: rfc3339(time),
    deprecatedCount: count,
  };
}
