/** What a key with a scope cannot do whatever its owner may: reach beyond itself by any road. */
import { beforeEach, describe, expect, test } from 'vitest';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/credentials/access-key.ts';
import {
  filesOf,
  type GuardedPlatform,
  grant,
  MANAGEMENT,
  object,
  openGuardedPlatform,
  RBAC,
} from '../../support/guarded-platform.ts';

/** When commits of the operator are made. */
const NOW = 1_700_000_000_000;
const HOUR = 3600;

/** Everything but the verbs that lift guards, on a few kinds. */
const WIDE = {
  rules: [
    { resources: [{ group: MANAGEMENT, resources: ['teams', 'users', 'ownedaccesskeys'] }] },
    { resources: [{ group: MANAGEMENT, resources: ['config', 'sharedsecrets'] }] },
    { resources: [{ group: RBAC }] },
    { nonResourceURLs: ['/git/*'] },
  ],
};
const KEYS_ONLY = { rules: [WIDE.rules[0] as object] };

let at: GuardedPlatform;
/** A key of an administrator, with the scope WIDE. */
let scoped: string;

beforeEach(async () => {
  at = await openGuardedPlatform({ now: () => NOW });
  await at.give(
    object('User', 'root', { spec: {} }),
    object('User', 'eve', { spec: {} }),
    object('Team', 'ops', { spec: { users: ['root'] } }),
    object('Config', 'platform', { spec: { raw: '' } }),
    ...grant('root', '* *', 'User:root'),
    ...grant('ops', 'delete *', 'Group:gitplane:team:ops'),
  );
  scoped = await at.giveKey('scoped', { user: 'root', scope: WIDE });
});

function key(name: string, spec: object): object {
  return object('OwnedAccessKey', name, { spec: { user: 'root', ...spec } });
}

/** The same write by the API and by a push; both have to come to the same. */
async function both(plural: string, made: object): Promise<number> {
  const api = await at.create(scoped, plural, made);
  const renamed = structuredClone(made) as { metadata: { name: string }; spec?: { key?: string } };
  renamed.metadata.name += '-pushed';
  if (plural === 'ownedaccesskeys' && renamed.spec !== undefined) {
    renamed.spec.key = concealAccessKey(mintAccessKey('gpu'));
  }
  const push = await at.push(scoped, filesOf([renamed]));
  expect(push.code, push.text + api.text).toBe(api.code);
  return api.code;
}

describe('a key with a scope that makes a key', () => {
  test.each<[string, object, number]>([
    ['with the same scope', { scope: WIDE }, 200],
    ['with a part of it', { scope: KEYS_ONLY }, 200],
    [
      'with one name of it',
      { scope: { rules: [{ ...WIDE.rules[0], resourceNames: ['x'] }] } },
      200,
    ],
    ['without a scope', {}, 403],
    ['with another scope', { scope: { projects: [{ project: 'a' }] } }, 403],
    ['with a wider scope', { scope: { rules: [{}] } }, 403],
    [
      'with a verb that lifts guards',
      { scope: { rules: [{ ...WIDE.rules[2], verbs: ['escalate'] }] } },
      403,
    ],
    [
      'with a verb that is literal here, and for all elsewhere',
      { scope: { rules: [{ ...WIDE.rules[0], verbs: ['*'] }] } },
      403,
    ],
    ['with every namespace by a star', { scope: { rules: [{ namespaces: ['*'] }] } }, 403],
    ['of somebody else', { scope: KEYS_ONLY, user: 'eve' }, 403],
    ['of a team its owner is in', { scope: KEYS_ONLY, user: undefined, team: 'ops' }, 200],
  ])('%s', async (_claim, spec, code) => {
    expect(await both('ownedaccesskeys', JSON.parse(JSON.stringify(key('made', spec))))).toBe(code);
  });

  test('takes a scope that reaches keys at all', async () => {
    const narrow = await at.giveKey('narrow', {
      user: 'root',
      scope: { projects: [{ project: 'a' }] },
    });
    const outcome = await at.create(
      narrow,
      'ownedaccesskeys',
      key('made', { scope: { projects: [{ project: 'a' }] } }),
    );
    expect(outcome).toMatchObject({ code: 403 });
    expect(outcome.text).toContain(
      'the roles of the user allow it, but the scope of access key "narrow" does not',
    );
  });

  test.each<[string, object, number]>([
    ['that ends earlier', { ttl: HOUR - 1 }, 200],
    ['that ends with it', { ttl: HOUR }, 200],
    ['that ends later', { ttl: HOUR + 1 }, 403],
    ['that never ends', {}, 403],
    ['whose end moves with its use', { ttl: 60, ttlAfterLastActivity: true }, 403],
  ])('%s', async (_claim, spec, code) => {
    const short = await at.giveKey('short', { user: 'root', scope: WIDE, ttl: HOUR });
    const made = key('made', { scope: KEYS_ONLY, ...spec });
    const outcome = await at.create(short, 'ownedaccesskeys', made);
    expect(outcome.code, outcome.text).toBe(code);
  });
});

