/** A role or an access rule that is given to a team takes `bind` on that team (spec section 2.4). */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
  RBAC,
} from '../../support/guarded-platform.ts';

let at: GuardedPlatform;
/** Holds what the role `readers` gives, may write bindings, and is a member of the team `blue`. */
let eve: string;
/** The same, with `bind` on the team `red`. */
let bob: string;
const ROOT = { name: 'gitplane', groups: ['system:masters'] };

beforeEach(async () => {
  at = await openGuardedPlatform();
  await at.give(
    object('User', 'eve', { spec: {} }),
    object('User', 'bob', { spec: {} }),
    object('Team', 'blue', { spec: { users: ['eve'] } }),
    object('Team', 'red', { spec: {} }),
    ...grant('eve', '* rolebindings,clusterrolebindings,sharedsecrets', 'User:eve'),
    ...grant('bob', '* rolebindings,clusterrolebindings,sharedsecrets', 'User:bob'),
    ...grant('binds', 'bind teams red', 'User:bob'),
    object('ClusterRole', 'readers', {
      rules: [{ apiGroups: ['*'], resources: ['sharedsecrets'], verbs: ['get'] }],
    }),
    object('ClusterRole', 'writers', {
      rules: [{ apiGroups: ['*'], resources: ['sharedsecrets'], verbs: ['update'] }],
    }),
    binding('ClusterRoleBinding', ['Group gitplane:team:red', 'User ann'], 'readers', 'there'),
  );
  eve = await at.giveKey('eve', { user: 'eve' });
  bob = await at.giveKey('bob', { user: 'bob' });
});

function binding(kind: string, subjects: string[], role = 'readers', name = 'made'): object {
  const fields = {
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects: subjects.map((subject) => {
      const [kindOf, of] = subject.split(' ');
      return { apiGroup: RBAC, kind: kindOf, name: of };
    }),
  };
  return object(kind, name, fields, kind === 'RoleBinding' ? 'shop' : '');
}

const REFUSED = 'cannot bind teams "red"';

describe.each(['RoleBinding', 'ClusterRoleBinding'])('a %s', (kind) => {
  const plural = `${kind.toLowerCase()}s`;
  const namespace = kind === 'RoleBinding' ? 'shop' : '';
  test.each<[string, string[], boolean]>([
    // covers: Team.verbs.bind authentication.bind
    ['to a team of others takes bind on it', ['Group gitplane:team:red'], false],
    ['to keys of a team of others takes bind on it', ['User gitplane:team:red'], false],
    [
      'to such a team beside others takes bind on it',
      ['User ann', 'Group gitplane:team:red'],
      false,
    ],
    ['to a team of one’s own takes no more than the role', ['Group gitplane:team:blue'], true],
    ['to a user takes no more than the role', ['User gitplane:user:red', 'User red'], true],
    [
      'to another group takes no more than the role',
      ['Group red', 'Group system:authenticated'],
      true,
    ],
  ])('%s', async (_claim, subjects, isAllowed) => {
    for (const [key, allowed] of [
      [eve, isAllowed],
      [bob, true],
    ] as const) {
      const name = key === eve ? 'eve' : 'bob';
      // Bob is in no team: what eve may do as a member, bob may not.
      if (name === 'bob' && subjects.includes('Group gitplane:team:blue')) continue;
      const made = await at.create(
        key,
        plural,
        binding(kind, subjects, 'readers', `${name}-1`),
        namespace,
      );
      expect(made.code, made.text).toBe(allowed ? 200 : 403);
      const pushed = await at.push(key, filesOf([binding(kind, subjects, 'readers', `${name}-2`)]));
      expect(pushed.code, pushed.text).toBe(allowed ? 200 : 403);
      if (!allowed) for (const { text } of [made, pushed]) expect(text).toContain(REFUSED);
    }
  });
});

describe('a binding that a team is in', () => {
  const change = (subjects: string[], role = 'readers'): Promise<{ code: number; text: string }> =>
    at.push(eve, filesOf([binding('ClusterRoleBinding', subjects, role, 'there')]));

  test('can be changed where the team stays, and lose it', async () => {
    expect((await change(['Group gitplane:team:red', 'User ann', 'User eve'])).code).toBe(200);
    expect((await change(['User ann'])).code).toBe(200);
    const again = await change(['User ann', 'Group gitplane:team:red']);
    expect(again).toMatchObject({ code: 403, text: expect.stringContaining(REFUSED) });
  });

  test('cannot be given another role by a user who may not bind to the team', () => {
    const [before, after] = ['readers', 'writers'].map((role) =>
      binding('ClusterRoleBinding', ['Group gitplane:team:red'], role, 'there'),
    );
    const of = { kind: at.kindOf('clusterrolebindings'), object: after, old: before };
    expect(at.objection({ user: at.who(eve), ...of } as never)?.message).toContain(REFUSED);
    expect(at.objection({ user: at.who(bob), ...of } as never)).toBeUndefined();
    expect(at.objection({ user: ROOT, ...of } as never)).toBeUndefined();
  });
});

test('an access rule for the keys of a team takes bind on the team', async () => {
  const secret = (name: string): object =>
    object(
      'SharedSecret',
      name,
      { spec: { access: [{ verbs: ['get'], users: ['gitplane:team:red'] }] } },
      'shop',
    );
  const refused = await at.push(eve, filesOf([secret('a')]));
  expect(refused).toMatchObject({ code: 403, text: expect.stringContaining(REFUSED) });
  expect((await at.push(bob, filesOf([secret('b')]))).code).toBe(200);
});
