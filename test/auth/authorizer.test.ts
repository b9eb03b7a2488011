import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { Attributes, User } from '../../src/apimachinery/request.ts';
import {
  type AccessSource,
  type ObjectName,
  RbacAuthorizer,
} from '../../src/auth/rbac/authorizer.ts';
import { ScopedAuthorizer } from '../../src/auth/rbac/scoped-authorizer.ts';
import { Scope } from '../../src/auth/scope/scope.ts';
import type { AccessGrant } from '../../src/kinds/access/access-grants.ts';
import { runs } from '../support/properties.ts';
import {
  aggregatedRole,
  binding,
  clusterBinding,
  clusterRole,
  GROUP,
  path,
  request,
  role,
  rule,
  someone,
} from './builders.ts';

const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] };
const readTeams = { verbs: ['get', 'list'], apiGroups: ['*'], resources: ['teams'] };

let rbac: RbacAuthorizer;

beforeEach(() => {
  rbac = new RbacAuthorizer();
});

function roles(...objects: KubeObject[]): void {
  for (const object of objects) rbac.setRole(object);
}

function bindings(...objects: KubeObject[]): void {
  for (const object of objects) rbac.setBinding(object);
}

/** `ann`, or `ann+group+group`. */
function user(text: string): ReturnType<typeof someone> {
  const [name = '', ...groups] = text.split('+');
  return someone(name, ...groups);
}

describe('a ClusterRole bound in a namespace', () => {
  beforeEach(() => {
    roles(clusterRole('admin', [everything]));
    bindings(binding('ns1', 'b', 'ClusterRole:admin', 'User:admin', 'Group:admins'));
  });

  test.each([
    ['admin', 'get pods', 'ns1', true],
    ['admin', 'watch pods', 'ns1', true],
    ['admin+group1', 'watch foobar', 'ns1', true],
    ['joe+admins', 'watch foobar', 'ns1', true],
    ['joe+group1+admins', 'watch foobar', 'ns1', true],
    ['admin', 'get pods', 'ns2', false],
    ['admin', 'get nodes', '', false],
    ['admin+admins', 'get pods', 'ns2', false],
    ['joe', 'get pods', 'ns1', false],
    ['admins', 'get pods', 'ns1', false],
    ['joe+admin', 'get pods', 'ns1', false],
    ['', 'get pods', 'ns1', false],
  ])('a bound ClusterRole for %s, %s in namespace "%s": %s', (who, what, namespace, expected) => {
    expect(rbac.authorize(user(who), request(what, namespace)).allowed).toBe(expected);
  });

  test('does not allow the paths its rules name', () => {
    expect(rbac.authorize(user('admin'), path('get', '/metrics')).allowed).toBe(false);
  });
});

test.each([
  ['a cluster-wide binding counts in every namespace', 'ns1', true],
  ['a cluster-wide binding counts at the cluster scope', '', true],
])('%s', (_claim, namespace, expected) => {
  roles(clusterRole('r', [readTeams]));
  bindings(clusterBinding('b', 'ClusterRole:r', 'User:ann'));
  expect(rbac.authorize(user('ann'), request('get teams', namespace)).allowed).toBe(expected);
});

test.each([
  ['foo', 'get', '/metrics', true],
  ['other+bar', 'get', '/metrics', true],
  ['foo', 'post', '/metrics', false],
  ['foo', 'get', '/metrics/x', false],
  ['prefixed', 'get', '/debug/pprof', true],
  ['prefixed', 'get', '/debug', false],
])('cluster-wide rules for paths: %s may %s %s: %s', (who, verb, url, expected) => {
  roles(
    clusterRole('exact', [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }]),
    clusterRole('prefix', [{ verbs: ['*'], nonResourceURLs: ['/debug/*'] }]),
  );
  bindings(
    clusterBinding('exact', 'ClusterRole:exact', 'User:foo', 'Group:bar'),
    clusterBinding('prefix', 'ClusterRole:prefix', 'User:prefixed'),
  );
  expect(rbac.authorize(user(who), path(verb, url)).allowed).toBe(expected);
});

