/**
 * The built-in translation from a tenant cluster to the control-plane cluster, before patches:
 * selection, names, metadata, and the references of Endpoints. Pure.
 */
import {
  cloneJson,
  isRecord,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  valueAt,
} from '../apimachinery/index.ts';
import {
  hasPlace,
  labelsToHost,
  type TenantCluster,
  translateName,
} from '../endpoint-patches/index.ts';
import { toKubeObject } from './kube-json.ts';
import { LEADER, MANAGED_ANNOTATIONS, type SourceName, sourceOf } from './managed-annotations.ts';

/** Reason why an object is not synced. */
export interface NotSynced {
  readonly reason: 'ApiServer' | 'NoService' | 'NotMapped' | 'ServiceHasSelector' | 'Terminating';
  readonly message: string;
}

const NOT_SYNCED: Readonly<Record<NotSynced['reason'], string>> = {
  ApiServer: 'the Service of the API server itself and its Endpoints are never synced',
  NotMapped: 'its namespace has no mapping, and only those that have one are synced',
  NoService: 'there is no Service of the same name',
  ServiceHasSelector: 'the Service has a selector, so Kubernetes makes its Endpoints itself',
  Terminating: 'it is being deleted',
};

/** Undefined if the Endpoints of this name are synced. */
export function notSynced(
  { namespace, name }: SourceName,
  of: { readonly object: KubeObject; readonly service: KubeObject | undefined },
): NotSynced | undefined {
  const { object, service } = of;
  const reason = notSyncedService({ namespace, name }, { object });
  if (reason !== undefined) return reason;
  if (service === undefined) return because('NoService');
  const selector = valueAt(service, ['spec', 'selector']);
  const selects = isRecord(selector) && Object.keys(selector).length > 0;
  return selects ? because('ServiceHasSelector') : undefined;
}

/** Undefined if the Service of this name is synced. */
export function notSyncedService(
  { namespace, name }: SourceName,
  { object }: { readonly object: KubeObject },
): NotSynced | undefined {
  if (namespace === 'default' && name === 'kubernetes') return because('ApiServer');
  return object.metadata.deletionTimestamp === undefined ? undefined : because('Terminating');
}

/** Undefined if the control-plane cluster has a namespace for the object. */
export function notPlaced(namespace: string, tenant: TenantCluster): NotSynced | undefined {
  return hasPlace(namespace, tenant) ? undefined : because('NotMapped');
}

function because(reason: NotSynced['reason']): NotSynced {
  return { reason, message: NOT_SYNCED[reason] };
}

/** Name of the object on the control-plane cluster. */
export function targetOf(source: SourceName, tenant: TenantCluster): SourceName {
  return translateName(source, tenant, 'concat');
}

/** True if an object of the control-plane cluster is at its place in the sync of the tenant. */
export function isWanted(object: KubeObject, tenant: TenantCluster): boolean {
  const source = sourceOf(object, tenant.name);
  if (source === undefined || !hasPlace(source.namespace, tenant)) return false;
  const { name, namespace } = targetOf(source, tenant);
  return object.metadata.name === name && object.metadata.namespace === namespace;
}

/** The object for the control-plane cluster. `endpoints` is not changed. */
export function translateEndpoints(endpoints: KubeObject, tenant: TenantCluster): KubeObject {
  const { metadata: _metadata, apiVersion, kind, ...rest } = cloneJson(endpoints);
  return {
    apiVersion,
    kind,
    metadata: translateMetadata(endpoints, tenant),
    ...rest,
    ...(Array.isArray(rest['subsets'])
      ? { subsets: rest['subsets'].map((subset) => withTargets(subset, tenant)) }
      : {}),
  };
}

/** Name, labels and annotations on the control-plane cluster. */
export function translateMetadata(
  object: KubeObject,
  tenant: TenantCluster,
): KubeObject['metadata'] {
  const annotations = copiedAnnotations(object);
  return {
    ...targetOf(nameOf(object), tenant),
    labels: labelsOf(object, tenant),
    annotations: { ...annotations, ...ownAnnotations(object, tenant, annotations) },
  };
}

/** Sets the labels and annotations of the sync: a patch can neither remove nor forge them. */
export function withMarks(
  patched: JsonObject,
  object: KubeObject,
  tenant: TenantCluster,
): KubeObject {
  const made = toKubeObject(patched);
  const source = nameOf(object);
  const { labels = {}, annotations = {}, ...metadata } = made.metadata;
  return {
    ...made,
    metadata: {
      ...metadata,
      ...targetOf(source, tenant),
      labels: {
        ...labels,
        [MANAGED_ANNOTATIONS.managedBy]: tenant.name,
        [MANAGED_ANNOTATIONS.namespace]: source.namespace,
      },
      annotations: { ...annotations, ...ownAnnotations(object, tenant, annotations) },
    },
  };
}

function nameOf({ metadata }: KubeObject): SourceName {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
}

function labelsOf(object: KubeObject, tenant: TenantCluster): Record<string, string> {
  const { labels = {}, namespace = '' } = object.metadata;
  const owner = { tenant: tenant.name, namespace };
  return (labelsToHost(labels, owner) ?? {}) as Record<string, string>;
}

/** Annotations of another sync, which made the object in the tenant cluster, are left out. */
function copiedAnnotations({ metadata }: KubeObject): Record<string, string> {
  const kept = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key !== LEADER && !isMark(key),
  );
  return Object.fromEntries(kept);
}

function isMark(key: string): boolean {
  const marks: readonly string[] = Object.values(MANAGED_ANNOTATIONS);
  return marks.includes(key);
}

function ownAnnotations(
  object: KubeObject,
  tenant: TenantCluster,
  written: Readonly<Record<string, string>>,
): Record<string, string> {
  const { namespace, name } = nameOf(object);
  const managed = Object.keys(written).filter((key) => !isMark(key));
  const target = targetOf({ namespace, name }, tenant);
  return {
    [MANAGED_ANNOTATIONS.objectName]: name,
    [MANAGED_ANNOTATIONS.objectNamespace]: namespace,
    [MANAGED_ANNOTATIONS.objectUid]: object.metadata.uid ?? '',
    [MANAGED_ANNOTATIONS.objectKind]: `/v1, Kind=${object.kind}`,
    [MANAGED_ANNOTATIONS.hostName]: target.name,
    [MANAGED_ANNOTATIONS.hostNamespace]: target.namespace,
    [MANAGED_ANNOTATIONS.managedAnnotations]: managed.sort().join('\n'),
  };
}

/** Pods have other names on the control-plane cluster; their identity there is not known. */
function withTargets(subset: JsonValue, tenant: TenantCluster): JsonValue {
  if (!isRecord(subset)) return subset;
  const changed = { ...subset };
  for (const field of ['addresses', 'notReadyAddresses']) {
    const list = subset[field];
    if (Array.isArray(list)) changed[field] = list.map((item) => withTarget(item, tenant));
  }
  return changed;
}

function withTarget(address: JsonValue, tenant: TenantCluster): JsonValue {
  const target = valueAt(address, ['targetRef']);
  if (!isRecord(address) || !isRecord(target) || target['kind'] !== 'Pod') return address;
  const { uid: _uid, resourceVersion: _version, ...kept } = target;
  const [name, namespace] = [target['name'], target['namespace']];
  if (typeof name !== 'string' || typeof namespace !== 'string') return address;
  return { ...address, targetRef: { ...kept, ...targetOf({ namespace, name }, tenant) } };
}
