import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { DirectoryIndex } from '../../src/auth/identity/directory.ts';
import { type KeyOwner, resolveIdentity } from '../../src/auth/identity/identity.ts';

let directory: DirectoryIndex;

beforeEach(() => {
  directory = new DirectoryIndex();
});

function object(kind: string, name: string, spec: JsonObject): KubeObject {
  const metadata = { name, uid: `uid-${name}` };
  return { apiVersion: 'management.gitplane.dev/v1', kind, metadata, spec };
}

function user(name: string, spec: JsonObject = {}): void {
  directory.setUser(object('User', name, spec));
}

function team(name: string, spec: JsonObject = {}): void {
  directory.setTeam(object('Team', name, spec));
}

function owner(fields: Partial<KeyOwner>): KeyOwner {
  const nobody = { user: undefined, team: undefined, subject: undefined };
  const name = fields.user ?? fields.team;
  const ownerUid = name === undefined ? undefined : `uid-${name}`;
  return { key: 'k1', ...nobody, groups: [], ownerUid, ...fields };
}

/** The groups of a request, or why there is none. */
function groups(fields: Partial<KeyOwner>): readonly string[] | string {
  const identity = resolveIdentity(owner(fields), directory);
  return 'user' in identity ? identity.user.groups : identity.reason;
}

describe('a key of a user', () => {
  // covers: service.teamMembers Team.spec.users Team.spec.groups OwnedAccessKey.spec.user
  // covers: OwnedAccessKey.spec.groups
  test('is the user with its groups and teams', () => {
    user('ann', { email: 'ann@example.com', groups: ['dev'], ssoGroups: ['idp:x'] });
    team('b', { users: ['ann'] });
    team('a', { groups: ['idp:x'] });
    team('c', { users: ['bob'], groups: ['other'] });
    expect(resolveIdentity(owner({ user: 'ann', groups: ['extra'] }), directory)).toEqual({
      user: {
        name: 'ann',
        uid: 'uid-ann',
        email: 'ann@example.com',
        accessKey: 'k1',
        groups: [
          'system:authenticated',
          'gitplane:user:ann',
          'gitplane:team:a',
          'gitplane:team:b',
          'dev',
          'idp:x',
          'extra',
        ],
      },
      owner: { kind: 'User', name: 'ann', generation: 0 },
    });
  });

  test('has each group once', () => {
    user('ann', { groups: ['dev'], ssoGroups: ['dev'] });
    team('a', { users: ['ann'], groups: ['dev'] });
    expect(groups({ user: 'ann', groups: ['dev'] })).toEqual([
      'system:authenticated',
      'gitplane:user:ann',
      'gitplane:team:a',
      'dev',
    ]);
  });

  test('joins no team by the groups of the key alone', () => {
    user('ann');
    team('ops', { groups: ['ops'] });
    expect(groups({ user: 'ann', groups: ['ops'] })).not.toContain('gitplane:team:ops');
  });

  test('joins no team by the group of everyone', () => {
    user('ann');
    team('ops', { groups: ['system:authenticated', 'gitplane:user:ann'] });
    expect(groups({ user: 'ann' })).toEqual(['system:authenticated', 'gitplane:user:ann']);
  });

  test.each([
    ['that does not exist', () => undefined, 'owner-missing'],
    ['that is disabled', () => user('ann', { disabled: true }), 'owner-disabled'],
    [
      'that is being deleted',
      () => {
        const ann = object('User', 'ann', {});
        ann.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
        directory.setUser(ann);
      },
      'owner-missing',
    ],
  ])('%s is refused', (_claim, change, reason) => {
    change();
    expect(groups({ user: 'ann' })).toBe(reason);
  });
});

describe('a key of a team', () => {
  // covers: service.teamKeys OwnedAccessKey.spec.team
  test('is the team', () => {
    team('ops', { users: ['ann'], groups: ['idp:ops'] });
    expect(resolveIdentity(owner({ team: 'ops', groups: ['extra'] }), directory)).toEqual({
      user: {
        name: 'gitplane:team:ops',
        uid: 'uid-ops',
        accessKey: 'k1',
        groups: ['system:authenticated', 'gitplane:team:ops', 'extra'],
      },
      owner: { kind: 'Team', name: 'ops', generation: 0 },
    });
  });

  test('a key of a removed team is refused', () => {
    team('ops');
    directory.removeTeam('ops');
    expect(groups({ team: 'ops' })).toBe('owner-missing');
    const deleting = object('Team', 'ops', {});
    deleting.metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
    directory.setTeam(deleting);
    expect(groups({ team: 'ops' })).toBe('owner-missing');
  });
});

