/** Who may put whom into what: members of teams and groups of users, by the API and by a push. */
import { describe, expect, test } from 'vitest';
import { OPERATOR } from '../../../src/registry/pushes/push-assessment.ts';
import { foreignCommit } from '../../support/git.ts';
import {
  fileOf,
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';

/** Of no password that anybody knows. */
const PASSWORD_HASH = `$scrypt$ln=14,r=8,p=1$${'a'.repeat(22)}$${'a'.repeat(43)}`;
const NOT_HELD = 'is attempting to grant RBAC permissions not currently held';

/** `ops` may delete everything; `empty` may do nothing; eve writes teams and users, and reads. */
async function platform(...extra: object[]): Promise<{ at: GuardedPlatform; eve: string }> {
  const at = await openGuardedPlatform();
  await at.give(
    object('User', 'eve', { spec: {} }),
    object('User', 'bob', { spec: { groups: ['staff'] } }),
    object('User', 'gone', { spec: { disabled: true, groups: ['wheel'] } }),
    object('User', 'idle', { spec: { disabled: true } }),
    object('User', 'wheeler', { spec: { groups: ['wheel'] } }),
    object('Team', 'ops', { spec: { users: ['bob'] } }),
    object('Team', 'empty', { spec: {} }),
    object('Team', 'treasury', { spec: {} }),
    object('Team', 'vault', { spec: { owner: { team: 'treasury' } } }),
    object('Team', 'auditors', { spec: {} }),
    object('Team', 'books', { spec: { access: [{ verbs: ['get'], teams: ['auditors'] }] } }),
    object('Team', 'readers', { spec: { groups: ['reading'] } }),
    ...grant('ops', 'delete,deletecollection *', 'Group:gitplane:team:ops'),
    ...grant('wheel', 'delete *', 'Group:wheel'),
    ...grant('readers', 'get,list *', 'Group:gitplane:team:readers'),
    ...grant('eve', 'get,list,create,update,patch users,teams,sharedsecrets', 'User:eve'),
    ...grant('planned', 'update *', 'Group:gitplane:team:planned'),
    ...grant('promised', 'update *', 'User:promised'),
    ...extra,
  );
  return { at, eve: await at.giveKey('eve', { user: 'eve' }) };
}

type Change = readonly [
  claim: string,
  plural: string,
  name: string,
  spec: object,
  allowed: boolean,
];

const CHANGES: readonly Change[] = [
  ['joining a team with rights one lacks', 'teams', 'ops', { users: ['bob', 'eve'] }, false],
  ['putting somebody else into it', 'teams', 'ops', { users: ['bob', 'ann'] }, false],
  ['putting a group into it', 'teams', 'ops', { users: ['bob'], groups: ['staff'] }, false],
  ['changing anything else of it', 'teams', 'ops', { users: ['bob'], displayName: 'Ops' }, true],
  ['taking somebody out of it', 'teams', 'ops', { users: [] }, true],
  ['joining a team without rights', 'teams', 'empty', { users: ['eve'] }, true],
  ['joining a team that owns something', 'teams', 'treasury', { users: ['eve'] }, false],
  [
    'joining a team that access rules give what one has',
    'teams',
    'auditors',
    { users: ['eve'] },
    true,
  ],
  ['giving a user a group with rights', 'users', 'bob', { groups: ['staff', 'wheel'] }, false],
  [
    'giving a user a claimed group with rights',
    'users',
    'bob',
    { groups: ['staff'], ssoGroups: ['wheel'] },
    false,
  ],
  [
    'giving a user a group that is in a team with rights',
    'users',
    'bob',
    { groups: ['staff', 'reading'] },
    false,
  ],
  ['giving a user a group without rights', 'users', 'bob', { groups: ['staff', 'fun'] }, true],
  ['keeping the groups of a user', 'users', 'bob', { groups: ['staff'], displayName: 'Bob' }, true],
  ['letting a user with rights in again', 'users', 'gone', { groups: ['wheel'] }, false],
  [
    'giving a user that is shut out a password, for when somebody lets it in again',
    'users',
    'gone',
    { disabled: true, groups: ['wheel'], passwordHash: PASSWORD_HASH },
    false,
  ],
  [
    'giving a user that is shut out another identity',
    'users',
    'gone',
    { disabled: true, groups: ['wheel'], connector: 'oidc', subject: 'eve' },
    false,
  ],
  [
    'giving a user that is shut out a group with rights',
    'users',
    'idle',
    { disabled: true, groups: ['wheel'] },
    false,
  ],
  [
    'changing anything else of a user that is shut out',
    'users',
    'gone',
    { disabled: true, groups: ['wheel'], displayName: 'Gone' },
    true,
  ],
  [
    'shutting a user with rights out',
    'users',
    'wheeler',
    { disabled: true, groups: ['wheel'] },
    true,
  ],
  [
    'shutting a user with rights out with a password for later',
    'users',
    'wheeler',
    { disabled: true, groups: ['wheel'], passwordHash: PASSWORD_HASH },
    false,
  ],
];

const DISABLED = { disabled: true };
const MAKES: readonly (readonly [
  claim: string,
  kind: string,
  name: string,
  allowed: boolean,
  spec?: object,
])[] = [
  ['a team whose name has rights already', 'Team', 'planned', false],
  ['a team whose name has none', 'Team', 'fresh', true],
  ['a user whose name has rights already', 'User', 'promised', false],
  ['a user whose name has none', 'User', 'ann', true],
  ['a user whose name has rights, to be let in later', 'User', 'promised', false, DISABLED],
  ['a user whose name has none, to be let in later', 'User', 'amy', true, DISABLED],
];

// One platform for a whole table: a row that is allowed is undone before the next.
describe.each(['the API', 'a push'])('membership by %s', (way) => {
  test('changes that hand out rights take these rights', async () => {
    const { at, eve } = await platform();
    for (const [claim, plural, name, spec, allowed] of CHANGES) {
      const kind = plural === 'teams' ? 'Team' : 'User';
      const before = at.platform.find(plural, name)?.object.spec ?? {};
      const outcome =
        way === 'the API'
          ? await at.patch(eve, plural, name, (it) => {
              it.spec = structuredClone(spec);
            })
          : await at.push(eve, filesOf([object(kind, name, { spec })]));
      expect.soft(outcome.code, `${claim}: ${outcome.text}`).toBe(allowed ? 200 : 403);
      if (allowed) await at.give(object(kind, name, { spec: before }));
      else expect.soft(outcome.text, claim).toContain(NOT_HELD);
    }
  });

  test('making something that has rights already takes these rights', async () => {
    const { at, eve } = await platform();
    for (const [claim, kind, name, allowed, spec = {}] of MAKES) {
      const made = object(kind, name, { spec });
      const outcome =
        way === 'the API'
          ? await at.create(eve, kind === 'Team' ? 'teams' : 'users', made)
          : await at.push(eve, filesOf([made]));
      expect.soft(outcome.code, `${claim}: ${outcome.text}`).toBe(allowed ? 200 : 403);
    }
  });
});

test.each([
  ['the verb bind on the team', grant('b', 'bind teams ops', 'User:eve'), true],
  ['the verb bind on another team', grant('b', 'bind teams empty', 'User:eve'), false],
  ['the rights of the team', grant('b', 'delete,deletecollection *', 'User:eve'), true],
  ['a part of the rights of the team', grant('b', 'delete *', 'User:eve'), false],
  ['the verb impersonate on the team', grant('b', 'impersonate groups', 'User:eve'), false],
])('%s decides if the user may join', async (_claim, extra, allowed) => {
  const { at, eve } = await platform(...extra);
  const outcome = await at.patch(eve, 'teams', 'ops', (it) => it.spec.users.push('eve'));
  expect(outcome.code, outcome.text).toBe(allowed ? 200 : 403);
});

test('the verb bind on a group lets one give it to users', async () => {
  const { at, eve } = await platform(...grant('b', 'bind groups wheel', 'User:eve'));
  const outcome = await at.patch(eve, 'users', 'bob', (it) => it.spec.groups.push('wheel'));
  expect(outcome.code, outcome.text).toBe(200);
});

test('rights in one namespace count where they are', async () => {
  const rbac = 'rbac.authorization.k8s.io';
  const bound = (name: string, subject: object): object =>
    object(
      'RoleBinding',
      name,
      { roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'wheel' }, subjects: [subject] },
      'payments',
    );
  const subjects = { apiGroup: rbac, kind: 'Group', name: 'gitplane:team:local' };
  const { at, eve } = await platform(
    object('Team', 'local', { spec: {} }),
    bound('local', subjects),
  );
  const join = () => at.patch(eve, 'teams', 'local', (it) => (it.spec.users = ['eve']));
  expect((await join()).code).toBe(403);
  await at.give(bound('eve', { apiGroup: rbac, kind: 'User', name: 'eve' }));
  expect((await join()).code).toBe(200);
});

