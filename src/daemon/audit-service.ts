/** The audit log as the daemon runs it: with metrics, and a line in the log when it is in trouble. */

import type { Clock } from '../apimachinery/clock.ts';
import { Auditor } from '../audit/auditor.ts';
import type { PlatformConfigSource } from '../config/config-feed.ts';
import { createAuditMetrics } from '../telemetry/audit-metrics.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Resolves when the log is open, or could not be: requests are served all the same. */
export async function openAudit(of: {
  readonly config: PlatformConfigSource;
  /** Where relative paths begin. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'registry'>;
}): Promise<Auditor> {
  const { logger } = of;
  let problem = false;
  const metrics = createAuditMetrics(of.metrics.registry, () => problem);
  const auditor = new Auditor({
    ...of,
    output: process.stdout,
    observer: {
      recorded: (level) => metrics.events.inc({ level }),
      dropped: () => metrics.dropped.inc(),
      trouble: (err) => {
        problem = err !== undefined;
        if (problem)
          logger.error({ err }, 'The audit log cannot be written: events wait, then drop');
        else logger.info('The audit log is written again');
      },
      refused: (err) => logger.error({ err }, 'The audit log is not as the configuration says'),
    },
  });
  await auditor.opened();
  return auditor;
}
