/**
 * Permits, of which scopes consist. A permit describes requests part by part, so that "is this request
 * allowed" and "is that permit covered by this one" are the same comparison of parts. A scope is a union
 * of permits; there are no denials.
 *
 * Only the wildcards that are documented here exist. A `*` anywhere else is a name that nothing has.
 */
import type { Attributes, PathAttributes, ResourceAttributes } from '../../apimachinery/index.ts';
import { anyResourceCovers, pathCovers } from '../rbac/policy-rules.ts';

/** API roots of the platform. The daemon itself is `Management`; endpoints of clusters are the others. */
export const TARGET_KINDS = [
  'Management',
  'Cluster',
  'ProjectSpace',
  'ProjectVirtualCluster',
] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

const TARGET_PARTS = ['cluster', 'project', 'space', 'virtualCluster', 'namespace'] as const;
type TargetPart = (typeof TARGET_PARTS)[number];

/**
 * Target of a request, or a pattern in which an absent part matches any. A set matches each of its names, and is
 * never written out: two lists of names would be as many targets as their product.
 */
export interface Target {
  readonly kind: TargetKind;
  readonly parts: Readonly<Partial<Record<TargetPart, string | ReadonlySet<string>>>>;
}

export const MANAGEMENT: Target = { kind: 'Management', parts: {} };

export type Some<T> = 'all' | T;
type Names = Some<ReadonlySet<string>>;

/**
 * Verbs that bypass a guard against escalation. `all` verbs exclude these: a key may use them only if its
 * scope names them.
 */
export const ESCALATION_VERBS: readonly string[] = ['bind', 'escalate', 'impersonate', 'makeowner'];

export interface GroupResource {
  readonly group: string;
  /** As in roles: `teams`, `teams/status`, `teams/*` (its subresources), or a star for either side
   * of the slash or for everything. */
  readonly resource: string;
}

export type NamespacePattern =
  | { readonly kind: 'exact'; readonly namespace: string }
  /** Objects without a namespace; not the same as every namespace. */
  | { readonly kind: 'none' }
  | { readonly kind: 'project'; readonly project: string }
  | { readonly kind: 'every-project' };

export interface ResourcePermit {
  readonly on: 'resources';
  readonly targets: readonly Target[];
  readonly verbs: Names;
  readonly resources: Some<readonly GroupResource[]>;
  readonly names: Names;
  readonly namespaces: Some<readonly NamespacePattern[]>;
}

export interface PathPermit {
  readonly on: 'paths';
  readonly targets: readonly Target[];
  /** Lower-case HTTP methods. */
  readonly verbs: Names;
  readonly paths: readonly string[];
}

export type Permit = ResourcePermit | PathPermit;

/** Facts about the platform that permits are evaluated with. */
export interface PermitContext {
  /** Name of the management API group. */
  readonly group: string;
  /** Prefix of the namespaces of projects; read at every use, so it should be cheap. */
  projectPrefix(): string;
  /** True if objects of the resource have namespaces; false for unknown resources. */
  isNamespaced(group: string, resource: string): boolean;
}

export function permitAllows(
  permit: Permit,
  request: { readonly target: Target; readonly attributes: Attributes },
  context: PermitContext,
): boolean {
  const { target, attributes } = request;
  if (!permit.targets.some((pattern) => targetCovers(pattern, target))) return false;
  if ('path' in attributes) return permit.on === 'paths' && allowsPath(permit, attributes);
  return permit.on === 'resources' && allowsResource(permit, attributes, context);
}

function allowsPath({ verbs, paths }: PathPermit, attributes: PathAttributes): boolean {
  return includes(verbs, attributes.verb) && paths.some((it) => pathCovers(it, attributes.path));
}

function allowsResource(
  permit: ResourcePermit,
  attributes: ResourceAttributes,
  context: PermitContext,
): boolean {
  const { verb, group, resource, subresource = '', name } = attributes;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    allowsVerb(permit.verbs, verb) &&
    resourcesCover(permit.resources, { group, resource: whole }) &&
    includes(permit.names, name) &&
    namespaceAllowed(permit.namespaces, attributes, context)
  );
}

/** The verb `*` asks for every verb, which only keys without a scope have. */
function allowsVerb(verbs: Names, verb: string): boolean {
  if (verbs !== 'all') return verbs.has(verb);
  return verb !== '*' && !ESCALATION_VERBS.includes(verb);
}

