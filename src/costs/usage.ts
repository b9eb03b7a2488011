/** Capacity of the nodes of a cluster, and requests of the pods that run on them. */
import { isRecord, type KubeObject, valueAt } from '../apimachinery/index.ts';
import { parseQuantity } from '../kinds/index.ts';

export type ResourceName = 'cpu' | 'memory';

/** Cores or bytes. */
export interface ResourceUsage {
  /** Allocatable amount of all nodes. */
  readonly capacity: number;
  readonly requested: number;
  /** Nodes without a readable amount. */
  readonly unreadableNodes: number;
  /** Pods with a request that is not a quantity. */
  readonly unreadablePods: number;
  /** Pods with a container that requests nothing. */
  readonly podsWithoutRequest: number;
}

export interface Usage {
  readonly nodes: number;
  /** Pods on nodes. Pods that have ended are left out. */
  readonly pods: number;
  /** Pods that wait for a node. */
  readonly pendingPods: number;
  readonly cpu: ResourceUsage;
  readonly memory: ResourceUsage;
  /** Requests of extended resources by name, such as `nvidia.com/gpu`. They have no price. */
  readonly extended: ReadonlyMap<string, number>;
}

const ENDED: readonly unknown[] = ['Succeeded', 'Failed'];

export function usageOf(of: {
  readonly nodes: readonly KubeObject[];
  readonly pods: readonly KubeObject[];
}): Usage {
  const live = of.pods.filter((pod) => !ENDED.includes(valueAt(pod, ['status', 'phase'])));
  const pods = live.filter((pod) => (valueAt(pod, ['spec', 'nodeName']) ?? '') !== '');
  return {
    nodes: of.nodes.length,
    pods: pods.length,
    pendingPods: live.length - pods.length,
    cpu: resourceUsage('cpu', { nodes: of.nodes, pods }),
    memory: resourceUsage('memory', { nodes: of.nodes, pods }),
    extended: extendedRequests(pods),
  };
}

/** Usage of two parts of a cluster together. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    nodes: a.nodes + b.nodes,
    pods: a.pods + b.pods,
    pendingPods: a.pendingPods + b.pendingPods,
    cpu: addResource(a.cpu, b.cpu),
    memory: addResource(a.memory, b.memory),
    extended: added([...a.extended, ...b.extended]),
  };
}

function added(amounts: Iterable<readonly [string, number]>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [name, amount] of amounts) sums.set(name, (sums.get(name) ?? 0) + amount);
  return sums;
}

function extendedRequests(pods: readonly KubeObject[]): ReadonlyMap<string, number> {
  return added(
    pods.flatMap((pod) =>
      extendedNames(pod).map((name) => [name, requestOf(pod, name).amount ?? 0] as const),
    ),
  );
}

/** Names with a domain that is not one of Kubernetes. Containers alone request these resources. */
function extendedNames(pod: KubeObject): readonly string[] {
  const containers = [...listAt(pod, 'containers'), ...listAt(pod, 'initContainers')];
  const names = containers.flatMap((container) =>
    ['requests', 'limits'].flatMap((part) => {
      const found = valueAt(container, ['resources', part]);
      return isRecord(found) ? Object.keys(found) : [];
    }),
  );
  const extended = names.filter((name) => name.includes('/') && !name.includes('kubernetes.io/'));
  return [...new Set(extended)];
}

function addResource(a: ResourceUsage, b: ResourceUsage): ResourceUsage {
  return {
    capacity: a.capacity + b.capacity,
    requested: a.requested + b.requested,
    unreadableNodes: a.unreadableNodes + b.unreadableNodes,
    unreadablePods: a.unreadablePods + b.unreadablePods,
    podsWithoutRequest: a.podsWithoutRequest + b.podsWithoutRequest,
  };
}

function resourceUsage(
  name: ResourceName,
  { nodes, pods }: { readonly nodes: readonly KubeObject[]; readonly pods: readonly KubeObject[] },
): ResourceUsage {
  const amounts = nodes.map((node) => capacityOf(node, name));
  const requests = pods.map((pod) => requestOf(pod, name));
  return {
    capacity: sum(amounts.map((amount) => amount ?? 0)),
    requested: sum(requests.map(({ amount }) => amount ?? 0)),
    unreadableNodes: amounts.filter((amount) => amount === undefined).length,
    unreadablePods: requests.filter(({ amount }) => amount === undefined).length,
    podsWithoutRequest: requests.filter(({ isIncomplete }) => isIncomplete).length,
  };
}

/** Undefined: the node reports no amount. */
function capacityOf(node: KubeObject, name: ResourceName): number | undefined {
  const found =
    valueAt(node, ['status', 'allocatable', name]) ?? valueAt(node, ['status', 'capacity', name]);
  return amountOf(found);
}

interface Request {
  /** Undefined: not a quantity. */
  readonly amount: number | undefined;
  /** True if a container requests nothing. */
  readonly isIncomplete: boolean;
}

/**
 * Request of a pod as the scheduler computes it: the larger of all running containers together and
 * each init container beside the sidecars before it, plus the overhead. `spec.resources` wins.
 */
function requestOf(pod: KubeObject, name: string): Request {
  const overhead = optionalAmount(valueAt(pod, ['spec', 'overhead', name]));
  const own = requested(valueAt(pod, ['spec']), name);
  if (own !== undefined) return { amount: finite(own + overhead), isIncomplete: false };
  const containers = listAt(pod, 'containers').map((one) => requested(one, name));
  let sidecars = 0;
  let peak = 0;
  for (const container of listAt(pod, 'initContainers')) {
    const amount = requested(container, name) ?? 0;
    const isSidecar = valueAt(container, ['restartPolicy']) === 'Always';
    if (isSidecar) sidecars += amount;
    peak = Math.max(peak, isSidecar ? sidecars : sidecars + amount);
  }
  const running = sum(containers.map((amount) => amount ?? 0)) + sidecars;
  const amount = Math.max(running, peak) + overhead;
  return {
    amount: finite(amount),
    isIncomplete: containers.includes(undefined),
  };
}

/** A request takes the limit where it is absent. Undefined: there is neither. NaN: not a quantity. */
function requested(of: unknown, name: string): number | undefined {
  const found =
    valueAt(of, ['resources', 'requests', name]) ?? valueAt(of, ['resources', 'limits', name]);
  return found === undefined ? undefined : (amountOf(found) ?? Number.NaN);
}

function optionalAmount(value: unknown): number {
  return value === undefined ? 0 : (amountOf(value) ?? Number.NaN);
}

/** Undefined: not a quantity, or below zero. */
function amountOf(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const amount = parseQuantity(value);
  return amount !== undefined && amount >= 0 && Number.isFinite(amount) ? amount : undefined;
}

function listAt(pod: KubeObject, field: string): readonly unknown[] {
  const found = valueAt(pod, ['spec', field]);
  return Array.isArray(found) ? found.filter(isRecord) : [];
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}

function finite(amount: number): number | undefined {
  return Number.isFinite(amount) ? amount : undefined;
}
