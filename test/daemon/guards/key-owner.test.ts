/** A key for a user or a team that is not there: taken, since its owner may come later, and told. */
import { beforeEach, describe, expect, test } from 'vitest';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/credentials/access-key.ts';
import { foreignCommit } from '../../support/git.ts';
import {
  fileOf,
  filesOf,
  type GuardedPlatform,
  grant,
  object,
  openGuardedPlatform,
} from '../../support/guarded-platform.ts';
import { kindOf, writeOptions } from '../../support/platform.ts';

let at: GuardedPlatform;
let root: string;

beforeEach(async () => {
  at = await openGuardedPlatform();
  await at.give(
    object('User', 'root', { spec: {} }),
    object('Team', 'ops', { spec: {} }),
    ...grant('root', '* *', 'User:root'),
  );
  root = await at.giveKey('root', { user: 'root' });
});

function key(name: string, spec: object): object {
  const concealed = concealAccessKey(mintAccessKey('gpu'));
  return object('OwnedAccessKey', name, { spec: { ...spec, key: concealed } });
}

const NO_USER = 'spec.user: there is no user "nobody"; the key works once there is one';
const NO_TEAM = 'spec.team: there is no team "nobody"; the key works once there is one';

describe.each<[string, object, string | undefined]>([
  ['a user that is not there', { user: 'nobody' }, NO_USER],
  ['a team that is not there', { team: 'nobody' }, NO_TEAM],
  ['a team by the name of a user', { team: 'nobody', displayName: 'root' }, NO_TEAM],
  ['a user that is there', { user: 'root' }, undefined],
  ['a team that is there', { team: 'ops' }, undefined],
  ['a subject, which is no object', { subject: 'nobody' }, undefined],
])('a key for %s', (_owner, spec, warning) => {
  const warnings = warning === undefined ? [] : [warning];

  test('is answered by the API', async () => {
    const made = await at.create(root, 'ownedaccesskeys', key('made', spec));
    expect([made.code, made.result?.warnings]).toEqual([200, warnings]);
    const changed = await at.patch(root, 'ownedaccesskeys', 'made', (it) => {
      it.spec.displayName = 'x';
    });
    expect([changed.code, changed.result?.warnings]).toEqual([200, warnings]);
  });

  test('is answered in a push', async () => {
    const pushed = await at.push(root, filesOf([key('pushed', spec)]));
    expect(pushed.code).toBe(200);
    const line = `warning: OwnedAccessKey-pushed.yaml: OwnedAccessKey "pushed": ${warning}`;
    expect(pushed.text.split('\n').slice(0, -1)).toEqual(warning === undefined ? [] : [line]);
  });
});

test.each([
  ['before', 'AAA'],
  ['behind', 'zzz'],
])('a push that brings a user %s its key is not warned', async (_where, name) => {
  const files = {
    [`${name}.yaml`]: JSON.stringify(key('early', { user: 'nobody' })),
    'mmm.yaml': JSON.stringify(object('User', 'nobody', { spec: {} })),
  };
  const pushed = await at.push(root, files);
  expect([pushed.code, pushed.text]).toEqual([200, expect.not.stringContaining('warning')]);
});

test('a push that takes a user away and brings a key of it is warned', async () => {
  await at.give(object('User', 'nobody', { spec: {} }));
  const files = { 'User-nobody.yaml': null, ...filesOf([key('late', { user: 'nobody' })]) };
  const pushed = await at.push(root, files);
  expect([pushed.code, pushed.text]).toEqual([200, expect.stringContaining(NO_USER)]);
});

test.each([
  ['user', object('User', 'gone', { spec: {} })],
  ['team', object('Team', 'gone', { spec: {} })],
])(
  'a merge that brings a %s back takes the rights to make the keys of that life',
  async (by, owner) => {
    await at.give(
      object('User', 'clerk', { spec: {} }),
      ...grant('clerk', '* users,teams', 'User:clerk'),
    );
    await at.give(owner);
    const clerk = at.who(await at.giveKey('clerk', { user: 'clerk' }));
    const token = await at.giveKey('of-gone', { [by]: 'gone' });
    const { repository } = at.platform;
    const before = (await repository.head()) ?? '';
    await at.platform.commit({ [fileOf(owner)]: null });
    expect(() => at.who(token)).toThrow();
    const parents = [(await repository.head()) ?? '', before];
    const merge = foreignCommit(repository.gitDir, { parents, files: filesOf([owner]) });

    const { ok, lines } = await at.platform.push(merge, clerk);

    expect([ok, lines[0]]).toEqual([
      false,
      'OwnedAccessKey-of-gone.yaml: OwnedAccessKey "of-gone": Forbidden: User "clerk" cannot create ownedaccesskeys',
    ]);
    expect(() => at.who(token)).toThrow();
    expect((await at.platform.push(merge, at.who(root))).ok).toBe(true);
    expect(at.who(token)).toBeDefined();
  },
);

/** A key that a sign-in makes: the state alone has it. Returns its text. */
async function sessionOf(user: string): Promise<string> {
  const body = { metadata: { name: 'session' }, spec: { type: 'Login', user } };
  const kind = kindOf('ownedaccesskeys');
  const options = { ...writeOptions, user: { name: 'gitplane', groups: ['system:masters'] } };
  const of = { kind, namespace: '', body, duplicates: [], options, inState: true } as const;
  const { object } = await at.platform.registry.create(of);
  return String(object.spec?.['key']);
}

test.each([
  ['the right to create keys', [], 'Forbidden: User "clerk" cannot create ownedaccesskeys'],
  [
    'the right to act as the user',
    grant('clerk-keys', '* ownedaccesskeys', 'User:clerk'),
    'it takes the verb impersonate',
  ],
])('a merge that brings a user back with its sessions takes %s', async (_, granted, lacking) => {
  const owner = object('User', 'gone', { spec: {} });
  await at.give(
    object('User', 'clerk', { spec: {} }),
    ...grant('clerk', 'get,create users', 'User:clerk'),
    ...granted,
    owner,
  );
  const clerk = at.who(await at.giveKey('clerk', { user: 'clerk' }));
  const session = await sessionOf('gone');
  expect(at.who(session).name).toBe('gone');
  const { repository } = at.platform;
  const before = (await repository.head()) ?? '';
  await at.platform.commit({ [fileOf(owner)]: null });
  const parents = [(await repository.head()) ?? '', before];
  const merge = foreignCommit(repository.gitDir, { parents, files: filesOf([owner]) });

  for (const { ok, lines } of [
    await at.platform.push(merge, clerk),
    (await at.platform.pushOpenly(merge, { user: clerk })).verdict,
  ]) {
    expect([ok, lines[0]]).toEqual([false, expect.stringContaining(lacking)]);
  }
  expect(() => at.who(session)).toThrow();
  expect((await at.platform.push(merge, at.who(root))).ok).toBe(true);
  expect(at.who(session).name).toBe('gone');
});
