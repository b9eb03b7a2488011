/**
 * Reports to the forge of the followed repository: statuses of commits, plans of pull requests, and the
 * pull request of writes.
 */
import { type Forge, openForge } from '../../forges/index.ts';
import type { Plan } from '../../history/index.ts';
import { type Delivery, DeliveryError, type Outbox } from '../../outbox/index.ts';
import type { SyncReport } from '../../registry/index.ts';
import type { Platform } from '../platform.ts';
import { CommitStatuses } from './commit-statuses.ts';
import { openPullPlans, type PulledPlatform } from './open-pull-plans.ts';
import { readAnnotations, readComment } from './pull-payload.ts';
import { PLANS } from './pull-plans.ts';
import { ReviewPull } from './review-pull.ts';
import { readStatus } from './status-payload.ts';

export interface ForgeReportsParts extends PulledPlatform {
  readonly platform: PulledPlatform['platform'] & Pick<Platform, 'store' | 'pending'>;
  readonly report: SyncReport;
  readonly outbox: Outbox;
}

export interface ForgeReports {
  start(): void;
  /** Looks for changed pull requests soon. */
  trigger(): void;
  /** The newest plan of an open pull request; undefined: none is in memory. */
  planOfPull(number: number): Plan | undefined;
  /** Address of the pull request of pending writes; undefined: none is known. */
  reviewUrl(): string | undefined;
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
  const plans = openPullPlans(parts, { ...given, forge });
  return {
    start: () => {
      statuses.start();
      review?.start();
      plans?.start();
    },
    trigger: () => plans?.trigger(),
    planOfPull: (number) => plans?.planOf(number),
    reviewUrl: () => review?.pendingUrl,
    deliver: async (delivery) => {
      const { payload, destination } = delivery;
      if (payload['review'] !== undefined && review !== undefined) return await review.deliver();
      if (destination === PLANS && plans === undefined) throw obsolete();
      await deliverTo(forge, payload);
    },
    stop: async () => {
      await statuses.close();
      await review?.close();
      await plans?.close();
    },
    close: () => forge.close(),
  };
}

/** Rejects with DeliveryError. */
async function deliverTo(forge: Forge, payload: Delivery['payload']): Promise<void> {
  const comment = readComment(payload['comment']);
  if (comment !== undefined) return await forge.comment(comment.pull, comment);
  const annotated = readAnnotations(payload['annotations']);
  if (annotated !== undefined) return await forge.annotate(annotated.pull, annotated.annotations);
  const status = readStatus(payload['status']);
  if (status === undefined) throw obsolete();
  await forge.setStatus(status);
}

function obsolete(): DeliveryError {
  return new DeliveryError('it is not configured any more', { problem: 'obsolete' });
}
