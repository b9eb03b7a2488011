/** Flow classification of requests, shared by all servers of the daemon, with metrics. */
import { FlowClassifier } from '../../server/index.ts';
import { createFairnessMetrics, type Metrics } from '../../telemetry/index.ts';

export function openFlowClassifier({ registry }: Pick<Metrics, 'registry'>): FlowClassifier {
  const fairness = new FlowClassifier();
  createFairnessMetrics(registry, () => fairness.figures);
  return fairness;
}
