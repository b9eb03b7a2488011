/** What Prometheus reads about the sync with the secret store. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface SecretSyncFacts {
  /** Secrets that are tied to the store, by how they stand. */
  readonly objects: Readonly<Record<string, number>>;
  /** Undefined: there is no store. */
  readonly isAvailable: boolean | undefined;
  /** True if the store answers as it is configured; undefined: none is configured. */
  readonly isInForce: boolean | undefined;
  /** Requests per second; undefined: there is no store. */
  readonly pace: number | undefined;
  /** Seconds since the epoch. */
  readonly lastSuccess: number | undefined;
}

export interface SecretSyncMetrics {
  readonly cycles: Counter<'result'>;
  readonly duration: Histogram;
  readonly requests: Counter;
  readonly refused: Counter;
  readonly keys: Counter<'direction'>;
  readonly failures: Counter<'reason'>;
  /** `facts` are asked at each scrape. */
  follow(facts: () => SecretSyncFacts): void;
}

const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createSecretSyncMetrics(registry: Registry): SecretSyncMetrics {
  const registers = [registry];
  let facts: () => SecretSyncFacts = () => ({
    objects: {},
    isAvailable: undefined,
    isInForce: undefined,
    pace: undefined,
    lastSuccess: undefined,
  });
  new Gauge({
    name: 'gitplane_secret_sync_objects',
    help: 'Secrets tied to the secret store, by state: synced, differs, held, failed, waiting, stale',
    labelNames: ['state'],
    registers,
    collect() {
      this.reset();
      for (const [state, count] of Object.entries(facts().objects)) this.set({ state }, count);
    },
  });
  new Gauge({
    name: 'gitplane_secret_sync_store_available',
    help: '1 while the secret store answers, 0 while it does not; absent without a store',
    registers,
    collect() {
      const { isAvailable } = facts();
      this.remove();
      if (isAvailable !== undefined) this.set(isAvailable ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gitplane_secret_sync_store_in_force',
    help: '1 while the secret store is in use as it is configured, 0 until it has answered the configured token; absent without a store',
    registers,
    collect() {
      const { isInForce } = facts();
      this.remove();
      if (isInForce !== undefined) this.set(isInForce ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gitplane_secret_sync_last_success_timestamp_seconds',
    help: 'When a cycle over all secrets last found the store answering',
    registers,
    collect() {
      const { lastSuccess } = facts();
      this.remove();
      if (lastSuccess !== undefined) this.set(lastSuccess);
    },
  });
  new Gauge({
    name: 'gitplane_secret_sync_pace',
    help: 'Requests per second that the secret store is sent at most, learned from its quota; absent without a store',
    registers,
    collect() {
      const { pace } = facts();
      this.remove();
      if (pace !== undefined) this.set(pace);
    },
  });
  return {
    cycles: new Counter({
      name: 'gitplane_secret_sync_cycles_total',
      help: 'Cycles over all secrets, by result: complete, unavailable',
      labelNames: ['result'],
      registers,
    }),
    duration: new Histogram({
      name: 'gitplane_secret_sync_cycle_duration_seconds',
      help: 'How long a cycle over all secrets took',
      buckets: BUCKETS,
      registers,
    }),
    requests: new Counter({
      name: 'gitplane_secret_sync_requests_total',
      help: 'Requests to the secret store',
      registers,
    }),
    refused: new Counter({
      name: 'gitplane_secret_sync_refused_total',
      help: 'Requests that the secret store refused over its quota (429); they are sent again',
      registers,
    }),
    keys: new Counter({
      name: 'gitplane_secret_sync_keys_total',
      help: 'Keys of secrets that the sync wrote, by direction: pull, push',
      labelNames: ['direction'],
      registers,
    }),
    failures: new Counter({
      name: 'gitplane_secret_sync_failures_total',
      help: 'Secrets that could not be synced, by reason; one each cycle',
      labelNames: ['reason'],
      registers,
    }),
    follow: (asked) => {
      facts = asked;
    },
  };
}
