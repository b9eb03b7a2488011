/**
 * The built-in translation of Services. Assigned addresses and ports belong to the cluster that
 * assigned them: those of the tenant cluster are left out, and those of the control-plane cluster
 * stay. Pure.
 */
import { cloneJson, isRecord, type JsonObject, type KubeObject } from '../apimachinery/index.ts';
import { labelsToHost, type TenantCluster } from '../endpoint-patches/index.ts';
import { MANAGED_ANNOTATIONS } from './managed-annotations.ts';
import { translateMetadata } from './translate.ts';

const HEADLESS = 'None';
const EXTERNAL = 'ExternalName';
/** Types with a port on each node. */
const WITH_NODE_PORTS: readonly unknown[] = ['NodePort', 'LoadBalancer'];
/** Spec fields that a cluster assigns; each node port is one field of its port. */
const ASSIGNED = ['clusterIP', 'clusterIPs', 'ipFamilies', 'healthCheckNodePort'] as const;
/** Fields that a cluster defaults, and that cannot be unset. */
const FILLED = ['ipFamilyPolicy', 'loadBalancerClass'] as const;

type Spec = Record<string, unknown>;

/** The Service for the control-plane cluster. `service` is not changed. */
export function translateService(service: KubeObject, tenant: TenantCluster): KubeObject {
  const { apiVersion, kind, status: _status, ...rest } = cloneJson(service);
  return {
    ...rest,
    apiVersion,
    kind,
    metadata: translateMetadata(service, tenant),
    spec: withDefaults(ownSpec(specOf(rest), service, tenant)) as JsonObject,
  };
}

/** Fields that the tenant decides: the selector selects only pods of its namespace. */
function ownSpec(spec: Spec, service: KubeObject, tenant: TenantCluster): Spec {
  const { selector } = spec;
  const own: Spec = { ...spec, ...portsOf(spec, ({ nodePort: _port, ...port }) => port) };
  for (const field of ASSIGNED) if (spec[field] !== HEADLESS) delete own[field];
  if (!isRecord(selector) || Object.keys(selector).length === 0) return own;
  const { namespace = '' } = service.metadata;
  const owner = { tenant: tenant.name, namespace };
  const translated = labelsToHost(selector as JsonObject, owner) ?? {};
  // The markers override labels in the selector of the tenant.
  const marks = {
    [MANAGED_ANNOTATIONS.managedBy]: tenant.name,
    [MANAGED_ANNOTATIONS.namespace]: namespace,
  };
  return { ...own, selector: { ...translated, ...marks } };
}

/** The defaults of Kubernetes, so that a removed field returns to them. */
function withDefaults(spec: Spec): Spec {
  const { type = 'ClusterIP', sessionAffinity = 'None' } = spec;
  const timeout = { clientIP: { timeoutSeconds: 10_800 } };
  return {
    type,
    sessionAffinity,
    ...(sessionAffinity === 'ClientIP' ? { sessionAffinityConfig: timeout } : {}),
    ...(type === EXTERNAL ? {} : { internalTrafficPolicy: 'Cluster' }),
    ...(WITH_NODE_PORTS.includes(type) ? { externalTrafficPolicy: 'Cluster' } : {}),
    ...(type === 'LoadBalancer' ? { allocateLoadBalancerNodePorts: true } : {}),
    ...spec,
    ...portsOf(spec, (port) => ({ protocol: 'TCP', targetPort: port['port'], ...port })),
  };
}

/** The wanted Service with the assigned fields of the actual one. */
export function withAssigned(wanted: KubeObject, actual: KubeObject): KubeObject {
  const [spec, there] = [specOf(wanted), specOf(actual)];
  const assigned: Spec = {};
  if (spec['type'] !== EXTERNAL) {
    for (const field of [...ASSIGNED, ...FILLED]) {
      if (there[field] !== undefined && isAssignedTo(spec, field)) assigned[field] = there[field];
    }
  }
  const ports = portsOf(spec, (port) => withNodePort(port, { type: spec['type'], there }));
  return {
    ...wanted,
    metadata: { ...wanted.metadata, ...withForeignAnnotations(wanted, actual) },
    spec: { ...assigned, ...spec, ...ports } as JsonObject,
  };
}

function isAssignedTo(spec: Spec, field: string): boolean {
  if (field === 'loadBalancerClass') return spec['type'] === 'LoadBalancer';
  if (field !== 'healthCheckNodePort') return true;
  return spec['type'] === 'LoadBalancer' && spec['externalTrafficPolicy'] === 'Local';
}

/** A port is identified by its number and protocol, which are unique in a Service. */
function withNodePort(port: Spec, { type, there }: { type: unknown; there: Spec }): Spec {
  if (port['nodePort'] !== undefined || !WITH_NODE_PORTS.includes(type)) return port;
  const ports: unknown[] = Array.isArray(there['ports']) ? there['ports'] : [];
  const same = ports.find(
    (each): each is Spec =>
      isRecord(each) &&
      each['port'] === port['port'] &&
      (each['protocol'] ?? 'TCP') === (port['protocol'] ?? 'TCP'),
  );
  return same?.['nodePort'] === undefined ? port : { ...port, nodePort: same['nodePort'] };
}

/** Controllers of load balancers store data in annotations: annotations of others stay. */
function withForeignAnnotations(
  { metadata: wanted }: KubeObject,
  { metadata: actual }: KubeObject,
): Pick<KubeObject['metadata'], 'annotations'> {
  const marks: readonly string[] = Object.values(MANAGED_ANNOTATIONS);
  const written = new Set(
    actual.annotations?.[MANAGED_ANNOTATIONS.managedAnnotations]?.split('\n'),
  );
  const foreign = Object.entries(actual.annotations ?? {}).filter(
    ([key]) => !written.has(key) && !marks.includes(key),
  );
  return { annotations: { ...Object.fromEntries(foreign), ...wanted.annotations } };
}

/** The address of a Service is immutable, also whether it is headless. */
export function mustReplaceService(wanted: KubeObject, actual: KubeObject): boolean {
  const [asked, has] = [specOf(wanted), specOf(actual)];
  if (asked['type'] === EXTERNAL || !has['clusterIP']) return false;
  if (asked['clusterIP'] === undefined) return has['clusterIP'] === HEADLESS;
  return asked['clusterIP'] !== has['clusterIP'];
}

function specOf(of: { readonly spec?: unknown }): Spec {
  return isRecord(of.spec) ? of.spec : {};
}

function portsOf(spec: Spec, each: (port: Spec) => Spec): { ports?: unknown[] } {
  const { ports } = spec;
  if (!Array.isArray(ports)) return {};
  return { ports: ports.map((port: unknown) => (isRecord(port) ? each(port) : port)) };
}
