/** What the platform takes of what a provider says (reference: identity, section 1.0). */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { linearRegExp } from '../../src/apimachinery/linear-regexp.ts';
import { type AdmissionRules, admit } from '../../src/sign-in/admission.ts';
import type { ProvidedIdentity } from '../../src/sign-in/connector.ts';
import { accountNames, dnsLabel, teamNameOf } from '../../src/sign-in/names.ts';

const ANN: ProvidedIdentity = {
  userId: '42',
  username: 'Ann Example',
  preferredUsername: 'ann',
  email: 'ann@example.com',
  emailVerified: true,
  groups: [],
  extraClaims: {},
};

const admitted = (changes: Partial<ProvidedIdentity>, rules: Partial<AdmissionRules> = {}) =>
  admit({ ...ANN, ...changes }, { connector: 'oidc', ...rules }).identity;

describe('groups', () => {
  test.each<[string, string[], string[]]>([
    [
      'of the system and of the platform are dropped',
      ['system:masters', 'gitplane:team:a', 'ops'],
      ['ops'],
    ],
    [
      'that look like it and are not stay',
      ['System:masters', 'systems', 'my:system:x'],
      ['System:masters', 'my:system:x', 'systems'],
    ],
    ['twice are one', ['ops', 'ops'], ['ops']],
    ['in two forms of one text are one', ['caf\u00e9', 'cafe\u0301'], ['caf\u00e9']],
    ['with control characters are dropped', ['a\u0000b', 'a\nb', '\u2028', 'ok'], ['ok']],
    ['without a name are dropped', [''], []],
    ['that are too long are dropped', ['x'.repeat(257), 'x'.repeat(256)], ['x'.repeat(256)]],
  ])('%s', (_what, groups, kept) => {
    expect(admitted({ groups }).groups).toEqual(kept);
  });

  test('a prefix keeps a group apart from names of the system, and is part of what is judged', () => {
    const prefixes = { username: '', groups: 'idp:' };
    expect(admitted({ groups: ['system:masters'] }, { prefixes }).groups).toEqual([
      'idp:system:masters',
    ]);
    const evil = { username: '', groups: 'system:' };
    expect(admitted({ groups: ['masters'] }, { prefixes: evil }).groups).toEqual([]);
  });

  test('no more than 500 are kept, always the same, and it is told', () => {
    const groups = Array.from({ length: 600 }, (_, i) => `g${String(i).padStart(3, '0')}`);
    const one = admit({ ...ANN, groups }, { connector: 'oidc' });
    const other = admit({ ...ANN, groups: groups.toReversed() }, { connector: 'oidc' });
    expect(one.identity.groups).toHaveLength(500);
    expect(one.identity.groups).toEqual(other.identity.groups);
    expect(one.refusedGroups).toBe(100);
  });

  test('a filter sees the prefixed name, and keeps no user out', () => {
    const keeps = linearRegExp('^idp:(?i)OPS');
    const rules = { prefixes: { username: '', groups: 'idp:' }, keepsGroup: keeps };
    expect(admitted({ groups: ['ops-eu', 'dev'] }, rules).groups).toEqual(['idp:ops-eu']);
    expect(admitted({ groups: ['dev'] }, rules).groups).toEqual([]);
  });
});

