/**
 * Table of the scheduled jobs: schedule and work. Jobs on the shared state run in the leader; jobs on
 * the disk run in every replica.
 */
import type { DataDirectory } from '../../bootstrap/index.ts';
import type { PlatformConfig, PlatformConfigSource } from '../../config/index.ts';
import {
  type Job,
  type JobObserver,
  parseSchedule,
  type Schedule,
  Scheduler,
  windowSchedule,
} from '../../scheduler/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import type { DaemonOptions } from '../options.ts';
import type { Platform } from '../platform.ts';
import type { RunningOidcService } from '../sign-in/oidc-service.ts';
import type { Clusters } from '../tenants/clusters.ts';
import { jobJournal } from './job-journal.ts';

interface StateJobParts {
  readonly platform: Pick<Platform, 'keyExpiry' | 'tokens' | 'core'>;
  readonly oidc: Pick<RunningOidcService, 'rotateKeys'>;
  readonly clusters: Pick<Clusters, 'removeOldEvents'>;
}

/** Each job works on what is due now, so that a missed run only delays it. */
function stateJobs({ platform, oidc, clusters }: StateJobParts): readonly Job[] {
  const { keyExpiry, tokens, core } = platform;
  const at = parseSchedule;
  return [
    {
      name: 'expired-keys',
      schedule: at('*/10 * * * *'),
      run: (signal) => keyExpiry.sweep(signal),
    },
    { name: 'endpoint-token-keys', schedule: at('7 * * * *'), run: () => tokens.rotateKeys() },
    { name: 'oidc-keys', schedule: at('17 * * * *'), run: () => oidc.rotateKeys() },
    {
      name: 'cluster-events',
      schedule: at('2-59/5 * * * *'),
      run: () => clusters.removeOldEvents(),
    },
    { name: 'core-events', schedule: at('* * * * *'), run: async () => core.removeOldEvents() },
  ];
}

/** Returns a function that stops the jobs. */
export async function runStateJobs(
  of: StateJobParts & { readonly observer: JobObserver; readonly logger: Logger },
): Promise<() => Promise<void>> {
  const scheduler = new Scheduler({ ...of, jobs: stateJobs(of) });
  await scheduler.start();
  return () => scheduler.stop();
}

const MAINTENANCE = 'repository-maintenance';

export interface DiskJobParts {
  readonly options: Pick<DaemonOptions, 'maintenanceSchedule'>;
  readonly data: Pick<DataDirectory, 'jobs'>;
  readonly config: PlatformConfigSource;
  readonly metrics: Pick<Metrics, 'jobs'>;
  readonly logger: Logger;
  /** Rejects when it fails, or when the signal aborts it. */
  readonly maintain: (signal: AbortSignal) => Promise<void>;
}

/** Returns a function that stops the jobs. */
export async function runDiskJobs(of: DiskJobParts): Promise<() => Promise<void>> {
  const { options, data, config, metrics, logger, maintain } = of;
  const wanted = (current: PlatformConfig): Schedule | undefined =>
    windowSchedule(current.cloud?.maintenanceWindow ?? {}) ?? options.maintenanceSchedule;
  const jobs: readonly Job[] = [
    { name: MAINTENANCE, schedule: wanted(config.current), isMadeUp: true, run: maintain },
  ];
  const journal = jobJournal(data.jobs, logger);
  const scheduler = new Scheduler({ jobs, observer: metrics.jobs, logger, journal });
  await scheduler.start();
  const unsubscribe = config.subscribe((current, before) => {
    const schedules = [current, before].map((one) => JSON.stringify(wanted(one)));
    if (schedules[0] !== schedules[1]) scheduler.reschedule(MAINTENANCE, wanted(current));
  });
  return async () => {
    unsubscribe();
    await scheduler.stop();
  };
}
