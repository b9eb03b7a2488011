/** Metrics, log lines and a health check of the followed repository. */
import type { Registry } from 'prom-client';
import { type Clock, rfc3339 } from '../../apimachinery/index.ts';
import { type FollowingObserver, RemoteError } from '../../git/index.ts';
import { createRemoteMetrics, type Logger, type RemoteMetrics } from '../../telemetry/index.ts';

export interface RemoteObservation {
  readonly observer: FollowingObserver;
  /** Problem without confidential details; undefined: none. */
  problem(): string | undefined;
  /** Starts counting events in metrics; called once. */
  measure(registry: Registry): void;
}

export function observeRemote(of: { clock: Clock; logger: Logger }): RemoteObservation {
  const { clock, logger } = of;
  let metrics: RemoteMetrics | undefined;
  let fetchedAt: number | undefined;
  let failure: { readonly text: string; readonly since: number } | undefined;

  function note(error: Error | undefined): void {
    if (error === undefined) {
      if (failure !== undefined) logger.info('The remote repository answers again');
      failure = undefined;
      return;
    }
    const text = error instanceof RemoteError ? error.sentence : 'The fetch failed: see the log';
    // Log each kind of failure once, not each attempt.
    if (failure?.text !== text)
      logger.warn({ problem: error.message }, 'The remote repository fails');
    failure = { text, since: failure?.since ?? clock.now() };
  }

  return {
    observer: {
      fetched: (error, milliseconds) => {
        note(error);
        if (error === undefined) fetchedAt = clock.now();
        metrics?.fetches.inc({ result: error === undefined ? 'ok' : 'failed' });
        if (error === undefined) metrics?.fetch.observe(milliseconds / 1000);
      },
      pushed: (error, milliseconds) => {
        const isRefused = error instanceof RemoteError && error.problem === 'refused';
        const result = error === undefined ? 'ok' : isRefused ? 'refused' : 'failed';
        metrics?.pushes.inc({ result });
        if (error === undefined) metrics?.push.observe(milliseconds / 1000);
        else if (!isRefused) note(error);
        if (isRefused) logger.warn({ problem: error.message }, 'A push to the remote was refused');
      },
    },
    problem: () => failure && `${failure.text} (since ${rfc3339(failure.since)}); reads go on`,
    measure: (registry) => {
      const age = () => (fetchedAt === undefined ? undefined : (clock.now() - fetchedAt) / 1000);
      metrics = createRemoteMetrics(registry, age);
    },
  };
}