describe('subjects', () => {
  test.each([
    ['a user name', ['User:foobar'], 'foobar', true],
    ['one of several names', ['User:barfoo', 'User:foobar'], 'foobar', true],
    ['no other name', ['User:barfoo', 'User:foobar'], 'zimzam', false],
    ['a group', ['User:barfoo', 'Group:foobar'], 'zimzam+foobar', true],
    ['no user by the name of a group', ['Group:foobar'], 'foobar', false],
    ['no group by the name of a user', ['User:foobar'], 'zimzam+foobar', false],
    ['nobody by *', ['User:*', 'Group:*'], 'foobar+ops', false],
    [
      'everyone by system:authenticated',
      ['Group:system:authenticated'],
      'a+system:authenticated',
      true,
    ],
    ['no service account', ['ServiceAccount:default'], 'system:serviceaccount:ns:default', false],
    ['no user by the name of a service account', ['ServiceAccount:ann'], 'ann+ann', false],
  ])('match %s', (_claim, subjects, who, expected) => {
    roles(clusterRole('r', [readTeams]));
    bindings(clusterBinding('b', 'ClusterRole:r', ...subjects));
    expect(rbac.authorize(user(who), request('get teams')).allowed).toBe(expected);
  });
});

test('namespaces with rules for a user are those of bindings to the user or its groups', () => {
  roles(clusterRole('r', [readTeams]));
  bindings(
    binding('own', 'b', 'ClusterRole:r', 'User:ann'),
    binding('of-group', 'b', 'ClusterRole:r', 'Group:ops'),
    binding('other', 'b', 'ClusterRole:r', 'User:bob', 'Group:admins'),
    clusterBinding('b', 'ClusterRole:r', 'User:ann'),
  );
  expect(rbac.namespacesOf(user('ann+ops')).sort()).toEqual(['of-group', 'own']);
  expect(rbac.namespacesOf(user('carl'))).toEqual([]);
});

describe('role references', () => {
  beforeEach(() => {
    roles(role('ns1', 'r', [readTeams]), clusterRole('r', [everything]));
  });

  test('role references of kind Role mean the role in the namespace of the binding', () => {
    bindings(binding('ns1', 'b', 'Role:r', 'User:ann'), binding('ns2', 'b', 'Role:r', 'User:ann'));
    expect(rbac.authorize(user('ann'), request('get teams', 'ns1')).allowed).toBe(true);
    expect(rbac.authorize(user('ann'), request('delete teams', 'ns1')).allowed).toBe(false);
    expect(rbac.authorize(user('ann'), request('get teams', 'ns2')).allowed).toBe(false);
  });

  test('role references of a ClusterRoleBinding never mean a Role, nor the ClusterRole of the same name', () => {
    bindings(clusterBinding('b', 'Role:r', 'User:ann'));
    expect(rbac.authorize(user('ann'), request('get teams', 'ns1')).allowed).toBe(false);
    expect(rbac.authorize(user('ann'), request('get teams')).allowed).toBe(false);
  });
});

