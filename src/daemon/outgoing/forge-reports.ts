/** Reports to the forge of the followed repository: statuses of commits, and the pull request of writes. */
import { openForge } from '../../forges/index.ts';
import { type Delivery, DeliveryError, type Outbox } from '../../outbox/index.ts';
import type { SyncReport } from '../../registry/index.ts';
import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';
import type { ForgeOptions } from '../repository/forge-options.ts';
import { CommitStatuses } from './commit-statuses.ts';
import { ReviewPull } from './review-pull.ts';
import { readStatus } from './status-payload.ts';

export interface ForgeReportsParts extends Pick<PlatformContext, 'options' | 'clock' | 'logger'> {
  readonly forge: ForgeOptions;
  readonly platform: Pick<Platform, 'store' | 'repository' | 'branch' | 'pending'>;
  readonly report: SyncReport;
  readonly outbox: Outbox;
}

export interface ForgeReports {
  start(): void;
  /** One attempt. Rejects with DeliveryError. */
  deliver(delivery: Delivery): Promise<void>;
  /** Stops finding out what to report. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

export function openForgeReports(parts: ForgeReportsParts): ForgeReports {
  const { options, forge: of, clock, logger, platform, report, outbox } = parts;
  const { store, repository, branch, pending } = platform;
  const forge = openForge({ ...of, clock });
  const place = JSON.stringify([of.target, of.context]);
  const onError = (err: unknown): void =>
    logger.warn({ err }, 'Reports to the forge cannot be enqueued');
  const given = { outbox, store, place, onError };
  const statuses = new CommitStatuses({ ...given, repository, report, context: of.context });
  const head = options.remote?.writeBranch;
  const served = (): string | undefined => branch.state.shown;
  const review =
    pending === undefined || head === undefined
      ? undefined
      : new ReviewPull({
          ...given,
          forge,
          pending,
          head,
          served,
          // The fetches of the branch log what is wrong with the remote.
          onError: (err) => logger.debug({ err }, 'The branch for writes cannot be read'),
        });
  return {
    start: () => {
      statuses.start();
      review?.start();
    },
    deliver: async ({ payload }) => {
      if (payload['review'] !== undefined && review !== undefined) return await review.deliver();
      const status = readStatus(payload['status']);
      if (status === undefined)
        throw new DeliveryError('it is not configured any more', { problem: 'obsolete' });
      await forge.setStatus(status);
    },
    stop: async () => {
      await statuses.close();
      await review?.close();
    },
    close: () => forge.close(),
  };
}
