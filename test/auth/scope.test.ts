import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import type { Attributes } from '../../src/apimachinery/request.ts';
import { ruleAllows } from '../../src/auth/rbac/policy-rules.ts';
import { intersectRules } from '../../src/auth/rbac/rule-intersection.ts';
import {
  MANAGEMENT,
  type NamespacePattern,
  type Permit,
  type PermitContext,
  permitCovers,
  type Some,
  type Target,
} from '../../src/auth/scope/permits.ts';
import { Scope } from '../../src/auth/scope/scope.ts';
import '../support/properties.ts';
import { processorMs } from '../support/calls.ts';
import { GROUP, path, request, rule } from './builders.ts';

const NAMESPACED = ['sharedsecrets', 'projectsecrets', 'virtualclusterinstances', 'roles'];
const context: PermitContext = {
  group: GROUP,
  projectPrefix: () => 'p-',
  isNamespaced: (_group, resource) => NAMESPACED.includes(resource),
};

function scope(spec: JsonObject): Scope {
  return new Scope(spec, context);
}

/** A scope of one deprecated rule. */
function ruled(rule: JsonObject): JsonObject {
  return { rules: [rule] };
}

function resources(...names: string[]): JsonObject[] {
  return [{ group: GROUP, resources: names }];
}

/** `get teams x`, `list sharedsecrets @payments`, `get /metrics`. */
function asked(text: string): Attributes {
  const [verb = '', what = '', ...rest] = text.split(' ');
  if (what.startsWith('/')) return path(verb, what);
  const namespace = rest.find((word) => word.startsWith('@'))?.slice(1) ?? '';
  const name = rest.find((word) => !word.startsWith('@')) ?? '';
  const [group, resource = what] = what.includes(':') ? what.split(':') : [GROUP, what];
  return request(`${verb} ${resource} ${name}`, namespace, group);
}