describe('aggregated ClusterRoles', () => {
  const inPart = { 'gitplane.dev/part': 'yes' };
  const selectPart = { matchLabels: inPart };
  const can = (what: string): boolean => rbac.authorize(user('ann'), request(what)).allowed;

  beforeEach(() => {
    bindings(clusterBinding('b', 'ClusterRole:all', 'User:ann'));
  });

  test('have the rules of the roles that a selector matches, and none of their own', () => {
    roles(
      { ...aggregatedRole('all', [selectPart]), rules: [everything] },
      clusterRole('part', [readTeams], inPart),
      clusterRole('other', [everything], { 'gitplane.dev/part': 'no' }),
    );
    expect([can('get teams'), can('delete teams')]).toEqual([true, false]);
  });

  test('follow labels, rules and roles that change', () => {
    roles(aggregatedRole('all', [selectPart]));
    expect(can('get teams')).toBe(false);
    roles(clusterRole('part', [readTeams], inPart));
    expect(can('get teams')).toBe(true);
    roles(clusterRole('part', [readTeams]));
    expect(can('get teams')).toBe(false);
    roles(clusterRole('part', [readTeams], inPart));
    rbac.removeRole('', 'part');
    expect(can('get teams')).toBe(false);
  });

  test('gather through each other, and end when they select each other', () => {
    roles(
      aggregatedRole('all', [{ matchLabels: { to: 'all' } }], { to: 'edit' }),
      aggregatedRole('edit', [{ matchLabels: { to: 'edit' } }], { to: 'all' }),
      clusterRole('view', [readTeams], { to: 'edit' }),
    );
    expect(can('get teams')).toBe(true);
    expect(rbac.roleRules({ namespace: '', name: 'all' })).toEqual([rule(readTeams)]);
    expect(rbac.roleRules({ namespace: '', name: 'edit' })).toEqual([rule(readTeams)]);
  });

  test.each<[string, JsonObject, boolean]>([
    ['In', { key: 'to', operator: 'In', values: ['x', 'all'] }, true],
    ['In without the value', { key: 'to', operator: 'In', values: ['x'] }, false],
    ['In of an absent label', { key: 'nope', operator: 'In', values: ['all'] }, false],
    ['NotIn', { key: 'to', operator: 'NotIn', values: ['x'] }, true],
    ['NotIn with the value', { key: 'to', operator: 'NotIn', values: ['all'] }, false],
    ['NotIn of an absent label', { key: 'nope', operator: 'NotIn', values: ['all'] }, true],
    ['Exists', { key: 'to', operator: 'Exists' }, true],
    ['Exists of an absent label', { key: 'nope', operator: 'Exists' }, false],
    ['DoesNotExist', { key: 'nope', operator: 'DoesNotExist' }, true],
    ['DoesNotExist of a label', { key: 'to', operator: 'DoesNotExist' }, false],
    ['an unknown operator', { key: 'to', operator: 'Like', values: ['all'] }, false],
    ['a label every object inherits', { key: 'constructor', operator: 'Exists' }, false],
  ])('select by %s', (_claim, expression, expected) => {
    roles(
      aggregatedRole('all', [{ matchExpressions: [expression] }]),
      clusterRole('part', [readTeams], { to: 'all' }),
    );
    expect(can('get teams')).toBe(expected);
  });

  test('select by all requirements of a selector, and by any selector', () => {
    roles(clusterRole('part', [readTeams], { a: '1', b: '2' }));
    roles(aggregatedRole('all', [{ matchLabels: { a: '1', b: '3' } }]));
    expect(can('get teams')).toBe(false);
    roles(aggregatedRole('all', [{ matchLabels: { b: '3' } }, { matchLabels: { a: '1' } }]));
    expect(can('get teams')).toBe(true);
  });
});

