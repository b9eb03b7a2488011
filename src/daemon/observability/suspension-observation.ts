/** Log lines, events and a metric of suspensions. */
import type { Clock, EventSink, ObjectKey } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import {
  describeSuspension,
  SUSPENDABLE,
  type SuspensionChange,
  type Suspensions,
  suspensionId,
} from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';
import { createSuspensionMetrics, type Logger, type Metrics } from '../../telemetry/index.ts';

export interface SuspensionObservation {
  readonly suspensions: Suspensions;
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get' | 'list'>;
  readonly core: { readonly events: EventSink };
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const COMPONENT = 'gitplane-suspensions';
const TITLES = { suspended: 'Suspended', resumed: 'Resumed', expired: 'Resumed' } as const;

/** Returns a handle that ends the observation. */
export function observeSuspensions(of: SuspensionObservation): { close(): void } {
  const { suspensions, metrics, logger } = of;
  createSuspensionMetrics(
    metrics.registry,
    Object.keys(SUSPENDABLE),
    (part) => suspensions.list().filter((one) => one.part === part).length,
  );
  // A restart or another leader must not hide what is stopped.
  for (const suspension of suspensions.list()) {
    logger.warn(
      { target: suspensionId(suspension), why: describeSuspension(suspension) },
      'Suspended',
    );
  }
  const close = suspensions.subscribe((change) => {
    const { suspension, is, user } = change;
    const { reason, until } = suspension;
    const fields = { target: suspensionId(suspension), user, reason, until: new Date(until) };
    logger.info({ ...fields, expired: is === 'expired' }, TITLES[is]);
    recordEvent(of, change);
  });
  return { close };
}

/** An event of the tenant that is suspended, and otherwise of the Config. */
function recordEvent(of: SuspensionObservation, { suspension, is, user }: SuspensionChange): void {
  const { store, core, clock } = of;
  const key = objectOf(of, suspension);
  const uid = key && store.get(key)?.object.metadata.uid;
  if (key === undefined || uid === undefined) return;
  const id = suspensionId(suspension);
  const message =
    is === 'suspended'
      ? `${id} is ${describeSuspension(suspension)}`
      : `${id} runs again: ${is === 'expired' ? 'the suspension has expired' : `resumed by ${user}`}`;
  const type = is === 'suspended' ? 'Warning' : 'Normal';
  const time = clock.now();
  core.events.record({ key, uid, type, reason: TITLES[is], message, time, component: COMPONENT });
}

function objectOf(
  { kinds, store }: SuspensionObservation,
  { part, name }: SuspensionChange['suspension'],
): ObjectKey | undefined {
  const kind = kinds.kinds.find(({ plural, storedIn }) =>
    part === 'tenants' && name !== undefined ? storedIn === 'file' : plural === 'config',
  );
  if (kind === undefined) return undefined;
  const { group, kind: kindName } = kind;
  if (kind.plural !== 'config') return { group, kind: kindName, namespace: '', name: name ?? '' };
  return store.list({ group, kind: kindName }).items[0]?.key;
}