describe('a key of a subject', () => {
  // covers: OwnedAccessKey.spec.subject
  test('is the subject with its groups', () => {
    const groupsOfKey = ['gitplane:cluster:c1', 'gitplane:system:clusters'];
    const agent = owner({ subject: 'gitplane:cluster:c1', groups: groupsOfKey });
    expect(resolveIdentity(agent, directory)).toEqual({
      user: {
        name: 'gitplane:cluster:c1',
        accessKey: 'k1',
        groups: ['system:authenticated', ...groupsOfKey],
      },
      owner: { kind: 'Subject', name: 'gitplane:cluster:c1', generation: 0 },
    });
  });

  test.each([['system:admin'], ['gitplane:team:ops'], ['gitplane:user:ann'], ['ann']])(
    'called %s is refused: the name belongs to another user',
    (subject) => {
      user('ann');
      team('ops');
      expect(groups({ subject })).toBe('owner-missing');
    },
  );
});

test.each<[string, Partial<KeyOwner>]>([
  ['nobody', {}],
  ['a user and a team', { user: 'ann', team: 'ops' }],
  ['a user and a subject', { user: 'ann', subject: 'robot' }],
])('a key for %s is refused', (_claim, fields) => {
  user('ann');
  team('ops');
  expect(groups(fields)).toBe('owner-missing');
});

describe('reserved groups', () => {
  const reserved = ['system:masters', 'system:nodes', 'gitplane:team:x', 'gitplane:user:root'];

  test.each([
    ['a user', { user: 'ann' }],
    ['a team', { team: 'ops' }],
    ['a subject', { subject: 'robot' }],
  ])('reserved groups that a key of %s lists do not count', (_claim, fields) => {
    user('ann');
    team('ops');
    expect(groups({ ...fields, groups: reserved })).toEqual(groups(fields));
  });

  test('reserved groups that an identity provider reported do not count', () => {
    user('ann', { ssoGroups: [...reserved, 'gitplane:system:clusters'] });
    expect(groups({ user: 'ann' })).toEqual(['system:authenticated', 'gitplane:user:ann']);
  });

  test('reserved groups of the system count in the User object, those of the platform never do', () => {
    user('root', { groups: reserved });
    expect(groups({ user: 'root' })).toEqual([
      'system:authenticated',
      'gitplane:user:root',
      'system:masters',
      'system:nodes',
    ]);
  });
});

describe('a change acts on the next request', () => {
  const teams = (): string[] =>
    [...groups({ user: 'ann' })].filter((group) => group.startsWith('gitplane:team:'));

  test.each<[string, () => void, string[]]>([
    ['a new team', () => team('new', { users: ['ann'] }), ['gitplane:team:new', 'gitplane:team:t']],
    ['a team without the user', () => team('t', { users: ['bob'] }), []],
    ['a removed team', () => directory.removeTeam('t'), []],
    [
      'a new group of the user',
      () => user('ann', { groups: ['g'] }),
      ['gitplane:team:byGroup', 'gitplane:team:t'],
    ],
    [
      'a group the team begins to list',
      () => {
        user('ann', { groups: ['h'] });
        team('byGroup', { groups: ['h'] });
      },
      ['gitplane:team:byGroup', 'gitplane:team:t'],
    ],
  ])('%s', (_claim, change, expected) => {
    user('ann');
    team('t', { users: ['ann'] });
    team('byGroup', { groups: ['g'] });
    expect(teams()).toEqual(['gitplane:team:t']);
    const { version } = directory;
    change();
    expect(directory.version).toBeGreaterThan(version);
    expect(teams()).toEqual(expected);
  });

  test('a user that comes back has its teams again', () => {
    user('ann');
    team('t', { users: ['ann'] });
    directory.removeUser('ann');
    expect(groups({ user: 'ann' })).toBe('owner-missing');
    user('ann');
    expect(teams()).toEqual(['gitplane:team:t']);
  });

  test('the token generation of the user is the one of now', () => {
    user('ann', { tokenGeneration: 4 });
    const identity = resolveIdentity(owner({ user: 'ann' }), directory);
    expect(identity).toMatchObject({ owner: { generation: 4 } });
  });
});

test('teams of a user are those that a look at every team finds', () => {
  const names = fc.uniqueArray(fc.constantFrom<string[]>('ann', 'bob', 'g1', 'g2', 'g3'), {
    maxLength: 3,
  });
  const change = fc.record({
    name: fc.constantFrom('t1', 't2', 't3'),
    remove: fc.boolean(),
    users: names,
    groups: names,
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 15 }), names, (changes, ofAnn) => {
      const index = new DirectoryIndex();
      const left = new Map<string, { users: string[]; groups: string[] }>();
      for (const { name, remove, users, groups: teamGroups } of changes) {
        if (remove) left.delete(name);
        else left.set(name, { users, groups: teamGroups });
        if (remove) index.removeTeam(name);
        else index.setTeam(object('Team', name, { users, groups: teamGroups }));
      }
      index.setUser(object('User', 'ann', { groups: ofAnn }));
      const ann = index.user('ann');
      const expected = [...left]
        .filter(([, t]) => t.users.includes('ann') || t.groups.some((g) => ofAnn.includes(g)))
        .map(([name]) => name);
      expect(ann === undefined ? undefined : index.teamsOf(ann)).toEqual(expected.sort());
    }),
  );
});