describe('a deprecated rule', () => {
  test.each<[string, JsonObject, string, boolean]>([
    // covers: scope.rules.verbs scope.rules.resources scope.rules.namespaces
    // covers: scope.rules.requestTargets scope.rules.resourceNames
    ['with nothing in it allows every request', {}, 'delete teams x', true],
    ['with nothing in it allows every path', {}, 'get /metrics', true],
    ['with nothing in it allows no verb that lifts a guard', {}, 'escalate teams x', false],
    ['that names such a verb allows it', { verbs: ['escalate'] }, 'escalate teams x', true],
    // covers: scope.rules scope.rules.verbs
    ['allows the verbs it names', { verbs: ['get'] }, 'get teams x', true],
    // covers: scope.rules scope.rules.verbs
    ['allows no other verbs', { verbs: ['get'] }, 'list teams', false],
    ['takes a star among verbs for a name', { verbs: ['*'] }, 'get teams x', false],
    ['for verbs alone is for paths as well', { verbs: ['get'] }, 'get /metrics', true],
    ['allows the resources it names', { resources: resources('teams') }, 'get teams x', true],
    // covers: scope.rules scope.rules.resources
    ['allows no other resources', { resources: resources('teams') }, 'get users x', false],
    ['allows no other groups', { resources: resources('teams') }, 'get apps:teams x', false],
    // covers: scope.rules.resources
    [
      'without resources is for the whole group',
      { resources: [{ group: GROUP }] },
      'get users x',
      true,
    ],
    [
      'without resources is for subresources too',
      { resources: [{ group: GROUP }] },
      'get teams/status x',
      true,
    ],
    // covers: scope.rules.resources
    [
      'with an empty group is for the core group',
      { resources: [{ resources: ['pods'] }] },
      'get :pods x @n',
      true,
    ],
    [
      'takes a star among groups for a name',
      { resources: [{ group: '*', resources: ['*'] }] },
      'get teams x',
      false,
    ],
    // covers: scope.rules.resources
    [
      'with * is for every resource of the group',
      { resources: resources('*') },
      'get teams/status x',
      true,
    ],
    [
      'for a resource is not for its subresources',
      { resources: resources('teams') },
      'get teams/status x',
      false,
    ],
    // covers: scope.rules.resources
    [
      'for teams/* is for subresources of teams',
      { resources: resources('teams/*') },
      'get teams/status x',
      true,
    ],
    ['for teams/* is not for teams', { resources: resources('teams/*') }, 'delete teams x', false],
    // covers: scope.rules.resources
    [
      'for */scale is for every scale',
      { resources: resources('*/scale') },
      'get teams/scale x',
      true,
    ],
    [
      'for */scale is for no other subresource',
      { resources: resources('*/scale') },
      'get teams/status x',
      false,
    ],
    ['for */scale is for no resource', { resources: resources('*/scale') }, 'get teams x', false],
    ['for resources is for no path', { resources: resources('*') }, 'get /metrics', false],
    // covers: scope.rules.resourceNames
    [
      'with names allows these',
      { resources: resources('teams'), resourceNames: ['a'] },
      'get teams a',
      true,
    ],
    // covers: scope.rules.resourceNames
    [
      'with names allows no others',
      { resources: resources('teams'), resourceNames: ['a'] },
      'get teams b',
      false,
    ],
    [
      'with names allows no whole collection',
      { resources: resources('teams'), resourceNames: ['a'] },
      'list teams',
      false,
    ],
    [
      'with names allows no deletecollection',
      { resources: resources('teams'), resourceNames: ['a'] },
      'deletecollection teams',
      false,
    ],
    [
      'with names allows no create',
      { resources: resources('teams'), resourceNames: ['a'] },
      'create teams',
      false,
    ],
    [
      'with names allows a list that selects one of them',
      { resources: resources('teams'), resourceNames: ['a'] },
      'list teams a',
      true,
    ],
    [
      'takes a star among names for a name',
      { resources: resources('teams'), resourceNames: ['*'] },
      'get teams a',
      false,
    ],
    // covers: scope.rules.namespaces
    ['with namespaces allows these', { namespaces: ['a'] }, 'get sharedsecrets x @a', true],
    // covers: scope.rules.namespaces
    ['with namespaces allows no others', { namespaces: ['a'] }, 'get sharedsecrets x @b', false],
    ['with namespaces is for nothing outside of them', { namespaces: ['a'] }, 'get teams x', false],
    [
      'with namespaces does not allow all namespaces at once',
      { namespaces: ['a'] },
      'list sharedsecrets',
      false,
    ],
    ['with namespaces is for no path', { namespaces: ['a'] }, 'get /metrics', false],
    ['takes a star among namespaces for a name', { namespaces: ['*'] }, 'get roles x @a', false],
    // covers: scope.rules.namespaces
    ['with an empty namespace is for what has none', { namespaces: [''] }, 'get teams x', true],
    [
      'with an empty namespace is not for what is in one',
      { namespaces: [''] },
      'get sharedsecrets x @a',
      false,
    ],
    [
      'with an empty namespace does not allow all namespaces at once',
      { namespaces: [''] },
      'list sharedsecrets',
      false,
    ],
    [
      'without namespaces allows all of them at once',
      { resources: resources('sharedsecrets') },
      'list sharedsecrets',
      true,
    ],
    ['with URLs allows these', { nonResourceURLs: ['/metrics'] }, 'get /metrics', true],
    // covers: scope.rules.nonResourceURLs
    ['with URLs allows no others', { nonResourceURLs: ['/metrics'] }, 'get /metrics/x', false],
    ['with URLs is for no resource', { nonResourceURLs: ['/metrics'] }, 'get teams x', false],
    // covers: scope.rules.nonResourceURLs
    ['with a star as last step', { nonResourceURLs: ['/git/*'] }, 'get /git/a/b', true],
    [
      'with a star as last step, not the step before',
      { nonResourceURLs: ['/git/*'] },
      'get /git',
      false,
    ],
    ['with a star inside a step allows nothing', { nonResourceURLs: ['/gi*'] }, 'get /git', false],
    ['with a star in the middle allows nothing', { nonResourceURLs: ['/*/x'] }, 'get /a/x', false],
    ['with * allows every URL', { nonResourceURLs: ['*'] }, 'get /metrics', true],
    // covers: scope.rules.requestTargets
    ['for this API allows it', { requestTargets: ['Management'] }, 'get teams x', true],
    // covers: scope.rules.requestTargets
    ['for clusters does not allow this API', { requestTargets: ['Cluster'] }, 'get teams x', false],
    // covers: scope.rules.cluster
    ['that names a cluster does not allow this API', { cluster: 'c' }, 'get teams x', false],
    // covers: scope.rules.virtualClusters
    [
      'that names virtual clusters does not allow this API',
      { virtualClusters: [{ name: 'v' }] },
      'get teams x',
      false,
    ],
    // covers: scope.rules.cluster
    ['with an empty cluster is no restriction', { cluster: '' }, 'get teams x', true],
  ])('%s', (_claim, rule, what, expected) => {
    expect(scope(ruled(rule)).allows(asked(what))).toBe(expected);
  });
});