describe('a change acts on the next request', () => {
  const can = (): boolean => rbac.authorize(user('ann'), request('get teams', 'ns')).allowed;

  beforeEach(() => {
    roles(role('ns', 'r', [readTeams]));
    bindings(binding('ns', 'b', 'Role:r', 'User:ann'));
    expect(can()).toBe(true);
  });

  test.each<[string, () => void]>([
    ['a removed binding', () => rbac.removeBinding('ns', 'b')],
    ['a removed role', () => rbac.removeRole('ns', 'r')],
    ['another subject', () => bindings(binding('ns', 'b', 'Role:r', 'User:bob'))],
    ['another role', () => bindings(binding('ns', 'b', 'Role:other', 'User:ann'))],
    ['other rules', () => roles(role('ns', 'r', [{ ...readTeams, verbs: ['delete'] }]))],
    [
      'a role that is being deleted',
      () => roles({ ...role('ns', 'r', [readTeams]), metadata: deleting('ns', 'r') }),
    ],
    [
      'a binding that is being deleted',
      () =>
        bindings({
          ...binding('ns', 'b', 'Role:r', 'User:ann'),
          metadata: deleting('ns', 'b'),
        }),
    ],
  ])('%s', (_claim, change) => {
    change();
    expect(can()).toBe(false);
  });

  test('a role that arrives after its binding', () => {
    bindings(binding('ns', 'early', 'Role:late', 'User:ann'));
    rbac.removeBinding('ns', 'b');
    expect(can()).toBe(false);
    roles(role('ns', 'late', [readTeams]));
    expect(can()).toBe(true);
  });
});

function deleting(namespace: string, name: string): KubeObject['metadata'] {
  return { namespace, name, deletionTimestamp: '2026-01-01T00:00:00Z' };
}

describe('users without a role', () => {
  const reviews = (what: string, group: string): ReturnType<typeof request> =>
    request(`create ${what}`, '', group);

  test.each([
    ...['/api', '/api/v1', '/apis', '/apis/x/v1', '/openapi/v2', '/openapi/v3/apis/x'].map(
      (url) => [path('get', url), true] as const,
    ),
    ...['/version', '/healthz', '/livez', '/readyz'].map(
      (url) => [path('get', url), true] as const,
    ),
    [reviews('selfsubjectaccessreviews', 'authorization.k8s.io'), true] as const,
    [reviews('selfsubjectrulesreviews', 'authorization.k8s.io'), true] as const,
    [reviews('selfsubjectreviews', 'authentication.k8s.io'), true] as const,
    [reviews('subjectaccessreviews', 'authorization.k8s.io'), false] as const,
    [reviews('selfsubjectreviews', 'authorization.k8s.io'), false] as const,
    [path('post', '/apis'), false] as const,
    [path('get', '/metrics'), false] as const,
    [path('get', '/'), false] as const,
    [path('get', '/apisx'), false] as const,
    [request('get teams'), false] as const,
    [request('get teams', '', ''), false] as const,
  ])('an authenticated user may %j: %s', (attributes, expected) => {
    const ann = someone('ann', 'system:authenticated');
    expect(rbac.authorize(ann, attributes).allowed).toBe(expected);
    expect(rbac.authorize(someone('stranger'), attributes).allowed).toBe(false);
  });

  test('a member of system:masters may do anything, and a user of that name nothing', () => {
    const master = someone('root', 'system:masters');
    for (const asked of [request('escalate roles x', 'ns'), path('delete', '/'), request('* *')]) {
      expect(rbac.authorize(master, asked).allowed).toBe(true);
      expect(rbac.authorize(someone('system:masters'), asked).allowed).toBe(false);
    }
  });
});

describe('reasons', () => {
  test.each([
    [
      clusterBinding('b', 'ClusterRole:r', 'User:ann'),
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "ann"',
    ],
    [
      binding('ns', 'b', 'ClusterRole:r', 'Group:ops'),
      'RBAC: allowed by RoleBinding "b/ns" of ClusterRole "r" to Group "ops"',
    ],
  ])('reasons of a permission name binding, role and subject', (object, reason) => {
    roles(clusterRole('r', [readTeams]));
    bindings(object);
    const decision = rbac.authorize(user('ann+ops'), request('get teams', 'ns'));
    expect(decision).toEqual({ allowed: true, reason });
  });

  test('reasons of a denial name the roles that do not exist, once and in order', () => {
    bindings(
      clusterBinding('b1', 'ClusterRole:gone', 'User:ann', 'Group:ops'),
      clusterBinding('b3', 'ClusterRole:away', 'User:ann'),
      binding('ns', 'b2', 'Role:lost', 'User:ann'),
    );
    expect(rbac.authorize(user('ann+ops'), request('get teams', 'ns')).reason).toBe(
      'RBAC: [clusterrole.rbac.authorization.k8s.io "away" not found, clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "lost" not found]',
    );
    rbac.removeBinding('', 'b1');
    rbac.removeBinding('', 'b3');
    expect(rbac.authorize(user('ann'), request('get teams', 'ns')).reason).toBe(
      'RBAC: role.rbac.authorization.k8s.io "lost" not found',
    );
    expect(rbac.authorize(user('ann'), request('get teams')).reason).toBe('');
  });
});

