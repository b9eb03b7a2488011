/** Who may name whom as an owner, in access rules, and what they have to hold for it. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import type { User } from '../../src/apimachinery/request.ts';
import { delegationProblem } from '../../src/auth/escalation/delegation.ts';
import { RbacAuthorizer } from '../../src/auth/rbac/authorizer.ts';
import { accessGrants } from '../../src/kinds/access/access-grants.ts';
import { kindOf } from '../support/platform.ts';
import { clusterBinding, clusterRole } from './builders.ts';

const kind = kindOf('teams');
const GROUP = 'rbac.authorization.k8s.io';

interface Spec {
  readonly owner?: { user?: string; team?: string };
  readonly access?: readonly object[];
}

function object(spec: Spec | undefined): KubeObject | undefined {
  if (spec === undefined) return undefined;
  const metadata = { name: 'payments' };
  return { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata, spec } as never;
}

const eve: User = { name: 'eve', groups: ['system:authenticated', 'gitplane:team:blue'] };

/** Rights that eve holds by a role, as `verbs resources names`. */
function rightsOf(rules: readonly string[], old: KubeObject | undefined): RbacAuthorizer {
  const rbac = new RbacAuthorizer();
  const add = (name: string, rule: object, subject: string): void => {
    const head = { apiVersion: `${GROUP}/v1`, metadata: { name } };
    rbac.setRole({ ...head, kind: 'ClusterRole', rules: [rule] } as never);
    rbac.setBinding({
      ...head,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name },
      subjects: [{ apiGroup: GROUP, kind: 'User', name: subject }],
    } as never);
  };
  for (const [index, text] of rules.entries()) {
    const [verbs = '', resources = '', names = ''] = text.split(' ');
    const rule = {
      apiGroups: ['management.gitplane.dev'],
      verbs: verbs.split(','),
      resources: resources.split(','),
      resourceNames: names === '' ? [] : names.split(','),
    };
    add(`rule-${index}`, rule, 'eve');
  }
  // What the object grants before the write.
  for (const grant of old === undefined ? [] : accessGrants(kind, old)) {
    for (const { name } of grant.subjects) add(`${grant.content}:${name}`, grant.rule, name);
  }
  return rbac;
}

const mine = { owner: { user: 'eve' } };
const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const get = { verbs: ['get'], users: ['bob'] };

