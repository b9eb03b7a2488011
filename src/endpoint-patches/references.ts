/**
 * A value that refers to another object: its name, and its namespace where one is given, become
 * those on the control-plane cluster. The way back needs to know which object had that name.
 */
import { type JsonValue, valueAt } from '../apimachinery/index.ts';
import { matchPath } from './paths/match.ts';
import { parsePath } from './paths/parse.ts';
import type { Path, Place } from './paths/path.ts';
import { writePlaces } from './paths/write.ts';
import type { ReferenceRule } from './settings.ts';
import type { TenantCluster } from './tenant.ts';
import type { NameForm, ObjectType } from './translate.ts';
import { type ObjectName, translateName } from './translate.ts';

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

export interface CompiledReference {
  readonly rule: ReferenceRule;
  readonly name: Path | undefined;
  readonly namespace: Path | undefined;
  readonly kind: Path | undefined;
  readonly apiVersion: Path | undefined;
}

export interface ReferenceContext {
  readonly tenant: TenantCluster;
  /** Namespace of references that name none: that of the object itself. */
  readonly namespace: string;
  /** Tenant objects that may be referred to, for the way back. */
  readonly known: readonly KnownObject[];
}

/** An object of the tenant that is synced. */
export interface KnownObject extends ObjectName {
  readonly kind: string;
}

export interface Rewritten {
  readonly value: JsonValue;
  /** Set when the value was left alone: why. */
  readonly skipped?: string;
}

export function compileReference(rule: ReferenceRule): CompiledReference {
  const path = (text: string | undefined): Path | undefined =>
    text === undefined ? undefined : parsePath(text);
  return {
    rule,
    name: path(rule.namePath),
    namespace: path(rule.namespacePath),
    kind: path(rule.kindPath),
    apiVersion: path(rule.apiVersionPath),
  };
}

interface Found {
  readonly name: string;
  readonly namePlace: Place;
  readonly namespace: string;
  readonly namespacePlace: Place | undefined;
  readonly apiVersion: string;
  readonly kind: string;
}

/** `value` is changed and returned. */
export function referenceToHost(
  value: JsonValue,
  reference: CompiledReference,
  context: ReferenceContext,
): Rewritten {
  const found = find(value, reference, context.namespace);
  if (typeof found === 'string') return { value, skipped: found };
  const form = nameForm(found, context.tenant);
  return { value: replace(value, found, translateName(found, context.tenant, form)) };
}

/** Name format of references to an object of this type. */
function nameForm({ apiVersion, kind }: ObjectType, tenant: TenantCluster): NameForm {
  const slash = apiVersion.indexOf('/');
  const type = `${slash < 0 ? '' : apiVersion.slice(0, slash)}/${kind}`;
  if (SYNCED_KINDS.has(type)) return 'concat';
  if (tenant.referenceNames === 'short') return 'short';
  if (CLUSTER_KINDS.has(type)) return 'cluster';
  return CONCAT_KINDS.has(type) ? 'concat' : 'short';
}

/** The way back, for objects that are known; other references are left alone. */
export function referenceToTenant(
  value: JsonValue,
  reference: CompiledReference,
  context: ReferenceContext,
): Rewritten {
  const found = find(value, reference, context.tenant.namespace);
  if (typeof found === 'string') return { value, skipped: found };
  const form = nameForm(found, context.tenant);
  const original = context.known.find((object) => {
    const host = translateName(object, context.tenant, form);
    const sameKind = object.kind === found.kind;
    return sameKind && host.name === found.name && host.namespace === found.namespace;
  });
  if (original === undefined) {
    return { value, skipped: `no synced ${found.kind} is called ${JSON.stringify(found.name)}` };
  }
  return { value: replace(value, found, original) };
}

function find(value: JsonValue, reference: CompiledReference, namespace: string): Found | string {
  const namePlace = reference.name === undefined ? [] : placeOf(value, reference.name);
  if (namePlace === undefined) return 'there is nothing at namePath';
  const name = valueAt(value, namePlace);
  if (typeof name !== 'string' || name === '') return 'there is no name';
  const namespacePlace = placeOf(value, reference.namespace);
  const given = namespacePlace === undefined ? undefined : valueAt(value, namespacePlace);
  const hasNamespace = typeof given === 'string' && given !== '';
  return {
    name,
    namePlace,
    namespace: hasNamespace ? given : namespace,
    namespacePlace: hasNamespace ? namespacePlace : undefined,
    apiVersion: textAt(value, reference.apiVersion) ?? reference.rule.apiVersion,
    kind: textAt(value, reference.kind) ?? reference.rule.kind,
  };
}

function placeOf(value: JsonValue, path: Path | undefined): Place | undefined {
  return path === undefined ? undefined : matchPath(value, path).places[0];
}

function textAt(value: JsonValue, path: Path | undefined): string | undefined {
  const place = placeOf(value, path);
  const text = place === undefined ? undefined : valueAt(value, place);
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function replace(value: JsonValue, found: Found, { name, namespace }: ObjectName): JsonValue {
  if (found.namePlace.length === 0) return name;
  writePlaces(value, [{ place: found.namePlace, value: name }]);
  if (found.namespacePlace !== undefined) {
    writePlaces(value, [{ place: found.namespacePlace, value: namespace }]);
  }
  return value;
}
