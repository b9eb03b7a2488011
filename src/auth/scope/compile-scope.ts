/**
 * Compiles a scope (spec section 2.5) to permits. A scope is the union of its lists. A part that violates
 * the schema permits nothing.
 */
import { isRecord, type JsonObject } from '../../apimachinery/index.ts';
import { text, texts } from '../fields.ts';
import {
  type GroupResource,
  MANAGEMENT,
  type NamespacePattern,
  type Permit,
  type PermitContext,
  type ResourcePermit,
  type Some,
  TARGET_KINDS,
  type Target,
  type TargetKind,
} from './permits.ts';
import { rolePermits, type ScopeRole } from './scope-roles.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Wildcard for names of projects, spaces and clusters, as the specification defines. */
const ALL = '*';

export function compilePermits(
  scope: JsonObject,
  roles: readonly ScopeRole[],
  { group }: Pick<PermitContext, 'group'>,
): Permit[] {
  return [
    ...roles.flatMap((role) => rolePermits(role, group)),
    ...entries(scope['projects']).flatMap((entry) => projectPermits(entry, group)),
    ...entries(scope['spaces']).flatMap((entry) => spacePermits(entry, group)),
    ...entries(scope['virtualClusters']).flatMap((entry) => virtualClusterPermits(entry, group)),
    ...entries(scope['clusters']).flatMap((entry) => clusterPermits(entry, group)),
    ...entries(scope['rules']).flatMap(rulePermits),
  ];
}

