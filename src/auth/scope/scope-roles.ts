/**
 * Predefined sets of permissions that `spec.scope.roles` names (spec section 2.5). Like the rest of a
 * scope, they narrow and never grant. Each has two tables, one for the platform and one for served
 * clusters; kinds that this version does not serve are in the first.
 *
 * As in the original product, the first of several entries with one role counts; `agent` and
 * `virtual-cluster` imply `network-peer`, without limits unless an own entry sets them.
 */
import { isRecord } from '../../apimachinery/index.ts';
import { texts } from '../fields.ts';
import {
  type GroupResource,
  MANAGEMENT,
  type NamespacePattern,
  type PathPermit,
  type Permit,
  type ResourcePermit,
  type Target,
  type TargetKind,
} from './permits.ts';

/** A role in a scope; an empty list does not limit it. */
export interface ScopeRole {
  readonly role: string;
  readonly projects: readonly string[];
  readonly virtualClusters: readonly string[];
}

const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  agent: ['network-peer'],
  'virtual-cluster': ['network-peer'],
};

const READ = ['get', 'list', 'watch'];
const REPORT = ['get', 'update', 'patch'];

/** Kinds whose objects are in the namespace of a project. */
const IN_PROJECTS = [
  'projectsecrets',
  'spaceinstances',
  'virtualclusterinstances',
  'workspaceinstances',
];
const VIRTUAL_CLUSTERS = 'virtualclusterinstances';
const PROJECTS = 'projects';

interface RoleRule {
  readonly verbs: readonly string[];
  /** Absent: the management group. */
  readonly group?: string;
  readonly resources: readonly string[];
}

const PERMISSIONS: Readonly<Record<string, readonly RoleRule[]>> = {
  'platform-cli': [
    {
      verbs: READ,
      resources: [
        'users',
        'teams',
        'clusters',
        'projects',
        'spaceinstances',
        'virtualclusterinstances',
      ],
    },
  ],
  agent: [
    {
      verbs: READ,
      resources: [
        'users',
        'teams',
        'clusters',
        'projects',
        'sharedsecrets',
        'projectsecrets',
        'spaceinstances',
        'virtualclusterinstances',
      ],
    },
    {
      verbs: REPORT,
      resources: ['clusters/status', 'spaceinstances/status', 'virtualclusterinstances/status'],
    },
    { verbs: ['create'], group: 'authentication.k8s.io', resources: ['tokenreviews'] },
    { verbs: ['create'], group: 'authorization.k8s.io', resources: ['subjectaccessreviews'] },
  ],
  'virtual-cluster': [
    { verbs: READ, resources: ['projects', 'projectsecrets', 'virtualclusterinstances'] },
    { verbs: REPORT, resources: ['virtualclusterinstances/status'] },
  ],
  'network-peer': [
    { verbs: [...READ, 'create', 'update', 'patch', 'delete'], resources: ['networkpeers'] },
  ],
  workspace: [
    { verbs: READ, resources: ['projects', 'workspaceinstances'] },
    { verbs: REPORT, resources: ['workspaceinstances/status'] },
  ],
};

/** Permissions of an agent inside clusters. Only the owner of a cluster creates and removes namespaces. */
const IN_CLUSTERS: readonly RoleRule[] = [
  { verbs: READ, resources: ['namespaces', 'services', 'endpoints', 'secrets', 'events'] },
  {
    verbs: ['create', 'update', 'patch', 'delete'],
    resources: ['services', 'endpoints', 'secrets'],
  },
  { verbs: ['create', 'update', 'patch'], resources: ['events'] },
];

/** Clusters that a role applies to: those of tenants, and control planes. */
const CLUSTERS_OF: Readonly<Record<string, readonly TargetKind[]>> = {
  agent: ['ProjectVirtualCluster', 'Cluster'],
  'virtual-cluster': ['ProjectVirtualCluster'],
};

/** Paths that roles permit, unless the entry is limited. `metrics-writer` permits none here. */
const PATHS: Readonly<Record<string, readonly string[]>> = {
  // The agent reads there if the platform accepts its audit events.
  agent: ['/platform/settings'],
  'metrics-reader': ['/metrics'],
};

