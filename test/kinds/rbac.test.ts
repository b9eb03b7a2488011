import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import { RBAC_GROUP } from '../../src/kinds/kind.ts';
import { kindNamed, object, problems } from './objects.ts';

const rule = { verbs: ['get'], apiGroups: ['a'], resources: ['b'] };
const user = { kind: 'User', name: 'ada', apiGroup: RBAC_GROUP };
const clusterRole = { kind: 'ClusterRole', name: 'viewer', apiGroup: RBAC_GROUP };

describe.each(['Role', 'ClusterRole'])('rules of %s', (kind) => {
  test.each<[JsonObject]>([
    [{}],
    [{ rules: [] }],
    [{ rules: null }],
    [{ rules: [rule] }],
    [{ rules: [{ ...rule, resourceNames: ['x'] }] }],
  ])('may be %j', (fields) => {
    expect(problems(object(kind, fields))).toEqual([]);
  });

  test.each<[string, JsonObject, string]>([
    ['no verbs field', { apiGroups: ['a'], resources: ['b'] }, 'rules[0].verbs: Required value'],
    [
      'no verbs',
      { ...rule, verbs: [] },
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'no API group',
      { ...rule, apiGroups: [] },
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
    ],
    [
      'no resource',
      { ...rule, resources: [] },
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
    [
      'an unknown field',
      { ...rule, resource: ['b'] },
      'rules[0].resource: Forbidden: unknown field, did you mean "resources"?',
    ],
  ])('are refused with %s', (_, bad, message) => {
    expect(problems(object(kind, { rules: [bad] }))).toEqual([message]);
  });
});

describe('URLs', () => {
  const urls = { verbs: ['get'], nonResourceURLs: ['/metrics'] };

  test('may be in a ClusterRole', () => {
    expect(problems(object('ClusterRole', { rules: [urls] }))).toEqual([]);
  });

  test('may not be in a Role', () => {
    expect(problems(object('Role', { rules: [urls] }))).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: namespaced rules cannot apply to non-resource URLs',
    ]);
  });

  test('may not be beside resources', () => {
    expect(problems(object('ClusterRole', { rules: [{ ...rule, ...urls }] }))).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/metrics"]: rules cannot apply to both regular resources and non-resource URLs',
    ]);
  });
});

