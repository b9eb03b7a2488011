/**
 * What scopes consist of: permits. Each says which requests it lets through, part by part, so that
 * "is this request allowed" and "is that permit within this one" are the same comparison of parts.
 * A scope is a union of permits; there are no denials.
 *
 * No part has a wildcard but those written here. A `*` anywhere else is a name that nothing has.
 */
import type { Attributes, PathAttributes, ResourceAttributes } from '../apimachinery/index.ts';
import { anyResourceCovers, pathCovers } from './policy-rules.ts';

/** The doors of the platform. This daemon is `Management`; endpoints of clusters are the others. */
export const TARGET_KINDS = [
  'Management',
  'Cluster',
  'ProjectSpace',
  'ProjectVirtualCluster',
] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

type TargetPart = 'cluster' | 'project' | 'space' | 'virtualCluster' | 'namespace';

/** Where a request goes, or as a pattern: a part that is absent stands for any. */
export interface Target {
  readonly kind: TargetKind;
  readonly parts: Readonly<Partial<Record<TargetPart, string>>>;
}

export const MANAGEMENT: Target = { kind: 'Management', parts: {} };

export type Some<T> = 'all' | T;
type Names = Some<ReadonlySet<string>>;

/**
 * Verbs that lift a guard against escalation. `all` verbs are all but these: a key may use them
 * only where its scope names them.
 */
export const LIFTING_VERBS: readonly string[] = ['bind', 'escalate', 'impersonate', 'makeowner'];

export interface GroupResource {
  readonly group: string;
  /** As in roles: `teams`, `teams/status`, `teams/*` (its subresources), or a star for either side
   * of the slash or for everything. */
  readonly resource: string;
}

export type NamespacePattern =
  | { readonly kind: 'exact'; readonly namespace: string }
  /** What is in no namespace; not the same as every namespace. */
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
  /** Methods in lower case. */
  readonly verbs: Names;
  readonly paths: readonly string[];
}

export type Permit = ResourcePermit | PathPermit;

/** What a permit must be told about the platform to judge a request. */
export interface PermitContext {
  /** Name of the management API group. */
  readonly group: string;
  /** What the namespaces of projects begin with; asked at every use, so it should be cheap. */
  projectPrefix(): string;
  /** Whether objects of the resource live in namespaces; false for resources nobody knows. */
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

/** The verb `*` asks for every verb there is, which only unscoped keys have. */
function allowsVerb(verbs: Names, verb: string): boolean {
  if (verbs !== 'all') return verbs.has(verb);
  return verb !== '*' && !LIFTING_VERBS.includes(verb);
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
 * A request without a namespace is for a kind that has none, or for all namespaces at once: what
 * is permitted outside of namespaces does not permit the second.
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

/** `namespace` is the name of one. */
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
  return Object.entries(pattern.parts).every(
    ([part, value]) => wanted.parts[part as TargetPart] === value,
  );
}

/**
 * Whether everything that `inner` lets through `outer` does too. Refuses where it would have to
 * know more than the permits say, such as which namespace a project has today.
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
  return ![...inner].some((verb) => LIFTING_VERBS.includes(verb));
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
