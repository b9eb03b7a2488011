/** Metrics of the daemon at `/metrics`. Names and units follow the rules of Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { createJobMetrics, type JobMetrics } from './job-metrics.ts';
import { RequestDurations } from './request-durations.ts';

const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const REQUESTS = {
  name: 'gitplane_request_duration_seconds',
  help: 'API requests',
  bounds: LATENCY_SECONDS,
};

export interface Metrics {
  readonly registry: Registry;
  readonly pushToVisible: Histogram;
  readonly writeToCommit: Histogram;
  readonly publish: Histogram;
  readonly publishedCommits: Counter;
  readonly requests: RequestDurations;
  readonly reconciles: Counter<'source' | 'result'>;
  readonly reconcileDuration: Histogram<'source'>;
  readonly pushes: Counter<'result'>;
  readonly watches: Gauge<'resource'>;
  readonly jobs: JobMetrics;
  /** Text of a scrape. */
  scrape(): Promise<string>;
}

/** Metrics of requests, which every replica counts for its own clients. */
const OF_EACH_REPLICA = new RegExp(
  `^gitplane_(audit|fair_queue|job)_|^${REQUESTS.name}$|^gitplane_watches$`,
);

/**
 * Text of a scrape of a replica. The metrics of the branch, of following, of tenants and of stores
 * are those of the leader: they take the place of metrics with the same name.
 */
export async function scrapeReplica(own: Registry, leader: Registry | undefined): Promise<string> {
  if (leader === undefined) return await own.metrics();
  const ofLeader = new Set(
    leader.getMetricsAsArray().flatMap(({ name }) => (OF_EACH_REPLICA.test(name) ? [] : [name])),
  );
  const texts = [
    ...own
      .getMetricsAsArray()
      .filter(({ name }) => !ofLeader.has(name))
      .map(({ name }) => own.getSingleMetricAsString(name)),
    ...[...ofLeader].map((name) => leader.getSingleMetricAsString(name)),
  ];
  return `${(await Promise.all(texts)).join('\n\n')}\n`;
}

/** `objects` counts objects by kind and health, at each scrape. */
export function createMetrics(observe: {
  objects(): Iterable<{ kind: string; health: 'healthy' | 'degraded'; count: number }>;
  /** Seconds since the last applied commit was made; undefined before the first. */
  lastCommitAge(): number | undefined;
  waitingWrites(): number;
  /** Reason that readers do not see the head of the branch; undefined: they do. */
  hold(): { readonly reason: string; readonly prunes: readonly unknown[] } | undefined;
  /** True: another registry has the metrics of the process, whose observers cannot be removed. */
  readonly withoutProcess?: boolean;
}): Metrics {
  const registry = new Registry();
  if (observe.withoutProcess !== true) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const histogram = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Histogram({ name, help, labelNames, buckets: LATENCY_SECONDS, registers });
  new Gauge({
    name: 'gitplane_objects',
    help: 'Objects served, by kind and by whether their newest manifest is valid',
    labelNames: ['kind', 'health'],
    registers,
    collect() {
      this.reset();
      for (const { kind, health, count } of observe.objects()) this.set({ kind, health }, count);
    },
  });
  new Gauge({
    name: 'gitplane_last_applied_commit_age_seconds',
    help: 'Seconds since the newest applied commit was committed',
    registers,
    collect() {
      this.set(observe.lastCommitAge() ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'gitplane_waiting_writes',
    help: 'API writes waiting in the write queue',
    registers,
    collect() {
      this.set(observe.waitingWrites());
    },
  });
  new Gauge({
    name: 'gitplane_held',
    help: '1 while the head of the branch waits for approval, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      const hold = observe.hold();
      if (hold !== undefined) this.set({ reason: hold.reason }, 1);
    },
  });
  new Gauge({
    name: 'gitplane_held_prunes',
    help: 'Objects that approval of the held commits would remove',
    registers,
    collect() {
      this.set(observe.hold()?.prunes.length ?? 0);
    },
  });
  return {
    registry,
    scrape: () => registry.metrics(),
    pushToVisible: histogram(
      'gitplane_push_to_visible_seconds',
      'Time from the detection of a push until readers see it',
    ),
    writeToCommit: histogram(
      'gitplane_write_to_commit_seconds',
      'Time from the arrival of an API write until its commit is durable and visible',
    ),
    publish: histogram('gitplane_publish_seconds', 'Time to make one group of commits durable'),
    publishedCommits: new Counter({
      name: 'gitplane_published_commits_total',
      help: 'Commits created by API writes',
      registers,
    }),
    requests: new RequestDurations(REQUESTS, registry),
    reconciles: new Counter({
      name: 'gitplane_reconciles_total',
      help: 'Revisions applied, by who moved the branch and by result',
      labelNames: ['source', 'result'],
      registers,
    }),
    reconcileDuration: histogram(
      'gitplane_reconcile_duration_seconds',
      'Time to bring the state to a new revision',
      ['source'],
    ),
    pushes: new Counter({
      name: 'gitplane_pushes_total',
      help: 'Pushes judged, by verdict',
      labelNames: ['result'],
      registers,
    }),
    watches: new Gauge({
      name: 'gitplane_watches',
      help: 'Open watches, by resource',
      labelNames: ['resource'],
      registers,
    }),
    jobs: createJobMetrics(registry),
  };
}
