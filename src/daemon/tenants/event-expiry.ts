/** Events of clusters are news and no record: Kubernetes keeps them for an hour, too. */
import type { Clock } from '../../apimachinery/clock.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import { EVENT } from '../../kinds/cluster-kinds.ts';
import type { ClusterSurface } from '../../server/dependencies.ts';

interface EventExpiryOptions {
  /** Clusters whose events are looked at. */
  surfaces(): Iterable<ClusterSurface>;
  readonly clock: Clock;
  onError(error: unknown): void;
}

const EVENTS_MS = 60 * 60 * 1000;
const SWEEP_MS = 5 * 60 * 1000;
const NOBODY = { name: 'system:gitplane:expiry', groups: [] };

/** Returns what ends it. */
export function startEventExpiry(options: EventExpiryOptions): () => void {
  const timer = setInterval(() => sweep(options), SWEEP_MS).unref();
  return () => clearInterval(timer);
}

function sweep({ surfaces, clock, onError }: EventExpiryOptions): void {
  const since = clock.now() - EVENTS_MS;
  for (const surface of surfaces()) {
    const gone = surface.store
      .list({ group: EVENT.group, kind: EVENT.kind })
      .items.filter(({ object }) => lastSeen(object) < since);
    const options = { user: NOBODY, dryRun: false, fieldValidation: 'Ignore' } as const;
    for (const { key } of gone) {
      const { namespace, name } = key;
      const deletion = { kind: EVENT, namespace, name, options, delete: {} };
      surface.registry.delete(deletion).catch(onError);
    }
  }
}

function lastSeen(object: KubeObject): number {
  const last = object['lastTimestamp'] ?? object['eventTime'] ?? object.metadata.creationTimestamp;
  return Date.parse(String(last));
}
