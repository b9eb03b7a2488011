/** Fields of the configuration whose default comes from another field (spec section 2.8). */
import { isRecord, type JsonObject, listAt, valueAt } from '../../apimachinery/index.ts';
import { RESOURCES } from './config-rules.ts';

/** Base URL of chart packages; the names of the repository and the chart follow. */
const CHART_HUB = 'https://artifacthub.io/packages/helm';

/** Fills in the absent ones. Mutates `config`. */
export function fillDerived(config: JsonObject): void {
  for (const path of RESOURCES) {
    const resources = valueAt(config, path);
    if (isRecord(resources) && isRecord(resources['limits'])) {
      // Per resource, as in Kubernetes.
      const { limits, requests } = resources;
      resources['requests'] = { ...limits, ...(isRecord(requests) ? requests : {}) };
    }
  }
  for (const app of listAt<JsonObject>(config, ['apps', 'predefinedApps'])) {
    const [repository = '', chart = ''] = String(app['chart']).split('/');
    app['title'] ||= chart;
    app['readmeUrl'] ||= [CHART_HUB, repository, chart].map(encoded).join('/');
  }
}

function encoded(step: string, index: number): string {
  return index === 0 ? step : encodeURIComponent(step);
}