/** Elements of a list that can be entries of a scope. */
export function entries(value: unknown): Entry[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** A project to read, and everything in it: its namespace, spaces and virtual clusters. */
function projectPermits({ project }: Entry, group: string): Permit[] {
  const name = text(project);
  if (name === undefined) return [];
  const parts = name === ALL ? {} : { project: name };
  const inside: NamespacePattern =
    name === ALL ? { kind: 'every-project' } : { kind: 'project', project: name };
  return [
    { ...everything, targets: [MANAGEMENT], namespaces: [inside] },
    ...visible({ group, resource: 'projects' }, name),
    ...everythingAt({ kind: 'ProjectSpace', parts }),
    ...everythingAt({ kind: 'ProjectVirtualCluster', parts }),
  ];
}

/** A space as an object of the platform, and everything at its own endpoint. */
function spacePermits({ project, space }: Entry, group: string): Permit[] {
  const [where, name] = [text(project), text(space)];
  if (where === undefined || name === undefined) return [];
  const parts = { project: where, ...(name === ALL ? {} : { space: name }) };
  return [
    objectIn(where, { group, resource: 'spaceinstances' }, name),
    ...everythingAt({ kind: 'ProjectSpace', parts }),
  ];
}

function virtualClusterPermits({ project, virtualCluster }: Entry, group: string): Permit[] {
  const [where, name] = [text(project), text(virtualCluster)];
  if (where === undefined || name === undefined) return [];
  const parts = { project: where, ...(name === ALL ? {} : { virtualCluster: name }) };
  return [
    objectIn(where, { group, resource: 'virtualclusterinstances' }, name),
    ...everythingAt({ kind: 'ProjectVirtualCluster', parts }),
  ];
}

/** Everything at the endpoint of a cluster, and its object to read. */
function clusterPermits({ cluster }: Entry, group: string): Permit[] {
  const name = text(cluster);
  if (name === undefined) return [];
  const parts = name === ALL ? {} : { cluster: name };
  return [
    ...visible({ group, resource: 'clusters' }, name),
    ...everythingAt({ kind: 'Cluster', parts }),
  ];
}

const everything: Omit<ResourcePermit, 'targets'> = {
  on: 'resources',
  verbs: 'all',
  resources: 'all',
  names: 'all',
  namespaces: 'all',
};

function everythingAt(target: Target): Permit[] {
  return [
    { ...everything, targets: [target] },
    { on: 'paths', targets: [target], verbs: 'all', paths: [ALL] },
  ];
}

function withSubresources({ group, resource }: GroupResource): GroupResource[] {
  return [
    { group, resource },
    { group, resource: `${resource}/*` },
  ];
}

/** Read access to an object without a namespace; `*` for all of its kind. */
function visible(on: GroupResource, name: string): ResourcePermit[] {
  const permit: ResourcePermit = {
    on: 'resources',
    targets: [MANAGEMENT],
    verbs: new Set(['get', 'list', 'watch']),
    resources: withSubresources(on),
    names: name === ALL ? 'all' : new Set([name]),
    namespaces: [{ kind: 'none' }],
  };
  return [permit];
}

/** Full access to an object in the namespace of a project; `*` for all of its kind there. */
function objectIn(project: string, on: GroupResource, name: string): ResourcePermit {
  return {
    ...everything,
    targets: [MANAGEMENT],
    resources: withSubresources(on),
    names: name === ALL ? 'all' : new Set([name]),
    namespaces: [{ kind: 'project', project }],
  };
}

/**
 * Deprecated rules match like rules of the audit policy: an empty list means any. A rule that names
 * resources or namespaces is only for these, one that names URLs only for those.
 */
function rulePermits(rule: Entry): Permit[] {
  const targets = ruleTargets(rule);
  const verbs = named(texts(rule['verbs']));
  const urls = texts(rule['nonResourceURLs']);
  const [resources, namespaces] = [entries(rule['resources']), texts(rule['namespaces'])];
  const names = texts(rule['resourceNames']);
  const forResources = resources.length + namespaces.length + names.length > 0;
  const permits: Permit[] = [];
  if (forResources || urls.length === 0) {
    permits.push({
      on: 'resources',
      targets,
      verbs,
      resources: resources.length === 0 ? 'all' : resources.flatMap(groupResources),
      names: named(names),
      namespaces: namespaces.length === 0 ? 'all' : namespaces.flatMap(namespacePattern),
    });
  }
  if (!forResources) permits.push({ on: 'paths', targets, verbs, paths: pathsOf(urls) });
  return permits;
}

/** `*` is not a wildcard for verbs and names: a list of nothing else matches nothing. */
function named(list: readonly string[]): Some<ReadonlySet<string>> {
  return list.length === 0 ? 'all' : new Set(list.filter((name) => name !== ALL));
}

function groupResources({ group = '', resources }: Entry): GroupResource[] {
  if (typeof group !== 'string' || group === ALL) return [];
  const list = texts(resources);
  return (list.length === 0 ? [ALL] : list).map((resource) => ({ group, resource }));
}

function namespacePattern(namespace: string): NamespacePattern[] {
  if (namespace === ALL) return [];
  return [namespace === '' ? { kind: 'none' } : { kind: 'exact', namespace }];
}

/** A star counts only as the whole last segment. */
export function pathsOf(urls: readonly string[]): string[] {
  if (urls.length === 0) return [ALL];
  return urls.filter((url) => url === ALL || !/\*./.test(url)).filter(endsInWholeStep);
}

function endsInWholeStep(url: string): boolean {
  return url === ALL || !url.endsWith(ALL) || url.endsWith('/*');
}

/** `cluster` and `virtualClusters` are for requests to these, whatever `requestTargets` says. */
function ruleTargets(rule: Entry): Target[] {
  const wanted = texts(rule['requestTargets']);
  const kinds = TARGET_KINDS.filter((kind) => wanted.length === 0 || wanted.includes(kind));
  const cluster = text(rule['cluster']);
  const virtualClusters = entries(rule['virtualClusters']);
  if (cluster !== undefined && virtualClusters.length > 0) return [];
  if (cluster !== undefined) return only(kinds, { kind: 'Cluster', parts: { cluster } });
  if (virtualClusters.length === 0) return kinds.map((kind) => ({ kind, parts: {} }));
  return virtualClusters.flatMap((entry) => {
    const [name, namespace] = [text(entry['name']), text(entry['namespace'])];
    const parts = {
      ...(name === undefined ? {} : { virtualCluster: name }),
      ...(namespace === undefined ? {} : { namespace }),
    };
    return only(kinds, { kind: 'ProjectVirtualCluster', parts });
  });
}

function only(kinds: readonly TargetKind[], target: Target): Target[] {
  return kinds.includes(target.kind) ? [target] : [];
}
