/** The audit log as the daemon runs it: with metrics, and a line in the log when it is in trouble. */
import type { Clock } from '../apimachinery/index.ts';
import { Auditor, codeOf, type SinkName } from '../audit/index.ts';
import type { PlatformConfigSource } from '../config/index.ts';
import { createAuditMetrics, type Logger, type Metrics } from '../telemetry/index.ts';

const NAMES: Readonly<Record<SinkName, string>> = {
  file: 'The audit log',
  store: 'The data store of the audit log',
};

/** Resolves when the log is open, or could not be: requests are served all the same. */
export async function openAudit(of: {
  readonly config: PlatformConfigSource & { tellAudit(message: string | undefined): void };
  /** Where relative paths begin. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'registry'>;
  /** What to do at the end is put here. */
  readonly undo: (() => Promise<void>)[];
}): Promise<Auditor> {
  const { logger, config } = of;
  const failing = new Map<SinkName, string>();
  const auditor = new Auditor({
    ...of,
    output: process.stdout,
    observer: {
      trouble: (sink, err) => {
        const name = NAMES[sink];
        // The code alone: sentences of data bases may hold what only the log is for.
        if (err === undefined) failing.delete(sink);
        else failing.set(sink, `${name} cannot be written (${codeOf(err)})`);
        const words = [...failing.values()].join('; ');
        config.tellAudit(words === '' ? undefined : `${words}: events wait, then drop.`);
        if (err === undefined) logger.info(`${name} is written again`);
        else logger.error({ err }, `${name} cannot be written: events wait, then drop`);
      },
      refused: (err) => logger.error({ err }, 'The audit log is not as the configuration says'),
    },
  });
  createAuditMetrics(of.metrics.registry, () => auditor.counts);
  // Programs that move the file away say so.
  const again = (): void => auditor.reopen();
  process.on('SIGHUP', again);
  of.undo.push(async () => {
    process.off('SIGHUP', again);
    await auditor.close();
  });
  await auditor.opened();
  return auditor;
}