describe('a write of owners and access rules', () => {
  test.each<[string, Spec | undefined, Spec, readonly string[], string | undefined]>([
    ['makes an object of one’s own', undefined, mine, [], undefined],
    ['makes an object of one’s own team', undefined, { owner: { team: 'blue' } }, [], undefined],
    [
      'gives rights on a new object of one’s own',
      undefined,
      { ...mine, access: [get] },
      [],
      undefined,
    ],
    [
      'gives rights on a new object of nobody',
      undefined,
      { access: [get] },
      [],
      'not currently held',
    ],
    ['gives rights that are held by a role', {}, { access: [get] }, ['get teams'], undefined],
    [
      'gives rights that are held on that object',
      {},
      { access: [get] },
      ['get teams payments'],
      undefined,
    ],
    [
      'gives rights that are held on another',
      {},
      { access: [get] },
      ['get teams other'],
      'not currently held',
    ],
    [
      'gives more verbs than are held',
      {},
      { access: [{ ...get, verbs: ['*'] }] },
      ['get,update teams'],
      'not currently held',
    ],
    [
      'gives subresources that are not held',
      {},
      { access: [{ ...get, subresources: ['*'] }] },
      ['get teams'],
      'not currently held',
    ],
    [
      'gives an owner’s rights',
      mine,
      { ...mine, access: [{ ...get, verbs: ['*'] }] },
      [],
      undefined,
    ],
    [
      'gives oneself rights',
      {},
      { access: [{ verbs: ['*'], users: ['eve'] }] },
      ['update teams'],
      'not currently held',
    ],
    [
      'gives everyone rights',
      {},
      { access: [{ verbs: ['get'], users: ['*'] }] },
      ['update teams'],
      'not currently held',
    ],
    ['takes an object', {}, mine, ['update teams'], 'not currently held'],
    [
      'takes an object from its owner',
      { owner: { user: 'bob' } },
      mine,
      ['update teams'],
      'not currently held',
    ],
    [
      'leaves an object without its owner',
      { owner: { user: 'bob' } },
      {},
      ['update teams'],
      'not currently held',
    ],
    [
      'leaves everything as it is',
      { owner: { user: 'bob' }, access: [get] },
      { owner: { user: 'bob' }, access: [get] },
      [],
      undefined,
    ],
    ['takes rights away', { access: [get] }, {}, ['update teams'], undefined],
    // covers: accessRule.name
    [
      'renames a rule',
      { access: [get] },
      { access: [{ ...get, name: 'x' }] },
      ['update teams'],
      undefined,
    ],
    [
      'hands ownership to another',
      mine,
      { owner: { user: 'bob' } },
      [],
      'cannot makeowner users "bob"',
    ],
    [
      'hands ownership to another, allowed',
      mine,
      { owner: { user: 'bob' } },
      ['makeowner users bob'],
      undefined,
    ],
    // covers: Team.verbs.makeowner authentication.makeowner
    [
      'hands ownership to another team',
      mine,
      { owner: { team: 'red' } },
      ['makeowner teams other'],
      'cannot makeowner teams "red"',
    ],
    ['hands ownership to one’s own team', mine, { owner: { team: 'blue' } }, [], undefined],
    [
      'makes an object of another and gives rights on it',
      undefined,
      { owner: { user: 'bob' }, access: [{ verbs: ['get'], users: ['carol'] }] },
      ['makeowner users bob'],
      'not currently held',
    ],
    [
      'makes an object of another team and gives rights on it',
      undefined,
      { owner: { team: 'red' }, access: [{ verbs: ['get'], users: ['carol'] }] },
      ['makeowner teams red'],
      'not currently held',
    ],
    // covers: Team.verbs.bind authentication.bind
    [
      'names a team of others',
      mine,
      { ...mine, access: [{ verbs: ['get'], teams: ['red'] }] },
      [],
      'cannot bind teams "red"',
    ],
    // covers: Team.verbs.bind authentication.bind
    [
      'names a team of others, allowed',
      mine,
      { ...mine, access: [{ verbs: ['get'], teams: ['red'] }] },
      ['bind teams red'],
      undefined,
    ],
    [
      'keeps a team of others that was named before',
      { ...mine, access: [{ verbs: ['get'], teams: ['red'] }] },
      { ...mine, access: [{ verbs: ['get'], teams: ['red'] }, get] },
      [],
      undefined,
    ],
    [
      'names a team of others in a new object',
      undefined,
      { ...mine, access: [{ verbs: ['get'], teams: ['red'] }] },
      [],
      'cannot bind',
    ],
    [
      'names one’s own team',
      mine,
      { ...mine, access: [{ verbs: ['get'], teams: ['blue'] }] },
      [],
      undefined,
    ],
  ])(
    'a write of owners and access rules is judged: it %s',
    (_what, before, after, rules, problem) => {
      const old = object(before);
      const wanted = object(after);
      if (wanted === undefined) throw new Error('unreachable');
      const refusal = delegationProblem(rightsOf(rules, old), {
        user: eve,
        kind,
        object: wanted,
        old,
      });

      if (problem === undefined) expect(refusal).toBeUndefined();
      else expect(refusal).toMatchObject({ code: 403, message: expect.stringContaining(problem) });
    },
  );

  test('a member of system:masters may give anything', () => {
    const user = { name: 'root', groups: ['system:masters'] };
    const wanted = object({ owner: { user: 'bob' }, access: [{ verbs: ['*'], teams: ['red'] }] });

    expect(
      delegationProblem(new RbacAuthorizer(), {
        user,
        kind,
        object: wanted as KubeObject,
        old: undefined,
      }),
    ).toBeUndefined();
  });

  test('an owner field of a kind without access rules means nothing', () => {
    const config = kindOf('config');
    expect(config.hasAccessRules).toBe(false);
    const wanted = object({ owner: { user: 'bob' }, access: [get] }) as KubeObject;
    const write = { user: eve, kind: config, object: wanted, old: undefined };

    expect(delegationProblem(new RbacAuthorizer(), write)).toBeUndefined();
  });

  test.each([
    ['everything', [], undefined],
    ['everything about one name', ['other'], 'not currently held'],
  ])('the holder of %s gives rights on any object', (_what, resourceNames, problem) => {
    const rbac = new RbacAuthorizer();
    rbac.setRole(clusterRole('r', [{ ...everything, resourceNames }]));
    rbac.setBinding(clusterBinding('b', 'ClusterRole:r', 'User:eve'));
    const wanted = object({ access: [get] }) as KubeObject;
    const write = { user: eve, kind, object: wanted, old: object({}) };

    expect(delegationProblem(rbac, write)?.message ?? '').toContain(problem ?? '');
    expect(delegationProblem(rbac, write) === undefined).toBe(problem === undefined);
  });
});