describe('a key with a scope cannot change', () => {
  test.each<[string, (spec: Record<string, unknown>) => void]>([
    ['its own scope to a wider one', (spec) => Object.assign(spec, { scope: { rules: [{}] } })],
    ['its own scope to none', (spec) => delete spec['scope']],
  ])('%s', async (_claim, change) => {
    const outcome = await at.patch(scoped, 'ownedaccesskeys', 'scoped', ({ spec }) => change(spec));
    expect(outcome.code).toBe(403);
    expect(outcome.text).toContain('keys written with it must not reach further');
  });

  test('refuses a change of its own owner', async () => {
    const outcome = await at.patch(scoped, 'ownedaccesskeys', 'scoped', (it) => {
      it.spec.user = 'eve';
    });
    expect(outcome.code).toBe(403);
  });

  test.each(['the text', 'the name shown'])('%s of a key without a scope', async (what) => {
    const wide = await at.giveKey('wide', { user: 'root' });
    const outcome = await at.patch(scoped, 'ownedaccesskeys', 'wide', (it) => {
      if (what === 'the text') it.spec.key = mintAccessKey('gpu');
      else it.spec.displayName = 'x';
    });
    expect(outcome.code).toBe(403);
    expect(at.may(wide, 'delete', 'teams')).toBe(true);
  });

  test('the configuration, which says what scopes mean', async () => {
    const change = (it: { spec: object }): void => {
      it.spec = { raw: 'projectNamespacePrefix: ""' };
    };
    const outcome = await at.patch(scoped, 'config', 'platform', change);
    expect(outcome.text).toContain('objects that decide about access take a key without a scope');
    expect((await at.delete(scoped, 'config', 'platform')).code).toBe(403);
    const earlier = object('Config', 'a', { spec: { raw: 'projectNamespacePrefix: x' } });
    expect(await both('config', earlier)).toBe(403);
  });

  test('allows a key to narrow itself, and to remove itself', async () => {
    const narrower = await at.patch(scoped, 'ownedaccesskeys', 'scoped', (it) => {
      it.spec.scope = KEYS_ONLY;
    });
    expect(narrower.code, narrower.text).toBe(200);
    expect(at.may(scoped, 'list', 'sharedsecrets')).toBe(false);
    expect((await at.delete(scoped, 'ownedaccesskeys', 'scoped')).code).toBe(200);
    expect(() => at.who(scoped)).toThrow();
  });
});

describe('a key with a scope cannot give others what it cannot do, such as', () => {
  const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

  test.each<[string, string, object]>([
    ['a role with everything', 'clusterroles', object('ClusterRole', 'all', { rules: everything })],
    [
      'a role with the verbs that lift guards',
      'clusterroles',
      object('ClusterRole', 'lift', {
        rules: [{ apiGroups: [RBAC], resources: ['*'], verbs: ['escalate'] }],
      }),
    ],
    [
      'a binding of a role with everything',
      'clusterrolebindings',
      object('ClusterRoleBinding', 'eve', {
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'root' },
        subjects: [{ apiGroup: RBAC, kind: 'User', name: 'eve' }],
      }),
    ],
    [
      'membership of a user in a group',
      'users',
      object('User', 'mallory', { spec: { groups: ['wheel'] } }),
    ],
    [
      'an object that somebody else owns',
      'teams',
      object('Team', 'mine', { spec: { owner: { user: 'eve' } } }),
    ],
    [
      'access to an object beyond its own',
      'teams',
      object('Team', 'mine', {
        spec: { owner: { user: 'root' }, access: [{ verbs: ['*'], users: ['eve'] }] },
      }),
    ],
  ])('%s', async (_claim, plural, made) => {
    await at.give(...grant('wheel', 'get projectsecrets', 'Group:wheel'));
    expect(await both(plural, made)).toBe(403);
  });

  test('membership in a team', async () => {
    await at.give(...grant('ops', 'get projectsecrets', 'Group:gitplane:team:ops'));
    const join = (it: { spec: { users: string[] } }): number => it.spec.users.push('eve');
    expect((await at.patch(scoped, 'teams', 'ops', join)).code).toBe(403);
    const rules = [{ apiGroups: [MANAGEMENT], resources: ['teams'], verbs: ['get'] }];
    await at.give(object('ClusterRole', 'ops', { rules }));
    expect((await at.patch(scoped, 'teams', 'ops', join)).code).toBe(200);
  });

  test('allows grants of rights that the key has', async () => {
    const read = [{ apiGroups: [MANAGEMENT], resources: ['teams'], verbs: ['get', 'list'] }];
    const made = await at.create(
      scoped,
      'clusterroles',
      object('ClusterRole', 'read', { rules: read }),
    );
    expect(made.code, made.text).toBe(200);
    const own = object('Team', 'own', { spec: { owner: { user: 'root' } } });
    const owned = await at.create(scoped, 'teams', own);
    expect(owned.code, owned.text).toBe(200);
  });
});

test('each object of a push is judged by the scope', async () => {
  const secret = object('ProjectSecret', 's', { spec: { data: {} } }, 'a');
  const team = object('Team', 'fine', { spec: {} });
  const outcome = await at.push(scoped, filesOf([secret, team]));
  expect(outcome.code).toBe(403);
  expect(outcome.text).toContain('ProjectSecret "a/s"');
  expect(outcome.text).not.toContain('Team "fine"');
  expect((await at.push(scoped, filesOf([team]))).code).toBe(200);
});

test('bringing back an earlier version is a change like any other', async () => {
  const file = filesOf([key('old', { key: concealAccessKey(mintAccessKey('gpu')) })]);
  await at.platform.commit(file);
  await at.platform.commit(Object.fromEntries(Object.keys(file).map((path) => [path, null])));
  expect((await at.push(scoped, file)).code).toBe(403);
});

test('members of system:masters are held by the scope of their key as well', async () => {
  const user = { ...at.who(scoped), groups: ['system:masters'] };
  const change = { user, kind: at.kindOf('clusterroles'), old: undefined };
  const role = object('ClusterRole', 'all', {
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
  expect(at.objection({ ...change, object: role as never })?.code).toBe(403);
});
