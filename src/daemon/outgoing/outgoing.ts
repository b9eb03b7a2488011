/** Deliveries to systems outside: the queue, what fills it, and the receivers. */
import { isRecord } from '../../apimachinery/index.ts';
import { type Forge, openForge } from '../../forges/index.ts';
import { type Delivery, DeliveryError, Outbox } from '../../outbox/index.ts';
import type { SyncReport } from '../../registry/index.ts';
import { assertHeld } from '../../replication/index.ts';
import { createDeliveryMetrics } from '../../telemetry/index.ts';
import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';
import { CommitStatuses, FORGE } from './commit-statuses.ts';
import { readStatus } from './status-payload.ts';

export interface OutgoingParts extends Pick<PlatformContext, 'options' | 'clock' | 'logger'> {
  readonly platform: Pick<Platform, 'store' | 'repository' | 'observation'>;
  readonly report: SyncReport;
  readonly replicated?: PlatformContext['replicated'];
}

export interface Outgoing {
  close(): Promise<void>;
}

/** A replica opens it while it leads. */
export function openOutgoing(parts: OutgoingParts): Outgoing {
  const { options, clock, logger, platform, report, replicated } = parts;
  const { store, repository, observation } = platform;
  const forge = options.forge && openForge({ ...options.forge, clock });
  const metrics = createDeliveryMetrics(observation.metrics.registry);
  const outbox = new Outbox({
    store,
    clock,
    logger,
    observer: metrics,
    deliver: (delivery) => deliver(forge, delivery),
    assertMayAct: replicated && (() => assertHeld(replicated.term)),
  });
  metrics.follow(outbox);
  const onError = (err: unknown): void =>
    logger.warn({ err }, 'The statuses of commits cannot be found out');
  const statuses =
    options.forge &&
    new CommitStatuses({
      outbox,
      store,
      repository,
      report,
      context: options.forge.context,
      place: JSON.stringify([options.forge.target, options.forge.context]),
      onError,
    });
  outbox.start();
  statuses?.start();
  return {
    close: async () => {
      await statuses?.close();
      await outbox.close();
      await forge?.close();
    },
  };
}

async function deliver(
  forge: Forge | undefined,
  { destination, payload }: Delivery,
): Promise<void> {
  if (destination !== FORGE || forge === undefined) {
    throw new DeliveryError('it is not configured any more', { problem: 'obsolete' });
  }
  const status = isRecord(payload) ? readStatus(payload['status']) : undefined;
  if (status === undefined)
    throw new DeliveryError('another version wrote it', { problem: 'obsolete' });
  await forge.setStatus(status);
}
