/**
 * Who may do what with which key: kinds x verbs x subjects x scopes. The table is three short lists
 * of words; the expected verdict of every row comes from an oracle that reads the same words, one
 * field after the other, and shares no code with what it judges.
 */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import type { Attributes, User } from '../../src/apimachinery/request.ts';
import { RbacAuthorizer } from '../../src/auth/rbac/authorizer.ts';
import { forbiddenMessage } from '../../src/auth/rbac/forbidden.ts';
import { ScopedAuthorizer } from '../../src/auth/rbac/scoped-authorizer.ts';
import { Scope } from '../../src/auth/scope/scope.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { binding, clusterBinding, clusterRole, GROUP } from './builders.ts';

const kinds = buildKindTable(GROUP);

/** Every kind that is served, two subresources, and kinds that only scopes speak of. */
const RESOURCES = [
  ...kinds.kinds.map(({ group, plural, scope }) => ({
    group,
    resource: plural,
    namespaced: scope === 'Namespaced',
  })),
  { group: GROUP, resource: 'teams/status', namespaced: false },
  { group: GROUP, resource: 'sharedsecrets/scale', namespaced: true },
  { group: GROUP, resource: 'projects', namespaced: false },
  { group: GROUP, resource: 'clusters', namespaced: false },
  { group: GROUP, resource: 'networkpeers', namespaced: false },
];

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'bind',
  'escalate',
];

const PATHS = ['get /metrics', 'get /git/platform.git', 'post /git/platform.git', 'get /version'];

/** Subject → what it may do, as `verbs resources [names] [@namespace]`, or `method path`. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  nobody: [],
  admin: ['* *', '* /*'],
  reader: ['get,list,watch *', 'get /metrics'],
  owner: ['* sharedsecrets,projectsecrets,roles @p-a', 'get,bind teams x'],
  ops: ['get,update teams,teams/*', 'get,list sharedsecrets x', 'get /git/*'],
};

const SCOPES: Readonly<Record<string, JsonObject | undefined>> = {
  'no scope': undefined,
  empty: {},
  'any request': { rules: [{}] },
  'reading rule': { rules: [{ verbs: ['get', 'list'] }] },
  'teams rule': { rules: [{ resources: [{ group: GROUP, resources: ['teams'] }] }] },
  'team subresources rule': {
    rules: [{ resources: [{ group: GROUP, resources: ['teams/*'] }] }],
  },
  'scale rule': { rules: [{ resources: [{ group: GROUP, resources: ['*/scale'] }] }] },
  'group rule': { rules: [{ resources: [{ group: GROUP }] }] },
  'named rule': {
    rules: [{ resources: [{ group: GROUP, resources: ['*'] }], resourceNames: ['x'] }],
  },
  'lifting rule': {
    rules: [
      {
        verbs: ['bind', 'get'],
        resources: [{ group: GROUP, resources: ['teams'] }],
      },
    ],
  },
  'namespace rule': { rules: [{ namespaces: ['p-a'] }] },
  'outside rule': { rules: [{ namespaces: [''] }] },
  'paths rule': { rules: [{ verbs: ['get'], nonResourceURLs: ['/git/*'] }] },
  'cluster rule': { rules: [{ cluster: 'c' }, { requestTargets: ['Cluster'] }] },
  'two rules': {
    rules: [
      { verbs: ['delete'], resources: [{ group: GROUP, resources: ['teams'] }] },
      { verbs: ['get'], namespaces: ['p-b'] },
    ],
  },
  'a project': { projects: [{ project: 'a' }] },
  'all projects': { projects: [{ project: '*' }] },
  clusters: { clusters: [{ cluster: '*' }] },
  'platform-cli': { roles: [{ role: 'platform-cli' }] },
  'old platform-cli': { allowPlatformCli: true },
  agent: { roles: [{ role: 'agent' }] },
  'agent of a project': { roles: [{ role: 'agent', projects: ['a'] }] },
  'metrics-reader': { roles: [{ role: 'metrics-reader' }] },
  'metrics-writer and a project': {
    roles: [{ role: 'metrics-writer' }],
    projects: [{ project: 'a' }],
  },
};

interface Row {
  readonly verb: string;
  /** Of a path. */
  readonly path?: string;
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly namespace: string;
  readonly name: string;
}

const WITHOUT_NAME = ['list', 'watch', 'create', 'deletecollection'];
/** Requests for a whole collection that select one name with a field selector. */
const SELECTING = ['list', 'watch', 'deletecollection'];

function requests(): Row[] {
  const of = RESOURCES.flatMap((on) =>
    VERBS.flatMap((verb) => {
      const named = !WITHOUT_NAME.includes(verb);
      const names = named ? ['x', 'y'] : SELECTING.includes(verb) ? ['', 'x'] : [''];
      const all = on.namespaced && SELECTING.includes(verb) ? [''] : [];
      const namespaces = on.namespaced ? ['p-a', 'p-b', 'other', ...all] : [''];
      return namespaces.flatMap((namespace) =>
        names.map((name) => ({ ...on, verb, namespace, name })),
      );
    }),
  );
  const nowhere = { group: '', resource: '', namespaced: false, namespace: '', name: '' };
  const paths = PATHS.map((text) => {
    const [verb = '', path = ''] = text.split(' ');
    return { ...nowhere, verb, path };
  });
  return [...of, ...paths];
}

