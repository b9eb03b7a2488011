/**
 * The histogram of requests. It is the only metric that every read observes, and finding the bucket
 * of a set of labels took prom-client longer than looking up the object: here labels lead to their
 * counts through three maps.
 */
import type { Metric, Registry } from 'prom-client';

export interface RequestLabels {
  readonly verb: string;
  readonly resource: string;
  readonly code: number;
}

interface Value {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

interface Series {
  readonly labels: { readonly verb: string; readonly resource: string; readonly code: string };
  /** Requests per bucket, and beyond the last one. */
  readonly counts: Float64Array;
  sum: number;
}

export class RequestDurations {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly labelNames = ['verb', 'resource', 'code'] as const;
  readonly aggregator = 'sum';
  /** Upper bounds, in seconds, rising. */
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Map<string, Map<number, Series>>>();

  constructor(
    { name, help, bounds }: { name: string; help: string; bounds: readonly number[] },
    registry: Registry,
  ) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
    registry.registerMetric(this as unknown as Metric);
  }

  observe(labels: RequestLabels, seconds: number): void {
    const series = this.#find(labels) ?? this.#make(labels);
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
    series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += seconds;
  }

  /** As the registry asks for it. */
  get(): Promise<object> {
    const values: Value[] = [];
    for (const resources of this.#series.values()) {
      for (const codes of resources.values()) {
        for (const series of codes.values()) values.push(...this.#valuesOf(series));
      }
    }
    const { name, help, type, aggregator } = this;
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  reset(): void {
    this.#series.clear();
  }

  #find({ verb, resource, code }: RequestLabels): Series | undefined {
    return this.#series.get(verb)?.get(resource)?.get(code);
  }

  #make({ verb, resource, code }: RequestLabels): Series {
    const resources = entry(this.#series, verb, () => new Map<string, Map<number, Series>>());
    const codes = entry(resources, resource, () => new Map<number, Series>());
    return entry(codes, code, () => ({
      labels: { verb, resource, code: String(code) },
      counts: new Float64Array(this.#bounds.length + 1),
      sum: 0,
    }));
  }

  #valuesOf({ labels, counts, sum }: Series): Value[] {
    let total = 0;
    const buckets = [...this.#bounds, '+Inf'].map((le, at) => {
      total += counts[at] ?? 0;
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: total },
    ];
  }
}

function entry<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
