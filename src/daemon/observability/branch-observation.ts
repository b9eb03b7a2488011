/** Metrics, log lines and health checks of the branch. */
import type { Clock } from '../../apimachinery/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import type { RepositoryPart } from '../../controllers/index.ts';
import type { Repository } from '../../git/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Branch, BranchObserver } from '../../registry/index.ts';
import type { HealthChecks } from '../../server/index.ts';
import type { Store } from '../../state/index.ts';
import {
  createMetrics,
  createRepositoryMetrics,
  type Logger,
  type Metrics,
} from '../../telemetry/index.ts';
import type { RemoteObservation } from '../repository/remote-observation.ts';

/** In the order in which they are listed. */
const READY_CHECKS = ['repository', 'repository-objects', 'secrets'] as const;
type ReadyCheck = (typeof READY_CHECKS)[number];

export interface Observation {
  readonly metrics: Metrics;
  readonly observer: BranchObserver;
  readonly health: HealthChecks;
  /** Called once, when the branch is open. */
  follow(branch: Branch): void;
  /** Time of the last applied revision, in milliseconds since the epoch. */
  lastApplied(): number | undefined;
  /** Sets the problem of something that reads or writes rely on; undefined: it works again. */
  report(check: ReadyCheck, problem: string | undefined): void;
  /** Sets if a part of the repository cannot be read. */
  damaged(part: RepositoryPart, isDamaged: boolean): void;
}

export function observeBranch(of: {
  kinds: KindTable;
  store: Store;
  source: { readonly repository: Pick<Repository, 'folderWidths'> };
  clock: Clock;
  logger: Logger;
  remote: RemoteObservation | undefined;
  /** Loss of state that this start found. */
  loss: string | undefined;
  /** Present: the process may open several platforms, one after the other. */
  replicated?: object | undefined;
}): Observation {
  const { kinds, store, source, clock, logger, remote, loss, replicated } = of;
  const problems = new Map<string, string>();
  let branch: Branch | undefined;
  let lastApplied: number | undefined;
  const metrics = createMetrics({
    objects: () => countObjects(kinds, store, branch?.state.catalog),
    lastCommitAge: () => {
      const at = branch?.state.catalog.at;
      return at === undefined ? undefined : clock.now() / 1000 - at.committerTime;
    },
    waitingWrites: () => branch?.waiting ?? 0,
    hold: () => branch?.hold,
    withoutProcess: replicated !== undefined,
  });
  const { damaged } = createRepositoryMetrics(metrics.registry, async () => {
    const revision = branch?.state.catalog.revision;
    return revision === undefined ? undefined : await source.repository.folderWidths(revision);
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
      ready: Object.fromEntries(READY_CHECKS.map((check) => [check, () => problems.get(check)])),
      degraded: {
        ...(remote === undefined ? {} : { remote: () => remote.problem() }),
        ...(loss === undefined ? {} : { state: () => loss }),
      },
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
      if (check === 'repository') metrics.reconciles.inc({ source: 'push', result: 'failed' });
    },
    damaged: (part, isDamaged) => damaged.set({ part }, isDamaged ? 1 : 0),
  };
}

/** Counts from the catalog, so that no object has to be parsed. */
function* countObjects(
  kinds: KindTable,
  store: Store,
  catalog: Catalog | undefined,
): Iterable<{ kind: string; health: 'healthy' | 'degraded'; count: number }> {
  const degraded = new Map<string, number>();
  for (const { key, problems } of catalog?.objects() ?? []) {
    if (problems.length > 0) degraded.set(key.kind, (degraded.get(key.kind) ?? 0) + 1);
  }
  for (const { group, kind } of kinds.kinds) {
    const count = degraded.get(kind) ?? 0;
    yield { kind, health: 'healthy', count: store.list({ group, kind }).items.length - count };
    yield { kind, health: 'degraded', count };
  }
}
