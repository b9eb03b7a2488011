/** Metrics of the synchronization with secret stores. */
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
  readonly pulls: readonly {
    readonly name: string;
    /** By state. */
    readonly secrets: Readonly<Record<string, number>>;
    readonly isListed: boolean;
  }[];
}

export interface SecretSyncMetrics {
  readonly cycles: Counter<'store' | 'result'>;
  readonly duration: Histogram<'store'>;
  readonly requests: Counter<'store'>;
  readonly refused: Counter<'store'>;
  readonly keys: Counter<'store' | 'direction'>;
  readonly failures: Counter<'store' | 'reason'>;
  /** `facts` are asked at each scrape, by the name of the store. */
  follow(facts: () => ReadonlyMap<string, SecretSyncFacts>): void;
}

const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createSecretSyncMetrics(registry: Registry): SecretSyncMetrics {
  const registers = [registry];
  let facts: () => ReadonlyMap<string, SecretSyncFacts> = () => new Map();
  const gauge = (
    name: string,
    help: string,
    value: (facts: SecretSyncFacts) => number | undefined,
  ): Gauge<'store'> =>
    new Gauge({
      name,
      help,
      labelNames: ['store'],
      registers,
      collect() {
        this.reset();
        for (const [store, one] of facts()) {
          const now = value(one);
          if (now !== undefined) this.set({ store }, now);
        }
      },
    });
  gauge(
    'gitplane_secret_sync_store_available',
    '1 while the secret store answers, 0 while it does not; absent without a store',
    ({ isAvailable }) => (isAvailable === undefined ? undefined : Number(isAvailable)),
  );
  gauge(
    'gitplane_secret_sync_store_in_force',
    '1 while the secret store is in use as it is configured, 0 until it has answered the configured token; absent without a store',
    ({ isInForce }) => (isInForce === undefined ? undefined : Number(isInForce)),
  );
  gauge(
    'gitplane_secret_sync_last_success_timestamp_seconds',
    'Time of the last cycle in which the secret store responded',
    ({ lastSuccess }) => lastSuccess,
  );
  gauge(
    'gitplane_secret_sync_pace',
    'Limit of requests per second to the secret store, learned from its quota; absent without a store',
    ({ pace }) => pace,
  );
  countGauges(registers, () => facts());
  return {
    cycles: new Counter({
      name: 'gitplane_secret_sync_cycles_total',
      help: 'Cycles over all secrets of the store, by result: complete, unavailable',
      labelNames: ['store', 'result'],
      registers,
    }),
    duration: new Histogram({
      name: 'gitplane_secret_sync_cycle_duration_seconds',
      help: 'Duration of a cycle over all secrets of the store',
      labelNames: ['store'],
      buckets: BUCKETS,
      registers,
    }),
    requests: new Counter({
      name: 'gitplane_secret_sync_requests_total',
      help: 'Requests to the secret store',
      labelNames: ['store'],
      registers,
    }),
    refused: new Counter({
      name: 'gitplane_secret_sync_refused_total',
      help: 'Requests that the secret store refused by quota (429); they are retried',
      labelNames: ['store'],
      registers,
    }),
    keys: new Counter({
      name: 'gitplane_secret_sync_keys_total',
      help: 'Keys of secrets written by the synchronization, by direction: pull, push',
      labelNames: ['store', 'direction'],
      registers,
    }),
    failures: new Counter({
      name: 'gitplane_secret_sync_failures_total',
      help: 'Secrets that could not be synchronized, by reason; one per cycle',
      labelNames: ['store', 'reason'],
      registers,
    }),
    follow: (asked) => {
      facts = asked;
    },
  };
}

function countGauges(
  registers: Registry[],
  facts: () => ReadonlyMap<string, SecretSyncFacts>,
): void {
  new Gauge({
    name: 'gitplane_secret_sync_objects',
    help: 'Secrets tied to a secret store, by state: synced, differs, held, failed, waiting, stale; those that name a store that is not configured have an empty store',
    labelNames: ['store', 'state'],
    registers,
    collect() {
      this.reset();
      for (const [store, { objects }] of facts()) {
        for (const [state, count] of Object.entries(objects)) this.set({ store, state }, count);
      }
    },
  });
  new Gauge({
    name: 'gitplane_secret_sync_pull_secrets',
    help: 'Secrets below the path of a pull, by state: tied to an object, untied by a person, refused',
    labelNames: ['store', 'pull', 'state'],
    registers,
    collect() {
      this.reset();
      for (const [store, { pulls }] of facts()) {
        for (const { name: pull, secrets } of pulls) {
          for (const [state, count] of Object.entries(secrets))
            this.set({ store, pull, state }, count);
        }
      }
    },
  });
  new Gauge({
    name: 'gitplane_secret_sync_pull_listed',
    help: '1 if the newest listing of the path of a pull succeeded, else 0',
    labelNames: ['store', 'pull'],
    registers,
    collect() {
      this.reset();
      for (const [store, { pulls }] of facts()) {
        for (const { name: pull, isListed } of pulls) this.set({ store, pull }, Number(isListed));
      }
    },
  });
}
