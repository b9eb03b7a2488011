/** Deliveries to systems outside: the queue, what fills it, and the receivers. */
import type { Plan } from '../../history/index.ts';
import { NOTIFICATION } from '../../notifications/index.ts';
import { DeliveryError, Outbox } from '../../outbox/index.ts';
import type { SyncReport } from '../../registry/index.ts';
import { assertHeld } from '../../replication/index.ts';
import { createDeliveryMetrics } from '../../telemetry/index.ts';
import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';
import { openForgeReports } from './forge-reports.ts';
import { Notifications } from './notifications.ts';

export interface OutgoingParts extends Pick<PlatformContext, 'options' | 'clock' | 'logger'> {
  readonly platform: Pick<
    Platform,
    | 'store'
    | 'kinds'
    | 'repository'
    | 'branch'
    | 'observation'
    | 'config'
    | 'access'
    | 'pending'
    | 'judge'
    | 'suspensions'
  >;
  /** URL of the platform. */
  readonly base: () => string;
  readonly report: SyncReport;
  readonly replicated?: PlatformContext['replicated'];
  /** Calls back when the forge reports a change. Absent for a hosted repository. */
  readonly onHook?: ((listener: () => void) => void) | undefined;
}

export interface Outgoing {
  /** The newest plan of an open pull request; undefined: none is in memory. */
  readonly planOfPull: (number: number) => Plan | undefined;
  /** Address of the pull request of pending writes; undefined: none is known. */
  readonly reviewUrl: () => string | undefined;
  close(): Promise<void>;
}

/** A replica opens it while it leads. */
export function openOutgoing(parts: OutgoingParts): Outgoing {
  const { options, clock, logger, platform, report, replicated } = parts;
  const { store, kinds, observation, config } = platform;
  const metrics = createDeliveryMetrics(observation.metrics.registry);
  const outbox = new Outbox({
    store,
    clock,
    logger,
    observer: metrics,
    deliver: async (delivery, signal) => {
      if (delivery.destination.startsWith(NOTIFICATION)) {
        await notifications.deliver(delivery, signal);
      } else if (forge !== undefined) await forge.deliver(delivery);
      else throw new DeliveryError('it is not configured any more', { problem: 'obsolete' });
    },
    assertMayAct: replicated && (() => assertHeld(replicated.term)),
  });
  metrics.follow(outbox);
  const forge = options.forge && openForgeReports({ ...parts, forge: options.forge, outbox });
  const notifications = new Notifications({
    outbox,
    store,
    kinds,
    report,
    config,
    expiredKeys: () => expiredKeys(parts),
    source: () => options.publicUrl ?? parts.base(),
    credentialFolders: options.credentialFolders,
    clock,
    onError: (err) => logger.warn({ err }, 'Notifications cannot be enqueued'),
  });
  notifications.start();
  outbox.start();
  forge?.start();
  if (forge !== undefined) parts.onHook?.(() => forge.trigger());
  return {
    planOfPull: (number) => forge?.planOfPull(number),
    reviewUrl: () => forge?.reviewUrl(),
    close: async () => {
      await forge?.stop();
      await outbox.close();
      await notifications.close();
      await forge?.close();
    },
  };
}

/** Keys of logins end every day, and nobody has to do anything about it. */
function expiredKeys({ platform: { access, kinds, store } }: OutgoingParts): readonly string[] {
  const kind = kinds.kinds.find(({ isKey }) => isKey);
  if (kind === undefined) return [];
  return access.overdueKeys(0).filter((name) => {
    const key = store.get({ group: kind.group, kind: kind.kind, namespace: '', name });
    return key !== undefined && key.object.spec?.['type'] !== 'Login';
  });
}