function includes(names: Names, name: string): boolean {
  return names === 'all' || names.has(name);
}

function resourcesCover(some: ResourcePermit['resources'], wanted: GroupResource): boolean {
  if (some === 'all') return true;
  return some.some(
    ({ group, resource }) =>
      group === wanted.group && anyResourceCovers([resource], wanted.resource),
  );
}

/**
 * A request without a namespace is for a cluster-scoped kind, or for all namespaces at once: a permit for
 * no namespace does not permit the latter.
 */
export function namespaceAllowed(
  some: ResourcePermit['namespaces'],
  { group, resource, namespace }: Pick<ResourceAttributes, 'group' | 'resource' | 'namespace'>,
  context: PermitContext,
): boolean {
  if (some === 'all') return true;
  if (namespace !== '') return some.some((it) => namespaceMatches(it, namespace, context));
  return some.some(({ kind }) => kind === 'none') && !context.isNamespaced(group, resource);
}

/** Matches the name of one namespace. */
export function namespaceMatches(
  pattern: NamespacePattern,
  namespace: string,
  context: PermitContext,
): boolean {
  switch (pattern.kind) {
    case 'exact':
      return pattern.namespace === namespace;
    case 'none':
      return false;
    case 'project':
      return namespace === context.projectPrefix() + pattern.project;
    case 'every-project': {
      const prefix = context.projectPrefix();
      return namespace.startsWith(prefix) && namespace.length > prefix.length;
    }
  }
}

export function targetCovers(pattern: Target, wanted: Target): boolean {
  if (pattern.kind !== wanted.kind) return false;
  return TARGET_PARTS.every((part) => {
    const value = pattern.parts[part];
    return value === undefined || partCovers(value, wanted.parts[part]);
  });
}

function partCovers(
  outer: string | ReadonlySet<string>,
  inner: string | ReadonlySet<string> | undefined,
): boolean {
  if (inner === undefined) return false;
  if (typeof inner !== 'string') return [...inner].every((name) => partCovers(outer, name));
  return typeof outer === 'string' ? outer === inner : outer.has(inner);
}

/**
 * True if `outer` permits everything that `inner` permits. False if that depends on more than the permits
 * themselves, such as the current namespace of a project.
 */
export function permitCovers(outer: Permit, inner: Permit): boolean {
  return (
    inner.targets.every((wanted) => outer.targets.some((it) => targetCovers(it, wanted))) &&
    verbsCover(outer.verbs, inner.verbs) &&
    (outer.on === 'resources'
      ? inner.on === 'resources' && coversResources(outer, inner)
      : inner.on === 'paths' &&
        inner.paths.every((path) => outer.paths.some((it) => pathCovers(it, path))))
  );
}

function coversResources(outer: ResourcePermit, inner: ResourcePermit): boolean {
  return (
    (inner.resources === 'all'
      ? outer.resources === 'all'
      : inner.resources.every((wanted) => resourcesCover(outer.resources, wanted))) &&
    namesCover(outer.names, inner.names) &&
    namespacesCover(outer.namespaces, inner.namespaces)
  );
}

function verbsCover(outer: Names, inner: Names): boolean {
  if (outer !== 'all' || inner === 'all') return namesCover(outer, inner);
  return ![...inner].some((verb) => ESCALATION_VERBS.includes(verb));
}

function namesCover(outer: Names, inner: Names): boolean {
  if (outer === 'all') return true;
  return inner !== 'all' && [...inner].every((name) => outer.has(name));
}

function namespacesCover(
  outer: ResourcePermit['namespaces'],
  inner: ResourcePermit['namespaces'],
): boolean {
  if (outer === 'all') return true;
  if (inner === 'all') return false;
  return inner.every((wanted) => outer.some((it) => namespaceCovers(it, wanted)));
}

function namespaceCovers(outer: NamespacePattern, inner: NamespacePattern): boolean {
  if (outer.kind === 'every-project') {
    return inner.kind === 'project' || inner.kind === 'every-project';
  }
  if (outer.kind === 'project') return inner.kind === 'project' && inner.project === outer.project;
  if (outer.kind === 'exact') return inner.kind === 'exact' && inner.namespace === outer.namespace;
  return inner.kind === 'none';
}