describe('endpoint access', () => {
  const cluster: Target = { kind: 'Cluster', parts: { cluster: 'c' } };
  const space: Target = { kind: 'ProjectSpace', parts: { project: 'a', space: 's' } };
  const virtual: Target = {
    kind: 'ProjectVirtualCluster',
    parts: { project: 'a', virtualCluster: 'v', namespace: 'n' },
  };

  test.each<[string, Target, JsonObject, boolean]>([
    ['a cluster, an empty rule allows', cluster, ruled({}), true],
    ['a cluster, a rule for it allows', cluster, ruled({ cluster: 'c' }), true],
    // covers: scope.rules.cluster
    ['a cluster, a rule for another does not', cluster, ruled({ cluster: 'd' }), false],
    [
      'a cluster, a rule for this API does not',
      cluster,
      ruled({ requestTargets: ['Management'] }),
      false,
    ],
    ['a cluster, a rule for clusters does', cluster, ruled({ requestTargets: ['Cluster'] }), true],
    // covers: scope.clusters
    ['a cluster, an entry for it allows', cluster, { clusters: [{ cluster: 'c' }] }, true],
    // covers: scope.clusters
    ['a cluster, an entry for another does not', cluster, { clusters: [{ cluster: 'd' }] }, false],
    // covers: scope.clusters
    ['a cluster, an entry for all allows', cluster, { clusters: [{ cluster: '*' }] }, true],
    [
      'a cluster, an entry for a project does not',
      cluster,
      { projects: [{ project: '*' }] },
      false,
    ],
    ['a cluster, a role does not', cluster, { roles: [{ role: 'agent' }] }, false],
    ['a space, an entry for its project allows', space, { projects: [{ project: 'a' }] }, true],
    [
      'a space, an entry for another project does not',
      space,
      { projects: [{ project: 'b' }] },
      false,
    ],
    // covers: scope.spaces
    ['a space, its entry allows', space, { spaces: [{ project: 'a', space: 's' }] }, true],
    // covers: scope.spaces
    [
      'a space, an entry for all of the project allows',
      space,
      { spaces: [{ project: 'a', space: '*' }] },
      true,
    ],
    // covers: scope.spaces
    [
      'a space, the name in another project does not',
      space,
      { spaces: [{ project: 'b', space: 's' }] },
      false,
    ],
    // covers: scope.virtualClusters
    [
      'a virtual cluster, its entry allows',
      virtual,
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      true,
    ],
    // covers: scope.virtualClusters
    [
      'a virtual cluster, another name does not',
      virtual,
      { virtualClusters: [{ project: 'a', virtualCluster: 'w' }] },
      false,
    ],
    [
      'a virtual cluster, an entry for spaces does not',
      virtual,
      { spaces: [{ project: 'a', space: '*' }] },
      false,
    ],
    // covers: scope.rules.virtualClusters
    [
      'a virtual cluster, a rule with its name allows',
      virtual,
      ruled({ virtualClusters: [{ name: 'v' }] }),
      true,
    ],
    [
      'a virtual cluster, a rule with its namespace allows',
      virtual,
      ruled({ virtualClusters: [{ namespace: 'n' }] }),
      true,
    ],
    // covers: scope.rules.virtualClusters
    [
      'a virtual cluster, a rule with another namespace does not',
      virtual,
      ruled({ virtualClusters: [{ name: 'v', namespace: 'm' }] }),
      false,
    ],
    [
      'a virtual cluster, a rule that names a cluster too does not',
      virtual,
      ruled({ cluster: 'c', virtualClusters: [{}] }),
      false,
    ],
  ])('%s', (_claim, target, spec, expected) => {
    expect(scope(spec).allows(asked('get :pods x @default'), target)).toBe(expected);
  });
});

