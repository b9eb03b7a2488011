/** Access that planned changes open and close, per kind of change. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { accessChanges } from '../../src/history/plan-access.ts';
import { kindOf } from '../support/platform.ts';

const GROUP = 'management.gitplane.dev/v1';
const RBAC = 'rbac.authorization.k8s.io/v1';

function object(kind: string, rest: object): KubeObject {
  const apiVersion = kind.includes('Role') ? RBAC : GROUP;
  return { apiVersion, kind, metadata: { name: 'x' }, ...rest } as KubeObject;
}

const team = (spec: object): KubeObject => object('Team', { spec });
const subject = (name: string): object => ({ kind: 'User', name });
const binding = (...names: string[]): KubeObject =>
  object('ClusterRoleBinding', {
    roleRef: { kind: 'ClusterRole', name: 'ops' },
    subjects: names.map(subject),
  });
const role = (...verbs: string[]): KubeObject =>
  object('ClusterRole', { rules: [{ apiGroups: ['*'], resources: ['teams'], verbs }] });

test.each<[string, string, KubeObject | undefined, KubeObject | undefined, object[]]>([
  [
    'a new member of a team gets its rights',
    'teams',
    team({ users: ['ada'] }),
    team({ users: ['ada', 'bob'] }),
    [{ effect: 'opens', subject: { kind: 'User', name: 'bob' }, rightsOf: 'gitplane:team:x' }],
  ],
  [
    'another owner',
    'teams',
    team({ owner: { user: 'ada' } }),
    team({ owner: { user: 'bob' } }),
    [
      { effect: 'closes', subject: { kind: 'User', name: 'ada' } },
      { effect: 'opens', subject: { kind: 'User', name: 'bob' } },
    ],
  ],
  [
    'an access rule with one verb less',
    'teams',
    team({ access: [{ verbs: ['get', 'update'], users: ['ada'] }] }),
    team({ access: [{ verbs: ['get'], users: ['ada'] }] }),
    [
      { effect: 'closes', rule: { verbs: ['get', 'update'] } },
      { effect: 'opens', rule: { verbs: ['get'] } },
    ],
  ],
  [
    'a subject that leaves a binding',
    'clusterrolebindings',
    binding('ada', 'bob'),
    binding('ada'),
    [{ effect: 'closes', subject: { kind: 'User', name: 'bob' }, role: 'ClusterRole/ops' }],
  ],
  [
    'another rule of a role',
    'clusterroles',
    role('get'),
    role('get', 'list'),
    [
      { effect: 'closes', rule: { verbs: ['get'], resources: ['teams'] } },
      { effect: 'opens', rule: { verbs: ['get', 'list'], resources: ['teams'] } },
    ],
  ],
  [
    'a deleted binding',
    'clusterrolebindings',
    binding('ada'),
    undefined,
    [{ effect: 'closes', subject: { kind: 'User', name: 'ada' }, role: 'ClusterRole/ops' }],
  ],
  [
    'another label',
    'teams',
    team({ users: ['ada'] }),
    team({ users: ['ada'], displayName: 'X' }),
    [],
  ],
  ['a new user', 'users', undefined, object('User', { spec: {} }), []],
  [
    'a user in another group',
    'users',
    object('User', { spec: {} }),
    object('User', { spec: { groups: ['system:masters'] } }),
    [{ effect: 'opens', subject: { kind: 'User', name: 'x' }, rightsOf: 'system:masters' }],
  ],
  [
    'a user joins the team of its name',
    'teams',
    team({}),
    team({ users: ['x'] }),
    [{ effect: 'opens', subject: { kind: 'User', name: 'x' }, rightsOf: 'gitplane:team:x' }],
  ],
  ['a deleted team without members', 'teams', team({}), undefined, []],
])('%s', (_title, plural, before, after, expected) => {
  expect(accessChanges(kindOf(plural), before, after)).toMatchObject(expected);
});

test('a rule with thousands of verbs for thousands of users costs what it lists, and is cut', () => {
  const verbs = Array.from({ length: 4_000 }, (_, i) => `v${i}`);
  const users = Array.from({ length: 20_000 }, (_, i) => `user-${i}`);
  const metadata = { name: 'a' };
  const head = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata };
  const rule = { name: 'r', verbs, subresources: ['*'], users };
  const begin = process.cpuUsage();
  const found = accessChanges(kindOf('teams'), head, { ...head, spec: { access: [rule] } });
  // Ten seconds and 500 MB where the rule is written down for each user.
  expect(process.cpuUsage(begin).user).toBeLessThan(3_000_000);
  expect(found).toHaveLength(200);
  expect(found[0]?.rule?.verbs.slice(-2)).toEqual(['v99', '… and 3900 more']);
});

test('a verb of any length is cut, and the cut rule is in memory once for all users', () => {
  const verbs = Array.from({ length: 101 }, (_, i) => `v${'a'.repeat(9_000)}-${i}`);
  const users = Array.from({ length: 200 }, (_, i) => `user-${i}`);
  const head = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata: { name: 'a' } };
  const found = accessChanges(kindOf('teams'), head, {
    ...head,
    spec: { access: [{ verbs, users }] },
  });
  expect(found[0]?.rule?.verbs[0]).toBe(`v${'a'.repeat(254)}…`);
  expect(new Set(found.map(({ rule }) => rule)).size).toBe(1);
});
