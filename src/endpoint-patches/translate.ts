/** Which name and namespace an object of the tenant has on the control-plane cluster. */
import { clusterScopedHostName, hostName, legacyNamespace, shortHostName } from './names.ts';
import type { TenantCluster } from './tenant.ts';

export interface ObjectName {
  readonly name: string;
  readonly namespace: string;
}

export type NameForm = 'concat' | 'short' | 'cluster';

/** Kinds that the sync itself makes: a reference gives the name that the object has. */
const SYNCED_KINDS: ReadonlySet<string> = new Set(['/Endpoints', '/Service']);
/** Kinds that the original product names in full. Everything else is called `v…`. */
const CONCAT_KINDS: ReadonlySet<string> = new Set([
  '/ConfigMap',
  '/Event',
  '/PersistentVolumeClaim',
  '/Pod',
  '/Secret',
  '/ServiceAccount',
  'discovery.k8s.io/EndpointSlice',
  'gateway.networking.k8s.io/Gateway',
  'gateway.networking.k8s.io/HTTPRoute',
  'gateway.networking.k8s.io/TLSRoute',
  'networking.k8s.io/Ingress',
  'networking.k8s.io/NetworkPolicy',
  'policy/PodDisruptionBudget',
  'snapshot.storage.k8s.io/VolumeSnapshot',
]);
const CLUSTER_KINDS: ReadonlySet<string> = new Set([
  '/PersistentVolume',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/StorageClass',
]);

export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Name format of references to an object of this type. */
export function nameForm({ apiVersion, kind }: ObjectType, tenant: TenantCluster): NameForm {
  const slash = apiVersion.indexOf('/');
  const type = `${slash < 0 ? '' : apiVersion.slice(0, slash)}/${kind}`;
  if (SYNCED_KINDS.has(type)) return 'concat';
  if (tenant.referenceNames === 'short') return 'short';
  if (CLUSTER_KINDS.has(type)) return 'cluster';
  return CONCAT_KINDS.has(type) ? 'concat' : 'short';
}

/** On the control-plane cluster. */
export function translateName(
  { name, namespace }: ObjectName,
  tenant: TenantCluster,
  form: NameForm,
): ObjectName {
  const mapped = mappedNamespace(namespace, tenant);
  if (mapped !== undefined) return { name, namespace: mapped };
  return { name: singleName(name, namespace, { tenant, form }), namespace: tenant.namespace };
}

function singleName(
  name: string,
  namespace: string,
  { tenant, form }: { tenant: TenantCluster; form: NameForm },
): string {
  if (form === 'cluster') return clusterScopedHostName(name, tenant.namespace, tenant.name);
  if (form === 'short') return shortHostName(name, namespace, tenant.name);
  return hostName(name, namespace, tenant.name);
}

/** True if objects of a tenant namespace are placed on the control-plane cluster. */
export function hasPlace(namespace: string, tenant: TenantCluster): boolean {
  if (tenant.mode === 'single' || tenant.mappingsOnly !== true) return true;
  return byMapping(namespace, tenant) !== undefined;
}

/** Undefined: names are translated, and the namespace is that of the tenant. */
function mappedNamespace(namespace: string, tenant: TenantCluster): string | undefined {
  if (tenant.mode === 'single') return undefined;
  if (tenant.hashedNamespaces) return legacyNamespace(namespace, tenant.namespace, tenant.name);
  const mapped = byMapping(namespace, tenant);
  if (mapped !== undefined) return mapped;
  const isOpen = Object.keys(tenant.namespaces ?? {}).length === 0;
  return isOpen || tenant.mappingsOnly === true ? namespace : undefined;
}

/** One that names the namespace goes before patterns, and of those the longest. */
function byMapping(namespace: string, tenant: TenantCluster): string | undefined {
  let best: { from: string; name: string } | undefined;
  for (const [from, to] of Object.entries(tenant.namespaces ?? {})) {
    const pattern = withTenantName(from, tenant);
    const carried = carriedText(namespace, pattern);
    if (carried === undefined) continue;
    const name = withTenantName(to, tenant).replace('*', () => carried);
    if (!pattern.includes('*')) return name;
    if (best === undefined || pattern.length > best.from.length) best = { from: pattern, name };
  }
  return best?.name;
}

/** Mappings may contain `${name}` for the name of the tenant cluster. */
export function withTenantName(pattern: string, { name }: Pick<TenantCluster, 'name'>): string {
  return pattern.replaceAll(/\$\{name\}/g, () => name);
}

/** Text that `*` of the pattern matches; empty for a pattern without `*`. Undefined: no match. */
function carriedText(namespace: string, pattern: string): string | undefined {
  const star = pattern.indexOf('*');
  if (star < 0) return namespace === pattern ? '' : undefined;
  const [start, end] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const fits = namespace.startsWith(start) && namespace.endsWith(end);
  if (!fits || namespace.length < start.length + end.length) return undefined;
  return namespace.slice(start.length, namespace.length - end.length);
}

/** `<name>.<namespace>.svc[.<domain>]` of a Service; any other text is returned as it is. */
export function translateServiceDns(text: string, tenant: TenantCluster): string {
  const match = /^([^.]+)\.([^.]+)\.svc(\..+)?$/.exec(text);
  if (match === null) return text;
  const [, name = '', namespace = '', domain = ''] = match;
  const host = translateName({ name, namespace }, tenant, 'concat');
  return `${host.name}.${host.namespace}.svc${domain}`;
}