describe('the lists of projects, spaces, virtual clusters and clusters', () => {
  test.each<[string, JsonObject, string, boolean]>([
    // covers: scope.projects
    [
      'a project allows what is in its namespace',
      { projects: [{ project: 'a' }] },
      'delete sharedsecrets x @p-a',
      true,
    ],
    // covers: scope.projects
    [
      'a project allows no other namespace',
      { projects: [{ project: 'a' }] },
      'get sharedsecrets x @p-b',
      false,
    ],
    [
      'a project allows no namespace of its bare name',
      { projects: [{ project: 'a' }] },
      'get sharedsecrets x @a',
      false,
    ],
    [
      'a project does not allow all namespaces at once',
      { projects: [{ project: 'a' }] },
      'list sharedsecrets',
      false,
    ],
    [
      'a project allows nothing without a namespace',
      { projects: [{ project: 'a' }] },
      'get teams a',
      false,
    ],
    ['a project can be read', { projects: [{ project: 'a' }] }, 'get projects a', true],
    ['a project cannot be changed', { projects: [{ project: 'a' }] }, 'update projects a', false],
    ['another project cannot be read', { projects: [{ project: 'a' }] }, 'get projects b', false],
    ['a project allows no path', { projects: [{ project: 'a' }] }, 'get /git/platform.git', false],
    ['a project lifts no guard', { projects: [{ project: 'a' }] }, 'escalate roles x @p-a', false],
    // covers: scope.projects
    [
      'all projects allow their namespaces',
      { projects: [{ project: '*' }] },
      'get sharedsecrets x @p-b',
      true,
    ],
    [
      'all projects allow no other namespaces',
      { projects: [{ project: '*' }] },
      'get sharedsecrets x @b',
      false,
    ],
    [
      'all projects do not allow the prefix alone',
      { projects: [{ project: '*' }] },
      'get sharedsecrets x @p-',
      false,
    ],
    ['all projects can be listed', { projects: [{ project: '*' }] }, 'list projects', true],
    [
      'all projects do not allow all namespaces at once',
      { projects: [{ project: '*' }] },
      'list sharedsecrets',
      false,
    ],
    [
      'a virtual cluster is an object to work with',
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      'delete virtualclusterinstances v @p-a',
      true,
    ],
    [
      'a virtual cluster has subresources',
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      'create virtualclusterinstances/kubeconfig v @p-a',
      true,
    ],
    [
      'a virtual cluster is no other object',
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      'get virtualclusterinstances w @p-a',
      false,
    ],
    [
      'a virtual cluster is no other kind',
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      'get sharedsecrets v @p-a',
      false,
    ],
    [
      'a virtual cluster is in its project',
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      'get virtualclusterinstances v @p-b',
      false,
    ],
    [
      'a virtual cluster needs its project',
      { virtualClusters: [{ virtualCluster: 'v' }] },
      'get virtualclusterinstances v @p-a',
      false,
    ],
    // covers: scope.virtualClusters
    [
      'all virtual clusters are those of the project',
      { virtualClusters: [{ project: 'a', virtualCluster: '*' }] },
      'list virtualclusterinstances @p-a',
      true,
    ],
    [
      'a star is no project of virtual clusters',
      { virtualClusters: [{ project: '*', virtualCluster: '*' }] },
      'list virtualclusterinstances @p-a',
      false,
    ],
    ['a cluster can be read', { clusters: [{ cluster: 'c' }] }, 'get clusters c', true],
    ['a cluster cannot be changed', { clusters: [{ cluster: 'c' }] }, 'delete clusters c', false],
    ['a cluster allows nothing else here', { clusters: [{ cluster: '*' }] }, 'get teams x', false],
  ])('%s', (_claim, spec, what, expected) => {
    expect(scope(spec).allows(asked(what))).toBe(expected);
  });

  test('a new prefix of project namespaces acts at once', () => {
    let prefix = 'p-';
    const moving = new Scope(
      { projects: [{ project: 'a' }] },
      { ...context, projectPrefix: () => prefix },
    );
    expect(moving.allows(asked('get sharedsecrets x @p-a'))).toBe(true);
    prefix = 'project-';
    expect(moving.allows(asked('get sharedsecrets x @p-a'))).toBe(false);
    expect(moving.allows(asked('get sharedsecrets x @project-a'))).toBe(true);
  });
});

