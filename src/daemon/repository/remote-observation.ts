/** What the daemon tells about the repository it follows: metrics, log lines, a check. */
import type { Registry } from 'prom-client';
import { type Clock, rfc3339 } from '../../apimachinery/index.ts';
import { type FollowingObserver, RemoteError } from '../../git/index.ts';
import { createRemoteMetrics, type Logger, type RemoteMetrics } from '../../telemetry/index.ts';

export interface RemoteObservation {
  readonly observer: FollowingObserver;
  /** In words that may be public; undefined while all is well. */
  problem(): string | undefined;
  /** From now on events count; called once. */
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
    // Once for each way to fail, not for each attempt.
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
