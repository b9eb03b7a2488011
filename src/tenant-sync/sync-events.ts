/** Events on both ends when the sync of an object fails, and when it recovers. */
import { randomBytes } from 'node:crypto';
import { type KubeObject, rfc3339 } from '../apimachinery/index.ts';
import type { KubeClient } from '../kubernetes-client/index.ts';
import type { ObjectState } from './object-states.ts';

export interface SyncEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

const COMPONENT = 'gitplane-endpoint-sync';
const LONGEST_MESSAGE = 1024;

/** Only failures and recoveries. */
export function eventOf(
  now: Pick<ObjectState, 'state' | 'message'>,
  before: Pick<ObjectState, 'state'> | undefined,
): SyncEvent | undefined {
  const { state, message } = now;
  if (state === 'Failed') {
    return { type: 'Warning', reason: 'SyncError', message: `Error syncing: ${message}` };
  }
  if (state !== 'Synced' || before?.state !== 'Failed') return undefined;
  return { type: 'Normal', reason: 'Synced', message: 'synced to the control-plane cluster again' };
}

/** Never rejects: a missing event is not a failure of the sync. */
export async function recordEvent(
  client: Pick<KubeClient, 'create'>,
  object: KubeObject,
  event: SyncEvent & { readonly time: number },
): Promise<void> {
  const { namespace = 'default', name = '', uid = '', resourceVersion = '' } = object.metadata;
  const time = rfc3339(event.time);
  const body: KubeObject = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace, name: `${name.slice(0, 200)}.${randomBytes(8).toString('hex')}` },
    involvedObject: {
      apiVersion: object.apiVersion,
      kind: object.kind,
      namespace,
      name,
      uid,
      resourceVersion,
    },
    type: event.type,
    reason: event.reason,
    message: event.message.slice(0, LONGEST_MESSAGE),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
  await client.create({ plural: 'events', namespace }, body).catch(() => undefined);
}