describe('rulesFor', () => {
  beforeEach(() => {
    roles(clusterRole('wide', [readTeams]), role('ns', 'near', [everything]));
    bindings(
      clusterBinding('b1', 'ClusterRole:wide', 'User:ann', 'Group:ops'),
      binding('ns', 'b2', 'Role:near', 'User:ann'),
    );
  });

  test.each([
    ['ann+ops', '', [readTeams]],
    ['ann', 'ns', [readTeams, everything]],
    ['ann', 'elsewhere', [readTeams]],
    ['bob', 'ns', []],
  ])('gives %s in "%s" the rules of each binding once', (who, namespace, expected) => {
    expect(rbac.rulesFor(user(who), namespace)).toEqual(expected.map(rule));
  });

  test('agrees with authorize for superusers and for everyone', () => {
    const master = rbac.rulesFor(someone('x', 'system:masters'), '');
    expect(master).toEqual([
      rule({ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }),
      rule({ verbs: ['*'], nonResourceURLs: ['*'] }),
    ]);
    const everyone = rbac.rulesFor(someone('x', 'system:authenticated'), '');
    expect(everyone.flatMap(({ nonResourceURLs }) => nonResourceURLs)).toContain('/apis/*');
    expect(rbac.rulesFor(someone('x'), '')).toEqual([]);
  });
});

/*
 * The law of an index: after any changes in any order it answers as one that was built from what
 * is left.
 */
const NAMESPACES = ['', 'ns1', 'ns2'];
const change = fc.record({
  what: fc.constantFrom('role', 'binding'),
  remove: fc.boolean(),
  namespace: fc.constantFrom(...NAMESPACES),
  name: fc.constantFrom('a', 'b'),
  verb: fc.constantFrom('get', 'list', '*'),
  refKind: fc.constantFrom('Role', 'ClusterRole'),
  refName: fc.constantFrom('a', 'b'),
  subject: fc.constantFrom('User:ann', 'Group:ops', 'ServiceAccount:ann'),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function objectOf(input: Change): KubeObject {
  const { namespace, name, verb, refKind, refName, subject } = input;
  const ref = `${refKind}:${refName}`;
  const object =
    input.what === 'role'
      ? role(namespace, name, [{ verbs: [verb], apiGroups: ['*'], resources: ['teams'] }])
      : binding(namespace, name, ref, subject, 'User:bob');
  if (namespace === '') delete object.metadata.namespace;
  return object;
}

test('an index after many changes answers as a new one does', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 25 }), (changes) => {
      const changed = new RbacAuthorizer();
      const left = new Map<string, Change>();
      for (const input of changes) {
        const { what, remove, namespace, name } = input;
        if (remove) left.delete(`${what}/${namespace}/${name}`);
        else left.set(`${what}/${namespace}/${name}`, input);
        if (what === 'role' && remove) changed.removeRole(namespace, name);
        else if (what === 'role') changed.setRole(objectOf(input));
        else if (remove) changed.removeBinding(namespace, name);
        else changed.setBinding(objectOf(input));
      }
      const fresh = new RbacAuthorizer();
      for (const input of left.values()) {
        if (input.what === 'role') fresh.setRole(objectOf(input));
        else fresh.setBinding(objectOf(input));
      }
      for (const who of ['ann', 'bob', 'eve+ops']) {
        for (const namespace of NAMESPACES) {
          for (const verb of ['get', 'list', 'delete']) {
            const asked = request(`${verb} teams`, namespace);
            const expected = fresh.authorize(user(who), asked).allowed;
            expect(changed.authorize(user(who), asked).allowed).toBe(expected);
          }
        }
      }
    }),
    { numRuns: runs(400) },
  );
});