function attributesOf(row: Row): Attributes {
  const { verb, path, group, namespace, name } = row;
  if (path !== undefined) return { verb, path };
  const [resource = '', subresource = ''] = row.resource.split('/');
  return { verb, group, resource, subresource, namespace, name };
}

/** The rights of each subject as objects, for the authorizer under test. */
function platform(): ScopedAuthorizer {
  const rbac = new RbacAuthorizer();
  for (const [subject, lines] of Object.entries(SUBJECTS)) {
    for (const [index, line] of lines.entries()) {
      const { verbs, what, names, namespace } = grant(line);
      const role = `${subject}-${index}`;
      const isPath = what[0]?.startsWith('/');
      const rule = isPath
        ? { verbs, nonResourceURLs: what.map((path) => (path === '/*' ? '*' : path)) }
        : { verbs, apiGroups: ['*'], resources: what, resourceNames: names };
      rbac.setRole(clusterRole(role, [rule]));
      const ref = `ClusterRole:${role}`;
      rbac.setBinding(
        namespace === undefined
          ? clusterBinding(role, ref, `User:${subject}`)
          : binding(namespace, role, ref, `User:${subject}`),
      );
    }
  }
  return new ScopedAuthorizer(rbac);
}

function grant(line: string): {
  verbs: string[];
  what: string[];
  names: string[];
  namespace: string | undefined;
} {
  const [verbs = '', what = '', ...rest] = line.split(' ');
  return {
    verbs: verbs.split(','),
    what: what.split(','),
    names: rest.filter((word) => !word.startsWith('@')),
    namespace: rest.find((word) => word.startsWith('@'))?.slice(1),
  };
}

const oracle = { held, withinScope, forEveryone };

/** Whether the words of a subject hold the right, whatever the key. */
function held(subject: string, row: Row): boolean {
  if (forEveryone(row)) return true;
  return (SUBJECTS[subject] ?? []).some((line) => {
    const { verbs, what, names, namespace } = grant(line);
    if (!verbs.includes('*') && !verbs.includes(row.verb)) return false;
    if (row.path !== undefined) {
      const wanted = row.path;
      return what
        .filter((it) => it.startsWith('/'))
        .some((it) => it === wanted || (/\*$/.test(it) && wanted.startsWith(it.slice(0, -1))));
    }
    if (what[0]?.startsWith('/')) return false;
    const main = row.resource.replace(/\/.*/, '');
    const hit = what.includes('*') || what.includes(row.resource);
    const below = row.resource !== main && what.includes(`${main}/*`);
    if (!hit && !below) return false;
    if (names.length > 0 && !names.includes(row.name)) return false;
    return namespace === undefined || namespace === row.namespace;
  });
}

/** What anybody with a key may do. */
function forEveryone(row: Row): boolean {
  if (row.path === '/version' && row.verb === 'get') return true;
  return row.verb === 'create' && /^selfsubject/.test(row.resource);
}

// biome-ignore lint/suspicious/noExplicitAny: the oracle reads scopes as they are written
function withinScope(scope: any, row: Row): boolean {
  if (scope === undefined) return true;
  const rules = scope.rules ?? [];
  const projects = scope.projects ?? [];
  const roles = [
    ...(scope.roles ?? []),
    ...(scope.allowPlatformCli ? [{ role: 'platform-cli' }] : []),
  ];
  return (
    // biome-ignore lint/suspicious/noExplicitAny: see above
    rules.some((rule: any) => ruleFits(rule, row)) ||
    projects.some(({ project }: { project: string }) => projectFits(project, row)) ||
    (scope.clusters !== undefined && isRead(row) && row.resource === 'clusters') ||
    roles.some(({ role, projects: only = [] }: { role: string; projects?: string[] }) =>
      roleFits(role, only, row),
    )
  );
}

const LIFTS = ['bind', 'escalate'];

// biome-ignore lint/suspicious/noExplicitAny: see above
function ruleFits(rule: any, row: Row): boolean {
  const empty = (list: unknown[] | undefined): boolean => (list ?? []).length === 0;
  if (rule.cluster || !empty(rule.virtualClusters)) return false;
  if (!empty(rule.requestTargets) && !rule.requestTargets.includes('Management')) return false;
  if (empty(rule.verbs) ? LIFTS.includes(row.verb) : !rule.verbs.includes(row.verb)) return false;
  const aboutResources = !empty(rule.resources) || !empty(rule.namespaces);
  if (row.path !== undefined) {
    if (aboutResources) return false;
    if (empty(rule.nonResourceURLs)) return true;
    return rule.nonResourceURLs.some((url: string) =>
      url.endsWith('/*') ? row.path?.startsWith(url.slice(0, -1)) : url === row.path,
    );
  }
  if (!aboutResources && !empty(rule.nonResourceURLs)) return false;
  if (!empty(rule.resourceNames) && !rule.resourceNames.includes(row.name)) return false;
  if (!empty(rule.namespaces)) {
    const where = row.namespaced && row.namespace === '' ? 'all at once' : row.namespace;
    if (!rule.namespaces.includes(where)) return false;
  }
  if (empty(rule.resources)) return true;
  return rule.resources.some((on: { group: string; resources?: string[] }) => {
    if (on.group !== row.group) return false;
    const [main, sub] = row.resource.split('/');
    const forms = [row.resource, '*', ...(sub === undefined ? [] : [`${main}/*`, `*/${sub}`])];
    return empty(on.resources) || on.resources?.some((form) => forms.includes(form));
  });
}