describe('names', () => {
  test.each<[string, Partial<ProvidedIdentity>]>([
    ['user id', { userId: 'system:admin' }],
    ['user name', { username: 'system:serviceaccount:a:b' }],
    ['account name', { accountName: 'gitplane:user:admin' }],
    ['empty user id', { userId: '' }],
    ['user id on two lines', { userId: 'a\nb' }],
    ['endless user name', { username: 'x'.repeat(257) }],
  ])('a reserved or broken %s is refused', (_what, changes) => {
    expect(() => admitted(changes)).toThrow(expect.objectContaining({ code: 403 }));
  });

  test('a prefix in front of a name of the system makes it another', () => {
    const prefixes = { username: 'idp:', groups: '' };
    const { username, accountName } = admitted(
      { username: 'system:admin', preferredUsername: 'system:admin' },
      { prefixes },
    );
    expect([username, accountName]).toEqual(['idp:system:admin', 'idp:system:admin']);
  });

  test.each<[Partial<ProvidedIdentity>, string]>([
    [{}, 'ann'],
    [{ accountName: 'a.example' }, 'a.example'],
    [{ preferredUsername: '' }, 'Ann Example'],
    [{ preferredUsername: 'a\u0000b' }, 'Ann Example'],
  ])('the account of %j is called %s', (changes, name) => {
    expect(admitted(changes).accountName).toBe(name);
  });

  test('a mail address without more is not verified', () => {
    const { email, ...noMail } = ANN;
    expect(email).toBeDefined();
    const { identity } = admit({ ...noMail, emailVerified: true }, { connector: 'oidc' });
    expect(identity.emailVerified).toBe(false);
  });

  test.each([
    ['Ann Example', 'ann-example'],
    ['Zoë Ångström', 'zoe-angstrom'],
    ['a@b.example', 'a-b-example'],
    ['--x--', 'x'],
    ['日本', ''],
    ['x'.repeat(70), 'x'.repeat(63)],
  ])('%s becomes the label %s', (text, label) => {
    expect(dnsLabel(text)).toBe(label);
  });

  test('the second name of an account, and the name of a team, belong to no other user', () => {
    const of = { accountName: 'ann', connector: 'oidc', userId: '42' };
    const [first, second = ''] = accountNames(of);
    expect(first).toBe('ann');
    expect(second).toMatch(/^ann-[0-9a-f]{32}$/);
    expect(accountNames({ ...of, connector: 'saml' })[1]).not.toBe(second);
    expect(accountNames({ ...of, accountName: '日本' })[0]).toBe('user');
    expect(teamNameOf('A b')).not.toBe(teamNameOf('a-b'));
    expect(teamNameOf('x'.repeat(200))).toHaveLength(63);
  });

  // Each pair has the first 40 bits of SHA-256 in common. It was found as the pair of access rules in
  // test/daemon/guards/grant-collision.test.ts was: by a table of 1,500,000 digests, in 4 s.
  test('two groups with one short digest and one label have teams of two names', () => {
    const groups = ['Operators \u9A91\u4E3A', 'operators \u4E1F\u4E0F'];
    expect(groups.map(firstDigits)).toEqual(['095029e286', '095029e286']);
    expect(new Set(groups.map(teamNameOf)).size).toBe(2);
  });

  test('two identities with one short digest have accounts of two names', () => {
    const ids = ['a424973', 'b380106'];
    const digests = ids.map((id) => firstDigits(JSON.stringify(['oidc', id])));
    expect(digests).toEqual(['b5540e981b', 'b5540e981b']);
    const names = ids.map((userId) =>
      accountNames({ accountName: 'ann', connector: 'oidc', userId }),
    );
    expect(names[0]?.[1]).not.toBe(names[1]?.[1]);
  });

  function firstDigits(text: string): string {
    return createHash('sha256').update(text).digest('hex').slice(0, 10);
  }
});

// covers: OwnedAccessKey.spec.identity.extraClaims
test('further claims have a limit, and say nothing about tokens', () => {
  const extraClaims = { dept: 'ops', iss: 'x', groups: ['a'], big: 'x'.repeat(20_000), last: 1 };
  expect(admitted({ extraClaims }).extraClaims).toEqual({ dept: 'ops' });
});

test('no expression makes a filter slow', () => {
  const started = process.cpuUsage();
  expect(linearRegExp('^(a+)+$')(`${'a'.repeat(5_000)}!`)).toBe(false);
  expect(process.cpuUsage(started).user).toBeLessThan(5_000_000);
});
