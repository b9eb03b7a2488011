/** Fields of the configuration that follow from others where they are absent (spec section 2.8). */
import { isRecord, type JsonObject, valueAt } from '../../apimachinery/index.ts';
import { RESOURCES } from './config-rules.ts';

/** Packages of charts, by the names of their repository and of the chart. */
const CHART_HUB = 'https://artifacthub.io/packages/helm';

/** Mutates `config`. */
export function fillDerived(config: JsonObject): void {
  for (const path of RESOURCES) {
    const resources = valueAt(config, path);
    if (isRecord(resources) && isRecord(resources['limits'])) {
      // As in Kubernetes: resource by resource.
      resources['requests'] = { ...resources['limits'], ...asRecord(resources['requests']) };
    }
  }
  const apps = valueAt(config, ['apps', 'predefinedApps']);
  for (const app of Array.isArray(apps) ? apps.filter(isRecord) : []) {
    const [repository = '', chart = ''] = String(app['chart']).split('/');
    app['title'] ||= chart;
    app['readmeUrl'] ||= [CHART_HUB, repository, chart].map(encoded).join('/');
  }
}

function asRecord(value: unknown): object {
  return isRecord(value) ? value : {};
}

function encoded(step: string, index: number): string {
  return index === 0 ? step : encodeURIComponent(step);
}