test('a user and the team of its group cannot be changed together where neither may alone', async () => {
  const { at, eve } = await platform();
  const user = object('User', 'bob', { spec: { groups: ['staff', 'fun'] } });
  const team = object('Team', 'ops', { spec: { users: ['bob'], groups: ['fun'] } });
  const outcome = await at.push(eve, filesOf([user, team]));
  expect(outcome.code).toBe(403);
  expect(outcome.text).toContain('Team "ops"');
});

test('a push that removes the rights of a team and joins it is judged by the rights it finds', async () => {
  const { at, eve } = await platform(...grant('b', 'delete clusterrolebindings', 'User:eve'));
  const team = object('Team', 'ops', { spec: { users: ['bob', 'eve'] } });
  const outcome = await at.push(eve, {
    ...filesOf([team]),
    [fileOf(object('ClusterRoleBinding', 'ops'))]: null,
  });
  expect(outcome.code).toBe(403);
});

describe('assigning a cluster role to a team or a user', () => {
  const assigned = (name: string): object => ({ clusterRoles: [{ name }] });

  test.each<[string, string, object[], boolean]>([
    ['whose rights one lacks', 'wheel', [], false],
    ['whose rights one has on the platform', 'eve', [], false],
    ['that is in clusters only', 'cluster-admin', [], false],
    ['that one may bind', 'wheel', grant('b', 'bind clusterroles wheel', 'User:eve'), true],
    ['while one may bind another', 'wheel', grant('b', 'bind clusterroles x', 'User:eve'), false],
  ])('%s', async (_claim, role, extra, allowed) => {
    const { at, eve } = await platform(...extra, ...grant('t', 'bind teams', 'User:eve'));
    const code = allowed ? 200 : 403;
    const patched = await at.patch(eve, 'teams', 'empty', (it) => {
      it.spec = assigned(role);
    });
    expect(patched.code, patched.text).toBe(code);
    if (!allowed) expect(patched.text).toContain(`cannot bind clusterroles "${role}"`);
    const team = object('Team', 'readers', { spec: { groups: ['reading'], ...assigned(role) } });
    expect((await at.push(eve, filesOf([team]))).code).toBe(code);
    const user = object('User', 'fresh', { spec: assigned(role) });
    expect((await at.create(eve, 'users', user)).code).toBe(code);
  });

  test('takes `bind` on the team, unless one is in it', async () => {
    const { at, eve } = await platform(
      ...grant('t', 'bind teams readers', 'User:eve'),
      ...grant('b', 'bind clusterroles eve', 'User:eve'),
    );
    const assign = (name: string): ReturnType<typeof at.patch> =>
      at.patch(eve, 'teams', name, (it) => {
        it.spec = { ...it.spec, ...assigned('eve') };
      });
    const refused = await assign('empty');
    expect([refused.code, refused.text]).toEqual([
      403,
      expect.stringContaining('cannot bind teams "empty"'),
    ]);
    const team = (name: string): object => object('Team', name, { spec: assigned('eve') });
    expect((await at.push(eve, filesOf([team('empty')]))).code).toBe(403);
    expect((await at.create(eve, 'teams', team('fresh'))).code).toBe(403);
    expect((await assign('readers')).code).toBe(200);

    await at.patch(eve, 'teams', 'auditors', (it) => {
      it.spec.users = ['eve'];
    });
    expect((await assign('auditors')).code).toBe(200);
  });

  test('is refused for a key whose scope does not reach the role', async () => {
    const { at } = await platform(...grant('root', '* *', 'User:bob'));
    const key = await at.giveKey('b', { user: 'bob', scope: { rules: [{}] } });
    const outcome = await at.patch(key, 'teams', 'empty', (it) => {
      it.spec = assigned('nowhere');
    });
    expect(outcome.code, outcome.text).toBe(403);
  });
});