/** Roles of a scope, with implied ones, at most one per name. */
export function rolesOf(scope: Readonly<Record<string, unknown>>): ScopeRole[] {
  const entries: unknown[] = Array.isArray(scope['roles']) ? scope['roles'] : [];
  const written: ScopeRole[] = entries.filter(isRecord).map((entry) => ({
    role: String(entry['role']),
    projects: texts(entry['projects']),
    virtualClusters: texts(entry['virtualClusters']),
  }));
  if (scope['allowPlatformCli'] === true) written.push(unlimited('platform-cli'));
  const implied = written.flatMap(({ role }) => own(IMPLIED, role) ?? []).map(unlimited);
  const first = new Map<string, ScopeRole>();
  for (const entry of [...written, ...implied]) {
    if (!first.has(entry.role)) first.set(entry.role, entry);
  }
  return [...first.values()];
}

function unlimited(role: string): ScopeRole {
  return { role, projects: [], virtualClusters: [] };
}

export function rolePermits(entry: ScopeRole, managementGroup: string): Permit[] {
  const rules = own(PERMISSIONS, entry.role) ?? [];
  const permits: Permit[] = rules.flatMap(({ verbs, group = managementGroup, resources }) =>
    resources.flatMap((resource) => resourcePermit(entry, verbs, { group, resource })),
  );
  permits.push(...clusterPermits(entry));
  const limited = entry.projects.length > 0 || entry.virtualClusters.length > 0;
  const paths = limited ? [] : (own(PATHS, entry.role) ?? []);
  return paths.length === 0 ? permits : [...permits, pathPermit(paths)];
}

/**
 * A limit to projects leaves the projects themselves and the objects in their namespaces; a limit to
 * virtual clusters leaves only these. Kinds that a limit cannot apply to are removed.
 */
function resourcePermit(
  { projects, virtualClusters }: ScopeRole,
  verbs: readonly string[],
  on: GroupResource,
): ResourcePermit[] {
  const [resource = ''] = on.resource.split('/');
  const inProject = IN_PROJECTS.includes(resource);
  if (virtualClusters.length > 0 && resource !== VIRTUAL_CLUSTERS) return [];
  if (projects.length > 0 && !inProject && resource !== PROJECTS) return [];
  const named = resource === VIRTUAL_CLUSTERS ? virtualClusters : [];
  const names = resource === PROJECTS ? projects : named;
  const permit: ResourcePermit = {
    on: 'resources',
    targets: [MANAGEMENT],
    verbs: new Set(verbs),
    resources: [on],
    names: names.length === 0 ? 'all' : new Set(names),
    namespaces: inProject && projects.length > 0 ? projects.map(inNamespaceOf) : 'all',
  };
  return [permit];
}

/** A limit names tenant clusters, so it removes control planes. */
function clusterPermits({ role, projects, virtualClusters }: ScopeRole): ResourcePermit[] {
  const parts: Target['parts'] = {
    ...(projects.length === 0 ? {} : { project: new Set(projects) }),
    ...(virtualClusters.length === 0 ? {} : { virtualCluster: new Set(virtualClusters) }),
  };
  const isLimited = projects.length > 0 || virtualClusters.length > 0;
  const kinds = own(CLUSTERS_OF, role) ?? [];
  const targets = kinds
    .filter((kind) => kind === 'ProjectVirtualCluster' || !isLimited)
    .map((kind): Target => ({ kind, parts }));
  if (targets.length === 0) return [];
  return IN_CLUSTERS.map(({ verbs, resources }) => ({
    on: 'resources',
    targets,
    verbs: new Set(verbs),
    resources: resources.map((resource) => ({ group: '', resource })),
    names: 'all',
    namespaces: 'all',
  }));
}

function inNamespaceOf(project: string): NamespacePattern {
  return { kind: 'project', project };
}

function pathPermit(paths: readonly string[]): PathPermit {
  return { on: 'paths', targets: [MANAGEMENT], verbs: new Set(['get']), paths };
}

/** Only own entries count, not names that every object has, such as `constructor`. */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** True if a role is within another of the same name. */
export function roleCovers(outer: ScopeRole, inner: ScopeRole): boolean {
  return (
    outer.role === inner.role &&
    limitCovers(outer.projects, inner.projects) &&
    limitCovers(outer.virtualClusters, inner.virtualClusters)
  );
}

function limitCovers(outer: readonly string[], inner: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const allowed = new Set(outer);
  return inner.length > 0 && inner.every((name) => allowed.has(name));
}
