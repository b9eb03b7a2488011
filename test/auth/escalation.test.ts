import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { escalationProblem, isSuperuser } from '../../src/auth/escalation/escalation.ts';
import { RbacAuthorizer } from '../../src/auth/rbac/authorizer.ts';
import { ScopedAuthorizer } from '../../src/auth/rbac/scoped-authorizer.ts';
import { Scope } from '../../src/auth/scope/scope.ts';
import {
  aggregatedRole,
  binding,
  clusterBinding,
  clusterRole,
  type RuleInput,
  role,
  someone,
} from './builders.ts';

const RBAC = 'rbac.authorization.k8s.io';
const readTeams = { verbs: ['get', 'list'], apiGroups: ['g'], resources: ['teams'] };
const readPods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const everything: RuleInput[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
const ann = someone('ann', 'ops', 'system:authenticated');

let rbac: RbacAuthorizer;

beforeEach(() => {
  rbac = new RbacAuthorizer();
  rbac.setRole(clusterRole('readers', [readTeams]));
  rbac.setRole(clusterRole('secret-readers', [readPods]));
});

function scopeOf(spec: JsonObject): Scope {
  return new Scope(spec, { group: 'g', projectPrefix: () => 'p-', isNamespaced: () => false });
}

/** Gives ann rules cluster-wide, or in a namespace. */
function give(namespace: string, ...rules: RuleInput[]): void {
  rbac.setRole(clusterRole(`given-${namespace}`, rules));
  const ref = `ClusterRole:given-${namespace}`;
  if (namespace === '') rbac.setBinding(clusterBinding('given', ref, 'User:ann'));
  else rbac.setBinding(binding(namespace, 'given', ref, 'User:ann'));
}

function may(verb: string, resources: string, ...resourceNames: string[]): RuleInput {
  return { verbs: [verb], apiGroups: [RBAC], resources: [resources], resourceNames };
}

function problem(object: KubeObject, old?: KubeObject): string | undefined {
  return escalationProblem(rbac, { user: ann, object, old })?.message;
}

describe('a role', () => {
  test('may be written by a user who holds its rules', () => {
    give('', readTeams);
    expect(problem(clusterRole('r', [{ ...readTeams, verbs: ['get'] }]))).toBeUndefined();
    expect(problem(role('ns', 'r', [readTeams]))).toBeUndefined();
  });

  test('may not be written by a user without its rules, and the message names the missing ones', () => {
    give('', { ...readTeams, verbs: ['get'] });
    const refused = escalationProblem(rbac, {
      user: ann,
      object: clusterRole('r', [readTeams, readPods]),
    });
    expect(refused?.toStatus()).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      details: { name: 'r', group: RBAC, kind: 'clusterroles' },
      message: `clusterroles.${RBAC} "r" is forbidden: user "ann" (groups=["ops" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["get"]}
{APIGroups:["g"], Resources:["teams"], Verbs:["list"]}`,
    });
  });

  test('a role in a namespace needs rights there, and a ClusterRole needs them everywhere', () => {
    give('ns', readTeams);
    expect(problem(role('ns', 'r', [readTeams]))).toBeUndefined();
    expect(problem(role('other', 'r', [readTeams]))).toContain('not currently held');
    expect(problem(clusterRole('r', [readTeams]))).toContain('not currently held');
  });

  test.each([
    ['escalate on the kind', may('escalate', 'clusterroles'), undefined],
    ['escalate on the role', may('escalate', 'clusterroles', 'r'), undefined],
    ['escalate on another role', may('escalate', 'clusterroles', 'x'), 'not currently held'],
    ['escalate on roles in namespaces', may('escalate', 'roles'), 'not currently held'],
    ['bind', may('bind', 'clusterroles'), 'not currently held'],
    ['update', may('update', 'clusterroles'), 'not currently held'],
  ])('a role is written by the holder of %s', (_claim, held, expected) => {
    give('', held);
    const said = problem(clusterRole('r', everything));
    if (expected === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(expected);
  });

  test('a role with an aggregationRule needs every right, also for later changes', () => {
    const why = 'must have cluster-admin privileges to use the aggregationRule';
    const gathers = aggregatedRole('r', [{ matchLabels: { a: 'b' } }]);
    give('', readTeams);
    expect(problem(gathers)).toContain(why);
    expect(problem(clusterRole('r', [readTeams]), gathers)).toContain(why);
    expect(problem(aggregatedRole('r', []))).toBeUndefined();
    give('', ...everything);
    expect(problem(gathers)).toBeUndefined();
  });

  test('cannot take over the labels of an aggregated one without its rules', () => {
    const before = clusterRole('r', [readTeams]);
    const after = clusterRole('r', [readTeams], { 'aggregate-to': 'admin' });
    expect(problem(after, before)).toContain('not currently held');
  });
});