describe('a cluster role that is assigned in clusters', () => {
  const all = 'get,list,create,update,patch secrets';
  const extra = [
    object('Team', 'cooks', { spec: { clusterRoles: [{ name: 'kitchen' }] } }),
    object('User', 'chef', { spec: { disabled: true, clusterRoles: [{ name: 'pantry' }] } }),
    object('Team', 'guests', { spec: { clusterRoles: [{ name: 'gathered' }] } }),
    ...grant('kitchen', 'get secrets', 'User:nobody'),
    ...grant('pantry', 'list secrets', 'User:nobody'),
    ...grant('other', 'get namespaces', 'User:nobody'),
    object('ClusterRole', 'gathered', {
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { for: 'guests' } }] },
      rules: [],
    }),
    ...grant('writer', 'get,create,update,patch clusterroles', 'User:eve'),
    ...grant('core', all, 'User:eve'),
  ];
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['update'] }];

  test.each<[string, string, string, object, boolean]>([
    ['joining its team', 'teams', 'cooks', { users: ['eve'] }, false],
    ['letting its user in', 'users', 'chef', { disabled: false }, false],
    ['joining another team', 'teams', 'empty', { users: ['eve'] }, true],
  ])('takes its rights in clusters: %s', async (_claim, plural, name, spec, allowed) => {
    const { at, eve } = await platform(...extra);
    const change = (token: string) =>
      at.patch(token, plural, name, (it) => {
        it.spec = { ...it.spec, ...spec };
      });
    const first = await change(eve);
    expect(first.code, first.text).toBe(allowed ? 200 : 403);
    if (allowed) return;
    expect(first.text).toContain(NOT_HELD);

    const roles = [{ name: 'kitchen' }, { name: 'pantry' }];
    await at.give(object('User', 'eve', { spec: { clusterRoles: roles } }));
    expect((await change(eve)).code).toBe(200);
  });

  test.each<[string, string, object, boolean]>([
    ['the role', 'kitchen', {}, false],
    ['the role of a user', 'pantry', {}, false],
    ['one that it gathers', 'other', { labels: { for: 'guests' } }, false],
    ['one that nobody has there', 'other', {}, true],
  ])('is not widened by rights on the platform: %s', async (_claim, name, metadata, allowed) => {
    const { at, eve } = await platform(...extra);
    const widen = (token: string) =>
      at.patch(token, 'clusterroles', name, (it) => {
        it.rules = rules;
        Object.assign(it.metadata, metadata);
      });
    const first = await widen(eve);
    expect(first.code, first.text).toBe(allowed ? 200 : 403);
    await at.give(...grant('e', 'escalate clusterroles', 'User:eve'));
    expect((await widen(eve)).code).toBe(200);
  });
});