function projectFits(project: string, row: Row): boolean {
  if (row.path !== undefined) return false;
  if (row.resource === 'projects') {
    return isRead(row) && (project === '*' || row.name === project);
  }
  if (LIFTS.includes(row.verb)) return false;
  return project === '*' ? row.namespace.startsWith('p-') : row.namespace === `p-${project}`;
}

const CLI = ['users', 'teams', 'clusters', 'projects'];

function roleFits(role: string, projects: readonly string[], row: Row): boolean {
  if (role === 'metrics-reader') return row.verb === 'get' && row.path === '/metrics';
  if (row.path !== undefined || row.group !== GROUP) {
    const reviews =
      row.verb === 'create' && ['tokenreviews', 'subjectaccessreviews'].includes(row.resource);
    return role === 'agent' && projects.length === 0 && reviews;
  }
  if (role === 'platform-cli') return isRead(row) && CLI.includes(row.resource);
  if (role !== 'agent') return false;
  if (row.resource === 'networkpeers') {
    return isRead(row) || ['create', 'update', 'patch', 'delete'].includes(row.verb);
  }
  if (!isRead(row)) return false;
  if (projects.length === 0) {
    return [...CLI, 'sharedsecrets', 'projectsecrets'].includes(row.resource);
  }
  if (row.resource === 'projects') return projects.includes(row.name);
  const inside = projects.some((project) => row.namespace === `p-${project}`);
  return row.resource === 'projectsecrets' && inside;
}

function isRead({ verb }: Row): boolean {
  return ['get', 'list', 'watch'].includes(verb);
}

const rows = requests();
const authorizer = platform();
const cells = Object.keys(SUBJECTS).flatMap((subject) =>
  Object.keys(SCOPES).map((scope) => [subject, scope] as const),
);

function userOf(subject: string, scope: string): User {
  const spec = SCOPES[scope];
  const context = {
    group: GROUP,
    projectPrefix: () => 'p-',
    isNamespaced: (group: string, plural: string) =>
      plural === 'sharedsecrets' || kinds.byPlural(group, plural)?.scope === 'Namespaced',
  };
  return {
    name: subject,
    groups: ['system:authenticated'],
    accessKey: 'k',
    ...(spec === undefined ? {} : { scope: new Scope(spec, context) }),
  };
}

const BLAMES_SCOPE = 'the roles of the user allow it, but the scope of access key "k" does not';

describe('the matrix', () => {
  test('has the rows it should', () => {
    expect(rows.length * cells.length).toBeGreaterThan(30_000);
  });

  test.each(cells)(
    '%s with "%s" may do what roles and scope allow, and reads why not',
    (subject, scope) => {
      const user = userOf(subject, scope);
      const wrong = rows.flatMap((row) => {
        const { allowed, reason } = authorizer.authorize(user, attributesOf(row));
        const held = oracle.held(subject, row);
        const within = oracle.forEveryone(row) || oracle.withinScope(SCOPES[scope], row);
        const blamed = reason === BLAMES_SCOPE;
        return allowed === (held && within) && blamed === (held && !within)
          ? []
          : [{ ...row, held, within, reason }];
      });
      expect(wrong).toEqual([]);
    },
  );

  test('every scope allows some user a request, except those that allow nothing here', () => {
    const idle = Object.keys(SCOPES).filter((scope) =>
      rows.every((row) => !userOf('admin', scope).scope?.allows(attributesOf(row))),
    );
    expect(idle).toEqual(['no scope', 'empty', 'cluster rule']);
  });
});

test('a denial by scope is in the words of Kubernetes, with the scope as its reason', () => {
  const user = userOf('admin', 'teams rule');
  const attributes = attributesOf({
    verb: 'get',
    group: GROUP,
    resource: 'sharedsecrets',
    namespaced: true,
    namespace: 'payments',
    name: 'card',
  });
  const { reason } = authorizer.authorize(user, attributes);
  expect(forbiddenMessage(user, attributes, reason)).toBe(
    'sharedsecrets.management.gitplane.dev "card" is forbidden: User "admin" cannot get resource "sharedsecrets" in API group "management.gitplane.dev" in the namespace "payments": the roles of the user allow it, but the scope of access key "k" does not',
  );
});