describe('a role', () => {
  const limited = { roles: [{ role: 'virtual-cluster', projects: ['a'], virtualClusters: ['v'] }] };

  test.each<[string, JsonObject, string, boolean]>([
    // covers: scope.roles
    ['platform-cli reads teams', { roles: [{ role: 'platform-cli' }] }, 'list teams', true],
    // covers: scope.roles
    ['platform-cli writes nothing', { roles: [{ role: 'platform-cli' }] }, 'update teams x', false],
    [
      'platform-cli reads no secrets',
      { roles: [{ role: 'platform-cli' }] },
      'get sharedsecrets x @a',
      false,
    ],
    [
      'platform-cli reads no keys',
      { roles: [{ role: 'platform-cli' }] },
      'list ownedaccesskeys',
      false,
    ],
    // covers: scope.allowPlatformCli
    ['allowPlatformCli is the role platform-cli', { allowPlatformCli: true }, 'list teams', true],
    ['allowPlatformCli: false is none', { allowPlatformCli: false }, 'list teams', false],
    ['metrics-reader reads metrics', { roles: [{ role: 'metrics-reader' }] }, 'get /metrics', true],
    [
      'metrics-reader reads nothing else',
      { roles: [{ role: 'metrics-reader' }] },
      'get teams x',
      false,
    ],
    [
      'metrics-writer reads no metrics',
      { roles: [{ role: 'metrics-writer' }] },
      'get /metrics',
      false,
    ],
    ['agent implies network-peer', { roles: [{ role: 'agent' }] }, 'create networkpeers', true],
    [
      'virtual-cluster implies network-peer',
      { roles: [{ role: 'virtual-cluster' }] },
      'create networkpeers',
      true,
    ],
    ['an implied role has no limits', limited, 'create networkpeers', true],
    ['workspace implies nothing', { roles: [{ role: 'workspace' }] }, 'create networkpeers', false],
    ['agent reports on clusters', { roles: [{ role: 'agent' }] }, 'update clusters/status c', true],
    ['agent changes no cluster', { roles: [{ role: 'agent' }] }, 'update clusters c', false],
    [
      'agent reviews access',
      { roles: [{ role: 'agent' }] },
      'create authorization.k8s.io:subjectaccessreviews',
      true,
    ],
    // covers: scope.roles.virtualClusters
    ['limits leave the virtual cluster', limited, 'get virtualclusterinstances v @p-a', true],
    // covers: scope.roles.virtualClusters
    ['limits leave no other virtual cluster', limited, 'get virtualclusterinstances w @p-a', false],
    // covers: scope.roles.projects
    ['limits leave no other project', limited, 'get virtualclusterinstances v @p-b', false],
    [
      'limits to virtual clusters leave nothing else of the project',
      limited,
      'get projectsecrets x @p-a',
      false,
    ],
    [
      'limits to projects leave their secrets',
      { roles: [{ role: 'agent', projects: ['a'] }] },
      'get projectsecrets x @p-a',
      true,
    ],
    [
      'limits to projects leave the project',
      { roles: [{ role: 'agent', projects: ['a'] }] },
      'get projects a',
      true,
    ],
    // covers: scope.roles.projects
    [
      'limits to projects leave nothing outside',
      { roles: [{ role: 'agent', projects: ['a'] }] },
      'get teams x',
      false,
    ],
    [
      'of two entries the first counts',
      { roles: [{ role: 'agent', projects: ['a'] }, { role: 'agent' }] },
      'get teams x',
      false,
    ],
    [
      'an entry of its own limits an implied role',
      { roles: [{ role: 'agent' }, { role: 'network-peer', projects: ['a'] }] },
      'create networkpeers',
      false,
    ],
    [
      'of an unknown name allows nothing',
      { roles: [{ role: 'constructor' }] },
      'get teams x',
      false,
    ],
  ])('%s', (_claim, spec, what, expected) => {
    expect(scope(spec).allows(asked(what))).toBe(expected);
  });
});

test.each<[string, JsonObject]>([
  ['with nothing in it', {}],
  ['of empty lists', { roles: [], projects: [], rules: [] }],
  ['of the wrong shape', { rules: 'all', projects: { project: '*' }, roles: [null, 3] }],
])('a scope %s allows nothing', (_claim, spec) => {
  for (const what of ['get teams x', 'list sharedsecrets', 'get /metrics']) {
    expect(scope(spec).allows(asked(what))).toBe(false);
  }
});

