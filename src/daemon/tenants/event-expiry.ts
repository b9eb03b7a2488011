/** Removes events of clusters after an hour, as Kubernetes does. */
import type { Clock, KubeObject } from '../../apimachinery/index.ts';
import { EVENT } from '../../kinds/index.ts';
import type { ClusterRoot } from '../../server/index.ts';

interface EventExpiryOptions {
  /** Clusters with events. */
  readonly surfaces: Iterable<ClusterRoot>;
  readonly clock: Clock;
}

const EVENTS_MS = 60 * 60 * 1000;
const NOBODY = { name: 'system:gitplane:expiry', groups: [] };

/** Rejects with the first failure after all removals have ended. */
export async function removeOldEvents({ surfaces, clock }: EventExpiryOptions): Promise<void> {
  const since = clock.now() - EVENTS_MS;
  const options = { user: NOBODY, dryRun: false, fieldValidation: 'Ignore' } as const;
  const removals = [...surfaces].flatMap((surface) =>
    surface.store
      .list({ group: EVENT.group, kind: EVENT.kind })
      .items.filter(({ object }) => lastSeen(object) < since)
      .map(async ({ key: { namespace, name } }) => {
        await surface.registry.delete({ kind: EVENT, namespace, name, options, delete: {} });
      }),
  );
  const failed = (await Promise.allSettled(removals)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

function lastSeen(object: KubeObject): number {
  const last = object['lastTimestamp'] ?? object['eventTime'] ?? object.metadata.creationTimestamp;
  return Date.parse(String(last));
}
