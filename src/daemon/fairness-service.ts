/** Turns of requests as the daemon has them: one set for all of its servers, with metrics. */
import { Fairness } from '../server/filters/flow-classifier.ts';
import { createFairnessMetrics } from '../telemetry/fairness-metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export function openFairness({ registry }: Pick<Metrics, 'registry'>): Fairness {
  const fairness = new Fairness();
  createFairnessMetrics(registry, () => fairness.figures);
  return fairness;
}