describe('a scope', () => {
  const everyVerb = ruled({ resources: resources('teams') });

  test.each<[string, JsonObject, JsonObject, boolean]>([
    ['fewer verbs', everyVerb, ruled({ verbs: ['get'], resources: resources('teams') }), true],
    ['more verbs', ruled({ verbs: ['get'], resources: resources('teams') }), everyVerb, false],
    [
      'a verb that lifts a guard',
      everyVerb,
      ruled({ verbs: ['bind'], resources: resources('teams') }),
      false,
    ],
    [
      'a subresource beside the resource',
      everyVerb,
      ruled({ resources: resources('teams/status') }),
      false,
    ],
    ['a resource of the whole group', ruled({ resources: [{ group: GROUP }] }), everyVerb, true],
    ['another group', ruled({ resources: [{ group: 'apps' }] }), everyVerb, false],
    ['one name', everyVerb, ruled({ resources: resources('teams'), resourceNames: ['a'] }), true],
    [
      'every name',
      ruled({ resources: resources('teams'), resourceNames: ['a'] }),
      everyVerb,
      false,
    ],
    [
      'parts of two rules',
      { rules: [{ verbs: ['get'] }, { verbs: ['list'] }] },
      ruled({ verbs: ['get', 'list'] }),
      true,
    ],
    ['one namespace', ruled({}), ruled({ namespaces: ['a'] }), true],
    [
      'every namespace',
      ruled({ namespaces: ['a', ''] }),
      ruled({ resources: resources('teams') }),
      false,
    ],
    ['a project of all', { projects: [{ project: '*' }] }, { projects: [{ project: 'a' }] }, true],
    ['all projects', { projects: [{ project: 'a' }] }, { projects: [{ project: '*' }] }, false],
    [
      'a namespace that is a project today',
      { projects: [{ project: 'a' }] },
      ruled({ namespaces: ['p-a'], requestTargets: ['Management'] }),
      false,
    ],
    [
      'a project whose namespace it names today',
      ruled({ namespaces: ['p-a'] }),
      { projects: [{ project: 'a' }] },
      false,
    ],
    [
      'a virtual cluster of the project',
      { projects: [{ project: 'a' }] },
      { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] },
      true,
    ],
    [
      'a virtual cluster of another project',
      { projects: [{ project: 'a' }] },
      { virtualClusters: [{ project: 'b', virtualCluster: 'v' }] },
      false,
    ],
    [
      'one of all spaces',
      { spaces: [{ project: 'a', space: '*' }] },
      { spaces: [{ project: 'a', space: 's' }] },
      true,
    ],
    [
      'all spaces',
      { spaces: [{ project: 'a', space: 's' }] },
      { spaces: [{ project: 'a', space: '*' }] },
      false,
    ],
    [
      'one of all clusters',
      { clusters: [{ cluster: '*' }] },
      { clusters: [{ cluster: 'c' }] },
      true,
    ],
    ['another cluster', { clusters: [{ cluster: 'c' }] }, { clusters: [{ cluster: 'd' }] }, false],
    [
      'an implied role',
      { roles: [{ role: 'agent' }] },
      { roles: [{ role: 'network-peer' }] },
      true,
    ],
    [
      'a role that implies',
      { roles: [{ role: 'network-peer' }] },
      { roles: [{ role: 'agent' }] },
      false,
    ],
    [
      'a limited role',
      { roles: [{ role: 'workspace' }] },
      { roles: [{ role: 'workspace', projects: ['a'] }] },
      true,
    ],
    [
      'an unlimited role',
      { roles: [{ role: 'workspace', projects: ['a'] }] },
      { roles: [{ role: 'workspace' }] },
      false,
    ],
    ['a role that opens nothing here', ruled({}), { roles: [{ role: 'metrics-writer' }] }, false],
    [
      'the old spelling of a role',
      { roles: [{ role: 'platform-cli' }] },
      { allowPlatformCli: true },
      true,
    ],
    ['other request targets', ruled({ requestTargets: ['Management'] }), ruled({}), false],
    ['one request target', ruled({}), ruled({ requestTargets: ['Cluster'] }), true],
    [
      'one path of a folder',
      ruled({ nonResourceURLs: ['/git/*'] }),
      ruled({ nonResourceURLs: ['/git/platform.git'] }),
      true,
    ],
    [
      'every path',
      ruled({ nonResourceURLs: ['/git/*'] }),
      ruled({ nonResourceURLs: ['*'] }),
      false,
    ],
  ])('is compared with one of %s', (_claim, outer, inner, expected) => {
    expect(scope(outer).coversJson(inner)).toBe(expected);
  });

  // Here these parts match nothing; a verifier elsewhere may take them for everything.
  test.each<[string, JsonObject]>([
    ['* among verbs', ruled({ verbs: ['*'] })],
    ['* beside a verb', ruled({ verbs: ['get', '*'] })],
    ['* among names', ruled({ resources: resources('teams'), resourceNames: ['*'] })],
    ['* among namespaces', ruled({ namespaces: ['a', '*'] })],
    ['* as a group', ruled({ resources: [{ group: '*', resources: ['*'] }] })],
    ['* inside a step of a path', ruled({ nonResourceURLs: ['/*/x', '/git/a'] })],
    ['* for a part of a step', ruled({ nonResourceURLs: ['/gi*'] })],
    ['* as request target', ruled({ requestTargets: ['*'] })],
    [
      'a cluster that its request targets leave out',
      ruled({ cluster: 'c', requestTargets: ['Management'] }),
    ],
    ['a cluster and a virtual cluster', ruled({ cluster: 'c', virtualClusters: [{ name: 'v' }] })],
    ['a list of another shape', ruled({ verbs: '*' })],
    ['a rule that is none', { rules: ['*'] }],
    ['rules that are no list', { rules: '*' }],
    ['a project without a name', { projects: [{ project: '' }] }],
    ['a space without a project', { spaces: [{ space: 's' }] }],
    ['a virtual cluster without a name', { virtualClusters: [{ project: 'a' }] }],
    ['a cluster without a name', { clusters: [{}] }],
    ['a field that nobody knows', { everything: true }],
    ['nothing', {}],
  ])('a scope with %s is covered only by an equal one', (_what, inner) => {
    const narrow = ruled({ verbs: ['get'], resources: resources('teams') });
    const wide = { ...ruled({}), projects: [{ project: '*' }], clusters: [{ cluster: '*' }] };
    expect(scope(narrow).coversJson(inner)).toBe(false);
    expect(scope(wide).coversJson(inner)).toBe(false);
    expect(scope(inner).coversJson(inner)).toBe(true);
  });

  test('keeps a part that matches nothing beside what is narrowed', () => {
    const dead = { verbs: ['*'], resources: resources('teams') };
    const outer = { rules: [dead, { verbs: ['get', 'list'], resources: resources('users') }] };
    const inner = { rules: [{ verbs: ['get'], resources: resources('users') }, dead] };
    expect(scope(outer).coversJson(inner)).toBe(true);
  });

  test('never covers the absence of a scope', () => {
    expect(scope(ruled({})).coversJson(undefined)).toBe(false);
  });

  test('a scope of too many parts is covered by no other', () => {
    const many = Array.from({ length: 300 }, (_, i) => `name-${i}`);
    const huge = ruled({ resources: resources(...many), resourceNames: many, namespaces: many });
    const ms = processorMs(() => {
      expect(scope(ruled({ verbs: ['get'] })).coversJson(huge)).toBe(false);
    });
    expect(ms).toBeLessThan(2000);
  });
});