test('the token generation of a user cannot go back', async () => {
  const { at, eve } = await platform(object('User', 'ann', { spec: { tokenGeneration: 3 } }));
  const outcome = await at.patch(eve, 'users', 'ann', (it) => {
    it.spec.tokenGeneration = 2;
  });
  expect(outcome.code).toBe(422);

  const { repository } = at.platform;
  const tip = (await repository.head()) ?? '';
  const lower = filesOf([object('User', 'ann', { spec: { tokenGeneration: 2 } })]);
  const removed = foreignCommit(repository.gitDir, {
    parents: [tip],
    files: { 'User-ann.yaml': null },
  });
  for (const pushed of [
    foreignCommit(repository.gitDir, { parents: [tip], files: lower }),
    foreignCommit(repository.gitDir, { parents: [removed, tip], files: lower }),
  ]) {
    const { lines } = await at.platform.push(pushed, OPERATOR);
    expect(lines[0]).toMatch(/"ann": spec\.tokenGeneration: .*must not go back, it was 3$/);
  }
});

test('thousands of groups of a user are compared once each', async () => {
  const at = await openGuardedPlatform();
  await at.give(object('User', 'root', { spec: {} }), ...grant('root', '* *', 'User:root'));
  const root = await at.giveKey('root', { user: 'root' });
  const groups = Array.from({ length: 15_000 }, (_, i) => `group-${i}`);

  const before = process.cpuUsage();
  const made = await at.create(root, 'users', object('User', 'many', { spec: { groups } }));
  const { user } = process.cpuUsage(before);

  expect(made.code).toBe(200);
  expect(user / 1000).toBeLessThan(15_000);
});