describe('a ClusterRole that is assigned in clusters', () => {
  const assign = (user: string, ref: string) =>
    rbac.setAssignments(user, [
      clusterBinding(`${user}-${ref}`, `ClusterRole:${ref}`, `User:${user}`),
    ]);

  test('an assigned ClusterRole takes its rights there, beside those on the platform', () => {
    give('', readTeams);
    assign('bob', 'assigned');
    expect(problem(clusterRole('assigned', [readTeams]))).toContain('not currently held');
    expect(problem(clusterRole('free', [readTeams]))).toBeUndefined();
    expect(problem(role('ns', 'assigned', [readTeams]))).toBeUndefined();
  });

  test('a writer that holds the rights in clusters and on the platform may write it', () => {
    give('', readTeams);
    assign('bob', 'assigned');
    assign('ann', 'readers');
    expect(problem(clusterRole('assigned', [readTeams]))).toBeUndefined();
    expect(problem(clusterRole('assigned', [readPods]))).toContain('not currently held');
  });
});

describe('a binding', () => {
  test.each([
    ['cluster-wide, by who holds the rules', '', 'readers', undefined],
    ['cluster-wide, by who does not', '', 'secret-readers', 'not currently held'],
    ['in a namespace, by who holds the rules everywhere', 'ns', 'readers', undefined],
    ['in a namespace, by who does not', 'ns', 'secret-readers', 'not currently held'],
  ])('%s', (_claim, namespace, ref, expected) => {
    give('', readTeams);
    const said = problem(bindingOf(namespace, `ClusterRole:${ref}`));
    if (expected === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(expected);
  });

  test('a binding in a namespace needs rights of that namespace alone', () => {
    give('ns', readTeams);
    expect(problem(bindingOf('ns', 'ClusterRole:readers'))).toBeUndefined();
    expect(problem(bindingOf('other', 'ClusterRole:readers'))).toContain('not currently held');
    expect(problem(bindingOf('', 'ClusterRole:readers'))).toContain('not currently held');
  });

  test.each([
    ['on the role, everywhere', '', may('bind', 'clusterroles', 'secret-readers'), '', undefined],
    ['on the role, in the namespace', 'ns', may('bind', 'clusterroles'), 'ns', undefined],
    [
      'in the namespace, for one elsewhere',
      'ns',
      may('bind', 'clusterroles'),
      'x',
      'not currently',
    ],
    [
      'in the namespace, for a cluster-wide one',
      'ns',
      may('bind', 'clusterroles'),
      '',
      'not currently',
    ],
    ['on another role', '', may('bind', 'clusterroles', 'readers'), '', 'not currently held'],
    ['on roles only', '', may('bind', 'roles'), '', 'not currently held'],
  ])('is written with bind %s', (_claim, heldIn, held, namespace, expected) => {
    give(heldIn, held);
    const said = problem(bindingOf(namespace, 'ClusterRole:secret-readers'));
    if (expected === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(expected);
  });

  test('a binding of a role that does not exist needs bind, since the role may come later', () => {
    give('', readTeams);
    const refused = escalationProblem(rbac, {
      user: ann,
      object: bindingOf('', 'ClusterRole:gone'),
    });
    expect(refused?.code).toBe(404);
    expect(refused?.message).toBe(`clusterroles.${RBAC} "gone" not found`);
    expect(problem(bindingOf('ns', 'Role:gone'))).toBe(`roles.${RBAC} "gone" not found`);
    give('', may('bind', 'clusterroles'));
    expect(problem(bindingOf('', 'ClusterRole:gone'))).toBeUndefined();
  });

  test('a binding that is cluster-wide cannot name a Role, not even with bind', () => {
    give('', may('bind', '*'));
    rbac.setRole(role('ns', 'r', [readTeams]));
    expect(problem(bindingOf('', 'Role:r'))).toContain('not found');
  });

  test('a binding of an aggregated role needs the rules that it gathers', () => {
    rbac.setRole(aggregatedRole('gathers', [{ matchLabels: { part: 'yes' } }]));
    rbac.setRole(clusterRole('part', [readPods], { part: 'yes' }));
    give('', readTeams);
    expect(problem(bindingOf('', 'ClusterRole:gathers'))).toContain('Resources:["pods"]');
  });
});

function bindingOf(namespace: string, ref: string): KubeObject {
  return namespace === ''
    ? clusterBinding('b', ref, 'User:bob')
    : binding(namespace, 'b', ref, 'User:bob');
}

test('a member of system:masters writes what it likes', () => {
  const user = someone('root', 'system:masters');
  expect(escalationProblem(rbac, { user, object: clusterRole('r', everything) })).toBeUndefined();
  const object = bindingOf('', 'ClusterRole:gone');
  expect(escalationProblem(rbac, { user, object })).toBeUndefined();
});

test('a change of owners and finalizers only needs no rights', () => {
  const old = clusterRole('r', everything);
  const metadata = { ...old.metadata, finalizers: [], resourceVersion: '7', uid: 'x' };
  expect(problem({ ...old, metadata }, old)).toBeUndefined();
  expect(problem({ ...old, metadata, rules: [readPods] }, old)).toContain('not currently held');
});

test('a scope limits a superuser', () => {
  const root = someone('root', 'system:masters');
  const scoped = { ...root, scope: scopeOf({ rules: [{ verbs: ['get'] }] }), accessKey: 'k' };
  expect([isSuperuser(root), isSuperuser(scoped), isSuperuser(ann)]).toEqual([true, false, false]);
  const rights = new ScopedAuthorizer(rbac);
  const refused = escalationProblem(rights, { user: scoped, object: clusterRole('r', everything) });
  expect(refused?.message).toContain('within the scope of access key "k",');
  expect(escalationProblem(rights, { user: root, object: clusterRole('r', everything) })).toBe(
    undefined,
  );
});

test('other kinds are no concern of this check', () => {
  const team = { apiVersion: 'management.gitplane.dev/v1', kind: 'Role', metadata: { name: 'r' } };
  expect(problem({ ...clusterRole('r', everything), ...team })).toBeUndefined();
});

test('the message of a very large role is cut short', () => {
  const resources = Array.from({ length: 500 }, (_, i) => `r${i}`);
  const said = problem(clusterRole('r', [{ ...readTeams, resources }])) ?? '';
  expect(said.split('\n')).toHaveLength(52);
  expect(said).toContain('… and 450 more');
});

test.each([
  [50, 51, undefined],
  [51, 52, '… and 1 more'],
])('the message of a role with %i rights has %i lines', (count, lines, last) => {
  const resources = Array.from({ length: count }, (_, i) => `r${i}`);
  const said = (
    problem(clusterRole('r', [{ ...readTeams, verbs: ['get'], resources }])) ?? ''
  ).split('\n');
  expect(said).toHaveLength(lines);
  if (last === undefined) expect(said.join()).not.toContain('…');
  else expect(said.at(-1)).toBe(last);
});

test.each([
  [1000, ''],
  [1001, '…'],
])('a right of %i characters is shown up to the thousandth', (length, end) => {
  const around = '{APIGroups:["g"], Resources:[""], Verbs:["get"]}'.length;
  const name = 'r'.repeat(length - around);
  const said =
    problem(clusterRole('r', [{ ...readTeams, verbs: ['get'], resources: [name] }])) ?? '';
  const line = said.split('\n').at(-1) ?? '';
  expect(line).toBe(`{APIGroups:["g"], Resources:["${name}"], Verbs:["get"]}`.slice(0, 1000) + end);
});
