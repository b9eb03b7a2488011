/** Costs of tenants: the share of its nodes that the pods of a tenant request, times the price of a node. */
import type { CostControlConfig, CostControlPrice } from '../config/index.ts';
import type { ResourceName, ResourceUsage, Usage } from './usage.ts';

type Settings = NonNullable<CostControlConfig['settings']>;

/** Observation of one tenant. */
export interface TenantUsage {
  readonly name: string;
  /** Absent: it is not known. */
  readonly usage?: Usage;
  /** Time of the observation in milliseconds. */
  readonly observedAt?: number;
  /** Reason why there is no usage. */
  readonly unknown?: string;
}

export interface CostSum {
  readonly perHour: number;
  readonly perMonth: number;
}

export interface ResourceCost extends CostSum {
  /** Cores or bytes that pods request. */
  readonly requested: number;
  /** Cores or bytes of all nodes. */
  readonly capacity: number;
}

export interface Unknown {
  readonly what: 'cpu' | 'memory' | 'tenant';
  readonly reason: string;
}

export interface TenantCost {
  readonly name: string;
  readonly observedAt?: number;
  readonly nodes?: number;
  readonly pods?: number;
  /** Absent: `unknown` has the reason. */
  readonly cpu?: ResourceCost;
  readonly memory?: ResourceCost;
  /** Of CPU and memory; absent unless both are known. */
  readonly total?: CostSum;
  readonly unknown: readonly Unknown[];
}

/** The hours of a year divided by twelve. */
const HOURS_OF_MONTH = 730;
const HOURS: Readonly<Record<string, number>> = {
  hourly: 1,
  daily: 24,
  weekly: 168,
  monthly: HOURS_OF_MONTH,
  yearly: 12 * HOURS_OF_MONTH,
};
const PRICE_FIELD = {
  cpu: 'averageCPUPricePerNode',
  memory: 'averageRAMPricePerNode',
} as const;

export function costsOf(
  settings: Settings | undefined,
  tenants: readonly TenantUsage[],
): readonly TenantCost[] {
  return tenants.map((tenant) => costOf(settings ?? {}, tenant));
}

function costOf(settings: Settings, { name, usage, observedAt, unknown }: TenantUsage): TenantCost {
  const at = observedAt === undefined ? {} : { observedAt };
  if (usage === undefined) {
    const reason = unknown ?? 'the cluster was not asked';
    return { name, ...at, unknown: [{ what: 'tenant', reason }] };
  }
  const { nodes, pods } = usage;
  const problems: Unknown[] = [];
  const cost = (what: ResourceName): ResourceCost | undefined => {
    const found = resourceCost(settings, what, usage);
    if (typeof found !== 'string') return found;
    problems.push({ what, reason: found });
    return undefined;
  };
  const [cpu, memory] = [cost('cpu'), cost('memory')];
  for (const what of ['cpu', 'memory'] as const) problems.push(...incomplete(what, usage[what]));
  if (usage.pendingPods > 0) {
    const reason = `${counted(usage.pendingPods, 'pod')} without a node: not counted`;
    problems.push({ what: 'tenant', reason });
  }
  problems.push(...unpriced(usage));
  return {
    ...{ name, ...at, nodes, pods },
    ...(cpu === undefined ? {} : { cpu }),
    ...(memory === undefined ? {} : { memory }),
    ...(cpu === undefined || memory === undefined
      ? {}
      : { total: sumOf(cpu.perHour + memory.perHour) }),
    unknown: problems,
  };
}

/** A text: the reason why the cost is unknown. */
function resourceCost(settings: Settings, what: ResourceName, usage: Usage): ResourceCost | string {
  const hourly = pricePerHour(PRICE_FIELD[what], settings[PRICE_FIELD[what]]);
  if (typeof hourly === 'string') return hourly;
  const { capacity, requested, unreadableNodes, unreadablePods } = usage[what];
  if (usage.nodes === 0) return 'the cluster has no nodes';
  if (unreadableNodes > 0) {
    return `${counted(unreadableNodes, 'node')} without a readable amount in status.allocatable`;
  }
  if (capacity === 0) return 'the nodes have nothing to allocate';
  if (unreadablePods > 0) return `${counted(unreadablePods, 'pod')} with an invalid request`;
  const share = requested / capacity;
  return { requested, capacity, ...sumOf(share * usage.nodes * hourly) };
}

/** A text: the reason why there is no price. */
function pricePerHour(field: string, price: CostControlPrice | undefined): number | string {
  const path = `costControl.settings.${field}`;
  if (price?.price === undefined) return `the configuration has no ${path}.price`;
  if (price.timePeriod === undefined) return `the configuration has no ${path}.timePeriod`;
  const period = price.timePeriod.toLowerCase();
  const hours = Object.hasOwn(HOURS, period) ? HOURS[period] : undefined;
  if (hours !== undefined) return price.price / hours;
  return `${path}.timePeriod is ${JSON.stringify(price.timePeriod)}: use Hourly, Daily, Weekly, Monthly or Yearly`;
}

/** A sum that is known and may be too low. */
function incomplete(what: ResourceName, { podsWithoutRequest }: ResourceUsage): Unknown[] {
  if (podsWithoutRequest === 0) return [];
  const pods = counted(podsWithoutRequest, 'pod');
  return [{ what, reason: `${pods} with a container that requests none: counted as zero` }];
}

/** Named at most, so that the names in a cluster do not fill the answer. */
const MOST_NAMES = 5;
const LONGEST_NAME = 64;

/** The configuration has no field for prices of other resources than CPU and memory. */
function unpriced({ extended }: Usage): Unknown[] {
  if (extended.size === 0) return [];
  const all = [...extended].sort(([a], [b]) => (a < b ? -1 : 1));
  const shown = all
    .slice(0, MOST_NAMES)
    .map(([name, requested]) => `${requested} of ${name.slice(0, LONGEST_NAME)}`);
  const more = all.length > MOST_NAMES ? ` and ${all.length - MOST_NAMES} more resources` : '';
  const reason = `pods request ${shown.join(', ')}${more}: no price, not counted`;
  return [{ what: 'tenant', reason }];
}

function sumOf(perHour: number): CostSum {
  return { perHour, perMonth: perHour * HOURS_OF_MONTH };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
