/** Opens the audit log of the daemon, with metrics and log lines about its failures. */
import type { Clock } from '../../apimachinery/index.ts';
import { Auditor, codeOf, type SinkName } from '../../audit/index.ts';
import type { PlatformConfigSource } from '../../config/index.ts';
import { createAuditMetrics, type Logger, type Metrics } from '../../telemetry/index.ts';

const NAMES: Readonly<Record<SinkName, string>> = {
  file: 'The audit log',
  store: 'The data store of the audit log',
};

export interface RunningAudit {
  readonly auditor: Auditor;
  close(): Promise<void>;
}

/** Resolves when the log is open or has failed to open. Requests are answered in both cases. */
export async function openAudit(of: {
  readonly config: PlatformConfigSource & { reportAudit(message: string | undefined): void };
  /** Base of relative paths. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'registry'>;
}): Promise<RunningAudit> {
  const { logger, config } = of;
  const failing = new Map<SinkName, string>();
  const auditor = new Auditor({
    ...of,
    output: process.stdout,
    observer: {
      trouble: (sink, err) => {
        const name = NAMES[sink];
        // The error code alone: messages of databases may quote audit events.
        if (err === undefined) failing.delete(sink);
        else failing.set(sink, `${name} cannot be written (${codeOf(err)})`);
        const words = [...failing.values()].join('; ');
        config.reportAudit(words === '' ? undefined : `${words}: events wait, then drop.`);
        if (err === undefined) logger.info(`${name} is written reopen`);
        else logger.error({ err }, `${name} cannot be written: events wait, then drop`);
      },
      refused: (err) => logger.error({ err }, 'The audit log does not follow the configuration'),
    },
  });
  createAuditMetrics(of.metrics.registry, () => auditor.counts);
  // Log rotation sends SIGHUP after it has moved the file.
  const reopen = (): void => auditor.reopen();
  process.on('SIGHUP', reopen);
  await auditor.opened();
  const close = async (): Promise<void> => {
    process.off('SIGHUP', reopen);
    await auditor.close();
  };
  return { auditor, close };
}
