/** What the daemon tells about itself: metrics and log lines about the branch, health checks. */
import type { Clock } from '../apimachinery/clock.ts';
import type { KindTable } from '../kinds/table.ts';
import type { Branch } from '../registry/branch.ts';
import type { BranchObserver } from '../registry/desired-state.ts';
import { conditionsOf, DEGRADED } from '../registry/served.ts';
import type { HealthChecks } from '../server/documents/health.ts';
import type { Store } from '../state/store.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createMetrics, type Metrics } from '../telemetry/metrics.ts';
import type { RemoteObservation } from './remote-observation.ts';

export interface Observation {
  readonly metrics: Metrics;
  readonly observer: BranchObserver;
  readonly health: HealthChecks;
  /** Called once, when the branch is open. */
  follow(branch: Branch): void;
  /** When readers last saw a new revision, in milliseconds. */
  lastApplied(): number | undefined;
  /** Something that reads rely on failed, or works again (undefined). */
  report(check: 'repository', problem: string | undefined): void;
}

export function observeBranch(of: {
  kinds: KindTable;
  store: Store;
  clock: Clock;
  logger: Logger;
  remote: RemoteObservation | undefined;
}): Observation {
  const { kinds, store, clock, logger, remote } = of;
  const problems = new Map<string, string>();
  let branch: Branch | undefined;
  let lastApplied: number | undefined;
  const metrics = createMetrics({
    objects: () => countObjects(kinds, store),
    lastCommitAge: () => {
      const at = branch?.state.catalog.at;
      return at === undefined ? undefined : clock.now() / 1000 - at.committerTime;
    },
    waitingWrites: () => branch?.waiting ?? 0,
    hold: () => branch?.hold,
  });
  remote?.measure(metrics.registry);
  const observer: BranchObserver = {
    published: (commits, milliseconds) => {
      metrics.publishedCommits.inc(commits);
      metrics.publish.observe(milliseconds / 1000);
    },
    applied: ({ revision, source, changes, milliseconds }) => {
      lastApplied = clock.now();
      metrics.reconciles.inc({ source, result: 'applied' });
      metrics.reconcileDuration.observe({ source }, milliseconds / 1000);
      const fields = {
        revision,
        source,
        changes: changes.length,
        milliseconds: Math.round(milliseconds),
      };
      if (source === 'push') {
        metrics.pushToVisible.observe(milliseconds / 1000);
        logger.info(fields, 'Revision applied');
      } else logger.debug(fields, 'Revision applied');
    },
    replayed: (reason, milliseconds) => {
      logger.info({ reason, milliseconds: Math.round(milliseconds) }, 'History read');
    },
  };
  return {
    metrics,
    observer,
    health: {
      live: { ping: () => undefined },
      ready: { repository: () => problems.get('repository') },
      ...(remote === undefined ? {} : { degraded: { remote: () => remote.problem() } }),
    },
    lastApplied: () => lastApplied,
    follow: (opened) => {
      branch = opened;
    },
    report: (check, problem) => {
      if (problem === undefined) {
        problems.delete(check);
        return;
      }
      problems.set(check, problem);
      metrics.reconciles.inc({ source: 'push', result: 'failed' });
    },
  };
}

function* countObjects(
  kinds: KindTable,
  store: Store,
): Iterable<{ kind: string; health: 'healthy' | 'degraded'; count: number }> {
  for (const { group, kind } of kinds.kinds) {
    const { items } = store.list({ group, kind });
    const degraded = items.filter(({ object }) =>
      conditionsOf(object.status).some((condition) => condition.type === DEGRADED),
    ).length;
    yield { kind, health: 'healthy', count: items.length - degraded };
    yield { kind, health: 'degraded', count: degraded };
  }
}