test('every change of a role or binding makes another revision', () => {
  const rbac = new RbacAuthorizer();
  const seen = new Set([rbac.revision]);
  const made = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'a' } };
  const changes = [
    () => rbac.setRole({ ...made, kind: 'ClusterRole' }),
    () => rbac.setBinding({ ...made, kind: 'ClusterRoleBinding' }),
    () => rbac.removeRole('', 'a'),
    () => rbac.removeBinding('', 'a'),
  ];
  for (const change of changes) {
    change();
    seen.add(rbac.revision);
  }
  expect(seen.size).toBe(1 + changes.length);
});

describe('access rules of an object', () => {
  const named: ObjectName = { group: GROUP, resource: 'teams', namespace: '', name: 'x' };
  const subjects = [
    { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' },
    { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'ops' },
  ] as const;
  const own = { verbs: ['get'], apiGroups: [GROUP], resources: ['teams'], resourceNames: ['x'] };
  const grant: AccessGrant = { content: '', title: 'readers', rule: own, subjects };
  const access: AccessSource = {
    on: (object) => (object.resource === 'teams' && object.name === 'x' ? [grant] : []),
    naming: ({ name }) => (name === 'ann' ? [named] : []),
  };
  const everyRight = new RbacAuthorizer(access);
  const narrowed = new ScopedAuthorizer(everyRight);

  test.each([
    ['ann', 'get teams x', true],
    ['bob+ops', 'get teams x', true],
    ['bob', 'get teams x', false],
    ['ops+ann', 'get teams x', false],
    ['ann', 'delete teams x', false],
    ['ann', 'get teams y', false],
    ['ann', 'get teams', false],
  ])('%s may %s: %s', (who, what, allowed) => {
    const reason = allowed ? 'allowed by access rule "readers" of the object' : '';
    expect(everyRight.authorize(user(who), request(what))).toEqual({ allowed, reason });
    expect(narrowed.authorize(user(who), request(what))).toEqual({ allowed, reason });
  });

  test('rules of an object hold for that object alone', () => {
    for (const rights of [everyRight, narrowed]) {
      expect(rights.rulesFor(user('ann'), '', named)).toEqual([rule(own)]);
      expect(rights.rulesFor(user('bob'), '', named)).toEqual([]);
      expect(rights.rulesFor(user('ann'), '', { ...named, name: '' })).toEqual([]);
      expect(rights.rulesFor(user('ann'), '')).toEqual([]);
      expect([...rights.objectsNaming(user('ann'))]).toEqual([named]);
    }
  });

  test('traces name every grant that allows a request, and nothing for those that do not', () => {
    everyRight.setRole(clusterRole('r', [readTeams]));
    everyRight.setBinding(clusterBinding('b', 'ClusterRole:r', 'User:carl'));
    everyRight.setBinding(clusterBinding('lost', 'ClusterRole:gone', 'User:carl'));
    const via = (asked: Attributes): unknown[] =>
      [...narrowed.tracesOf(asked)].map((trace) =>
        trace === undefined
          ? undefined
          : `${trace.via} ${trace.subject.kind}:${trace.subject.name}`,
      );
    const masters = 'builtin Group:system:masters';
    const objects = ['object User:ann', 'object Group:ops'];
    expect(via(request('get teams x'))).toEqual([
      masters,
      'binding User:carl',
      undefined,
      ...objects,
    ]);
    expect(via(request('list teams x'))).toEqual([masters, 'binding User:carl', undefined]);
    expect(via(request('get teams'))).toEqual([masters, 'binding User:carl', undefined]);
    expect(via(request('delete teams y'))).toEqual([masters, undefined, undefined]);
    expect(via(path('get', '/version'))).toEqual([
      masters,
      'builtin Group:system:authenticated',
      undefined,
      undefined,
    ]);
  });
});

test('rules for one kind are those of its resource, within the scope of the key', () => {
  roles(clusterRole('r', [readTeams, { ...readTeams, resources: ['users'] }]));
  bindings(clusterBinding('b', 'ClusterRole:r', 'User:ann'));
  const rights = new ScopedAuthorizer(rbac);
  const on = { group: GROUP, resource: 'teams', namespace: '' };
  const scope = new Scope(
    { rules: [{ verbs: ['get'] }] },
    { group: GROUP, projectPrefix: () => '', isNamespaced: () => false },
  );
  const verbs = (who: User): unknown[] =>
    rights.rulesAt(who, on).map((one) => [one.verbs, one.apiGroups, one.resources]);
  expect(verbs(user('ann'))).toEqual([[['get', 'list'], [GROUP], ['teams']]]);
  expect(verbs({ ...user('ann'), scope })).toEqual([[['get'], [GROUP], ['teams']]]);
});

describe('rights in clusters', () => {
  const assigned = clusterBinding('c', 'ClusterRole:r', 'User:ann');
  const narrowed = (): ScopedAuthorizer => new ScopedAuthorizer(rbac);

  beforeEach(() => {
    roles(clusterRole('r', [readTeams]), clusterRole('other', [readTeams]));
    expect(rbac.setAssignments('ann', [assigned])).toBe(true);
  });

  test('rights in clusters hold there and not on the platform, and those of the platform not there', () => {
    bindings(clusterBinding('b', 'ClusterRole:r', 'User:bob'));
    for (const rights of [rbac, narrowed()]) {
      expect(rights.authorizeInClusters(user('ann'), request('get teams')).allowed).toBe(true);
      expect(rights.authorizeInClusters(user('ann'), request('delete teams')).allowed).toBe(false);
      expect(rights.authorizeInClusters(user('bob'), request('get teams')).allowed).toBe(false);
      expect(rights.authorize(user('ann'), request('get teams')).allowed).toBe(false);
      expect(rights.rulesInClusters(user('ann'))).toEqual([rule(readTeams)]);
      expect(rights.rulesInClusters(user('bob'))).toEqual([]);
      expect(rights.rulesInClusters(user('x+system:masters'))).not.toEqual([]);
      expect(rights.isAssignedInClusters(clusterRole('r', []))).toBe(true);
      expect(rights.isAssignedInClusters(clusterRole('other', []))).toBe(false);
      expect(rights.roleRules({ namespace: '', name: 'r' })).toEqual([rule(readTeams)]);
    }
  });

  test('a key with a scope has no rules in clusters', () => {
    const scope = new Scope(
      {},
      { group: GROUP, projectPrefix: () => '', isNamespaced: () => false },
    );
    expect(narrowed().rulesInClusters({ ...user('ann'), scope })).toEqual([]);
  });

  test('rights in clusters change with the assignment, and only then is there another revision', () => {
    const { revision } = rbac;
    expect([rbac.setAssignments('ann', [assigned]), rbac.revision]).toEqual([false, revision]);
    expect([rbac.setAssignments('eve', []), rbac.revision]).toEqual([false, revision]);
    expect([...rbac.assignments]).toEqual([['ann', [assigned]]]);
    expect(rbac.setAssignments('ann', [])).toBe(true);
    expect(narrowed().revision).toBe(revision + 1);
    expect([...rbac.assignments]).toEqual([]);
    expect(rbac.authorizeInClusters(user('ann'), request('get teams')).allowed).toBe(false);
  });
});
