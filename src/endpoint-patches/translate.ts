/** Which name and namespace an object of the tenant has on the control-plane cluster. */
import { clusterScopedHostName, hostName, legacyNamespace, shortHostName } from './names.ts';
import type { TenantCluster } from './tenant.ts';

export interface ObjectName {
  readonly name: string;
  readonly namespace: string;
}

export type NameForm = 'concat' | 'short' | 'cluster';

export interface ObjectType {
  readonly apiVersion: string;
  readonly kind: string;
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