describe('aggregation', () => {
  const aggregate = (...clusterRoleSelectors: JsonObject[]): string[] =>
    problems(object('ClusterRole', { aggregationRule: { clusterRoleSelectors } }));

  test('selects cluster roles by label', () => {
    expect(
      aggregate(
        { matchLabels: { 'a.b/c': 'd' } },
        { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
      ),
    ).toEqual([]);
  });

  test.each<[JsonObject, string]>([
    [{ matchLabels: { 'a b': 'c' } }, 'aggregationRule.clusterRoleSelectors[0].matchLabels'],
    [{ matchLabels: { a: 'b c' } }, 'aggregationRule.clusterRoleSelectors[0].matchLabels.a'],
    [{ matchExpressions: [{ key: 'a', operator: 'In' }] }, 'values: Required value'],
    [{ matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }, 'values: Forbidden'],
    [{ matchExpressions: [{ key: 'a', operator: 'Like' }] }, 'Unsupported value: "Like"'],
  ])('refuses %j', (selector, message) => {
    expect(aggregate(selector)).toEqual([expect.stringContaining(message)]);
  });

  test('needs a selector', () => {
    expect(aggregate()).toEqual([expect.stringContaining('at least one clusterRoleSelector')]);
  });
});

describe.each(['RoleBinding', 'ClusterRoleBinding'])('%s', (kind) => {
  const bind = (fields: JsonObject): string[] =>
    problems(object(kind, { roleRef: clusterRole, ...fields }));

  test('gives a role to users and groups', () => {
    expect(
      bind({ subjects: [user, { ...user, kind: 'Group', name: 'gitplane:team:ops' }] }),
    ).toEqual([]);
    expect(bind({ subjects: null })).toEqual([]);
    expect(bind({})).toEqual([]);
  });

  test('may leave out API groups, which are filled in as Kubernetes does', () => {
    const subject = object(kind, {
      roleRef: { kind: 'ClusterRole', name: 'viewer' },
      subjects: [
        { kind: 'User', name: 'ada' },
        { kind: 'Group', name: 'ops', apiGroup: '' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'ops' },
      ],
    });
    expect(problems(subject)).toEqual([]);
    kindNamed(kind).setDefaults(subject);
    expect(subject['roleRef']).toEqual(clusterRole);
    expect(subject['subjects']).toEqual([
      user,
      { kind: 'Group', name: 'ops', apiGroup: RBAC_GROUP },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'ops' },
    ]);
  });

  test.each<[string, JsonObject, string]>([
    ['no role', { roleRef: null }, 'roleRef'],
    [
      'a role without name',
      { roleRef: { ...clusterRole, name: '' } },
      'roleRef.name: Required value',
    ],
    [
      'a role with a slash',
      { roleRef: { ...clusterRole, name: 'a/b' } },
      `roleRef.name: Invalid value: "a/b": may not contain '/'`,
    ],
    [
      'another kind of role',
      { roleRef: { ...clusterRole, kind: 'Team' } },
      'roleRef.kind: Unsupported value: "Team"',
    ],
    [
      'another group of role',
      { roleRef: { ...clusterRole, apiGroup: 'x' } },
      'roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
    ],
    [
      'a subject without name',
      { subjects: [{ ...user, name: '' }] },
      'subjects[0].name: Required value',
    ],
    [
      'another kind of subject',
      { subjects: [{ ...user, kind: 'Team' }] },
      'subjects[0].kind: Unsupported value: "Team": supported values: "Group", "ServiceAccount", "User"',
    ],
    [
      'another group of subject',
      { subjects: [{ ...user, apiGroup: 'x' }] },
      'subjects[0].apiGroup: Unsupported value: "x"',
    ],
    [
      'a service account with a group',
      { subjects: [{ kind: 'ServiceAccount', name: 'a', namespace: 'b', apiGroup: 'x' }] },
      'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
    ],
    [
      'a service account with an odd name',
      { subjects: [{ kind: 'ServiceAccount', name: 'A', namespace: 'b' }] },
      'subjects[0].name: Invalid value: "A"',
    ],
  ])('is refused with %s', (_, fields, message) => {
    const found = bind(fields);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(message);
  });

  test('cannot change its role, but everything else', () => {
    const old = object(kind, { roleRef: clusterRole, subjects: [user] });
    const implicit = { kind: 'ClusterRole', name: 'viewer' };
    expect(problems(object(kind, { roleRef: implicit, subjects: [] }), old)).toEqual([]);
    expect(problems(object(kind, { roleRef: { ...clusterRole, name: 'admin' } }), old)).toEqual([
      expect.stringMatching(/^roleRef: Invalid value: .*: cannot change roleRef$/),
    ]);
  });
});

test('a Role can be bound in a namespace only', () => {
  const roleRef = { kind: 'Role', name: 'x' };
  expect(problems(object('RoleBinding', { roleRef }))).toEqual([]);
  expect(problems(object('ClusterRoleBinding', { roleRef }))).toEqual([
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
  ]);
});

test('a service account needs its namespace where the binding has none', () => {
  const subjects = [{ kind: 'ServiceAccount', name: 'robot' }];
  const fields = { roleRef: clusterRole, subjects };
  expect(problems(object('RoleBinding', fields))).toEqual([]);
  expect(problems(object('ClusterRoleBinding', fields))).toEqual([
    'subjects[0].namespace: Required value',
  ]);
});

test.each(['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'])(
  '%s may have a name with colons, as system roles have',
  (kind) => {
    expect(kindNamed(kind).nameRule('system:node-proxier')).toEqual([]);
    expect(kindNamed(kind).nameRule('a/b')).not.toEqual([]);
  },
);