test('a rule of too many resources is not listed', () => {
  const many = Array.from({ length: 1_001 }, (_, i) => `kind-${i}`);
  expect(scope(ruled({ resources: resources(...many.slice(1)) })).isListable).toBe(true);
  expect(scope(ruled({ resources: resources(...many) })).isListable).toBe(false);
});

describe('a role with thousands of projects and virtual clusters', () => {
  const names = Array.from({ length: 30_000 }, (_, i) => `n${i}`);
  const spec = { roles: [{ role: 'agent', projects: names, virtualClusters: names }] };
  const at = (project: string, virtualCluster: string): Target => ({
    kind: 'ProjectVirtualCluster',
    parts: { project, virtualCluster },
  });

  test('allows what is in both lists, without their product', () => {
    const ms = processorMs(() => {
      const limited = scope(spec);
      const services = asked('get :services x @default');
      expect(limited.allows(services, at('n29999', 'n0'))).toBe(true);
      expect(limited.allows(services, at('n0', 'other'))).toBe(false);
      expect(limited.allows(services, at('other', 'n0'))).toBe(false);
      expect(limited.reaches(at('n1', 'n2'))).toBe(true);
      expect(limited.allows(asked('list teams'))).toBe(false);
    });
    expect(ms).toBeLessThan(1000);
  });

  test('covers a part of the lists, and nothing beside them', () => {
    const some = { role: 'agent', projects: ['n1', 'n2'], virtualClusters: ['n3'] };
    const peer = { role: 'network-peer' };
    const outer = scope({ roles: [...spec.roles, peer] });
    const covers = (role: JsonObject): boolean => outer.coversJson({ roles: [role, peer] });
    expect(covers(some)).toBe(true);
    expect(covers({ ...some, virtualClusters: ['n3', 'other'] })).toBe(false);
    expect(covers({ ...some, projects: [] })).toBe(false);
    expect(scope({ roles: [some, peer] }).coversJson({ roles: [...spec.roles, peer] })).toBe(false);
  });
});

/** Few words, so that random scopes and requests meet. */
const verb = fc.constantFrom('get', 'list', 'create', 'bind');
const resource = fc.constantFrom('teams', 'sharedsecrets', 'teams/status', 'roles');
const pattern = fc.constantFrom(
  '*',
  'teams',
  'sharedsecrets',
  'teams/*',
  '*/status',
  'teams/status',
);
const namespace = fc.constantFrom('', 'a', 'p-a', 'p-b');
const name = fc.constantFrom('', 'x', 'y');
const list = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.uniqueArray(of, { maxLength: 2 });

