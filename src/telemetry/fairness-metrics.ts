/** Metrics of requests in flow control. */
import { Counter, Gauge, type Registry } from 'prom-client';

interface Figures {
  readonly held: number;
  readonly atWork: number;
  readonly waiting: number;
  readonly refused: number;
}

/** `figures` are asked at each scrape. */
export function createFairnessMetrics(
  registry: Registry,
  figures: () => Readonly<Record<string, Figures>>,
): void {
  const registers = [registry];
  new Gauge({
    name: 'gitplane_fair_queue_requests',
    help: 'Requests in flow control, by level (writes, lists) and state: held (all, including those whose bodies are still being read), at_work, waiting',
    labelNames: ['level', 'state'],
    registers,
    collect() {
      for (const [level, { held, atWork, waiting }] of Object.entries(figures())) {
        this.set({ level, state: 'held' }, held);
        this.set({ level, state: 'at_work' }, atWork);
        this.set({ level, state: 'waiting' }, waiting);
      }
    },
  });
  new Counter({
    name: 'gitplane_fair_queue_refused_total',
    help: 'Requests answered 429 because their user had too many in progress, by level',
    labelNames: ['level'],
    registers,
    collect() {
      this.reset();
      for (const [level, { refused }] of Object.entries(figures())) this.inc({ level }, refused);
    },
  });
}
