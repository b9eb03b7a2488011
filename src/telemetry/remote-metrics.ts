/** Metrics of a followed repository; absent where none is followed. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export interface RemoteMetrics {
  readonly fetches: Counter<'result'>;
  readonly fetch: Histogram;
  readonly pushes: Counter<'result'>;
  readonly push: Histogram;
}

/** `lastFetchAge`: in seconds; undefined before the first. */
export function createRemoteMetrics(
  registry: Registry,
  lastFetchAge: () => number | undefined,
): RemoteMetrics {
  const registers = [registry];
  new Gauge({
    name: 'gitplane_remote_last_fetch_age_seconds',
    help: 'Seconds since the followed branch was last fetched',
    registers,
    collect() {
      this.set(lastFetchAge() ?? Number.NaN);
    },
  });
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['result'] as const, registers });
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, buckets: SECONDS, registers });
  return {
    fetches: counter(
      'gitplane_remote_fetches_total',
      'Fetches of the followed branch, by result (ok, failed)',
    ),
    fetch: histogram(
      'gitplane_remote_fetch_seconds',
      'Time of a successful fetch of the followed branch',
    ),
    pushes: counter(
      'gitplane_remote_pushes_total',
      'Groups of API writes pushed to the remote, by result (ok, refused, failed)',
    ),
    push: histogram(
      'gitplane_remote_push_seconds',
      'Time until the remote confirmed a group of API writes',
    ),
  };
}