const anyRule = fc.record(
  {
    verbs: list(verb),
    resources: fc.array(
      fc.record({ group: fc.constantFrom(GROUP, 'apps'), resources: list(pattern) }),
      { maxLength: 2 },
    ),
    resourceNames: list(fc.constantFrom('x', 'y')),
    namespaces: list(namespace),
    nonResourceURLs: list(fc.constantFrom('*', '/a', '/a/*', '/a/b')),
    requestTargets: list(fc.constantFrom('Management', 'Cluster')),
    cluster: fc.constantFrom('', 'c'),
  },
  { requiredKeys: [] },
);
const anyScope = fc.record(
  {
    rules: fc.array(anyRule, { maxLength: 3 }),
    projects: fc.array(fc.record({ project: fc.constantFrom('*', 'a', 'b') }), { maxLength: 1 }),
    roles: fc.array(
      fc.record({
        role: fc.constantFrom('agent', 'network-peer', 'platform-cli'),
        projects: list(fc.constantFrom('a', 'b')),
      }),
      { maxLength: 2 },
    ),
    clusters: fc.array(fc.record({ cluster: fc.constantFrom('*', 'c') }), { maxLength: 1 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;
const anyRequest: fc.Arbitrary<Attributes> = fc.oneof(
  fc
    .tuple(verb, resource, namespace, name, fc.constantFrom(GROUP, 'apps'))
    .map(([v, r, ns, n, g]) => request(`${v} ${r} ${n}`, ns, g)),
  fc.tuple(verb, fc.constantFrom('/a', '/a/b', '/c')).map(([v, p]) => path(v, p)),
);
const anyTarget: fc.Arbitrary<Target> = fc.constantFrom<Target>(
  { kind: 'Management', parts: {} },
  { kind: 'Cluster', parts: { cluster: 'c' } },
  { kind: 'Cluster', parts: { cluster: 'd' } },
);

describe('laws', () => {
  test('a covering scope allows all that the covered one allows', () => {
    let covered = 0;
    fc.assert(
      fc.property(
        anyScope,
        anyScope,
        fc.array(fc.tuple(anyRequest, anyTarget), { minLength: 20, maxLength: 20 }),
        (outer, inner, requests) => {
          // The union of both covers the inner one for sure; the outer alone does now and then.
          const union = { ...outer, rules: [...rulesOf(outer), ...rulesOf(inner)] };
          for (const wide of [outer, union].map(scope)) {
            if (!wide.coversJson(inner)) continue;
            covered++;
            const narrow = scope(inner);
            for (const [attributes, target] of requests) {
              if (narrow.allows(attributes, target))
                expect(wide.allows(attributes, target)).toBe(true);
            }
          }
        },
      ),
      { numRuns: 700 },
    );
    expect(covered).toBeGreaterThan(70);
  });

  test('every scope covers itself', () => {
    fc.assert(fc.property(anyScope, (spec) => scope(spec).coversJson(spec)));
  });

  test('a covered scope has no more rules in any namespace, and rules allow no more than the scope', () => {
    fc.assert(
      fc.property(anyScope, anyRequest, (spec, attributes) => {
        const of = scope(spec);
        const where = 'path' in attributes ? '' : attributes.namespace;
        for (const reach of ['', where]) {
          const allowed = of.rulesIn(reach).some((one) => ruleAllows(one, attributes));
          if (allowed) expect(of.allows(attributes)).toBe(true);
        }
      }),
      { numRuns: 700 },
    );
  });

  test('an intersection of rules allows what both sets allow, and nothing else', () => {
    const rules = fc.array(
      fc
        .record({
          verbs: list(fc.constantFrom('*', 'get', 'list')),
          apiGroups: list(fc.constantFrom('*', GROUP, 'apps')),
          resources: list(pattern),
          resourceNames: list(fc.constantFrom('x', 'y')),
          nonResourceURLs: list(fc.constantFrom('*', '/a', '/a/*')),
        })
        .map(rule),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(rules, rules, anyRequest, (a, b, attributes) => {
        const by = (set: typeof a): boolean => set.some((one) => ruleAllows(one, attributes));
        expect(by(intersectRules(a, b))).toBe(by(a) && by(b));
      }),
      { numRuns: 2000 },
    );
  });
});

function rulesOf(spec: JsonObject): JsonObject[] {
  return (spec['rules'] ?? []) as JsonObject[];
}

describe('permits for namespaces', () => {
  const patterns: Readonly<Record<string, NamespacePattern>> = {
    'namespace a': { kind: 'exact', namespace: 'a' },
    'namespace b': { kind: 'exact', namespace: 'b' },
    'no namespace': { kind: 'none' },
    'project a': { kind: 'project', project: 'a' },
    'project b': { kind: 'project', project: 'b' },
    'every project': { kind: 'every-project' },
  };
  const permit = (namespaces: Some<readonly NamespacePattern[]>): Permit => ({
    on: 'resources',
    targets: [MANAGEMENT],
    verbs: 'all',
    resources: 'all',
    names: 'all',
    namespaces,
  });

  test.each(Object.keys(patterns))('a permit for %s covers itself and no other', (outer) => {
    const covered = Object.keys(patterns).filter((inner) =>
      permitCovers(
        permit([patterns[outer] as NamespacePattern]),
        permit([patterns[inner] as NamespacePattern]),
      ),
    );
    const projects = ['project a', 'project b', 'every project'];
    expect(covered).toEqual(outer === 'every project' ? projects : [outer]);
  });

  test('a permit for every namespace covers each, and is covered by none', () => {
    for (const pattern of Object.values(patterns)) {
      expect(permitCovers(permit('all'), permit([pattern]))).toBe(true);
      expect(permitCovers(permit([pattern]), permit('all'))).toBe(false);
    }
    expect(permitCovers(permit('all'), permit('all'))).toBe(true);
  });
});
