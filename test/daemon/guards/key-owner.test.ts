/** A key for a user or a team that is not there: taken, since its owner may come later, and told. */
import { beforeEach, describe, expect, test } from 'vitest';
import { concealAccessKey, mintAccessKey } from '../../../src/kinds/credentials/access-key.ts';
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

const GONE = [
  ['user', object('User', 'gone', { spec: { tokenGeneration: 3 } })],
  ['team', object('Team', 'gone', { spec: {} })],
  ['access key', key('gone', { user: 'root' })],
] as const;
const BROUGHT_BACK =
  /"gone": a merge brings it back from before its deletion, and all that the deletion revoked would be valid again; leave it out of the merge, and create it in a later commit$/;

describe.each(GONE)('a %s that was deleted', (_, owner) => {
  const file = fileOf(owner);
  let before: string;
  let tip: string;
  let uid: string | undefined;

  beforeEach(async () => {
    await at.give(owner);
    uid = uidOf(owner);
    before = await head();
    await at.platform.commit({ [file]: null });
    tip = await head();
  });

  test('comes back by no merge of an administrator or the operator', async () => {
    const files = filesOf([owner]);
    const { judge, repository: source } = at.platform;
    const user = at.who(root);
    for (const parents of [
      [tip, before],
      [before, tip],
    ]) {
      const to = foreignCommit(gitDir(), { parents, files });
      const verdicts = [
        (await at.platform.push(to, user)).lines,
        (await at.platform.push(to, OPERATOR)).lines,
        (await at.platform.pushOpenly(to, { user })).verdict.lines,
        (await judge.dryRun({ to, source, user })).objections,
      ];
      const line = expect.stringMatching(BROUGHT_BACK);
      expect(verdicts.map(([first]) => first)).toEqual([line, line, line, line]);
    }
    expect(await head()).toBe(tip);
  });

  test('comes back by no merge with a branch that went on, whose base is behind', async () => {
    const merge = foreignCommit(gitDir(), { parents: [tip, before], files: filesOf([owner]) });
    await at.give(object('Team', 'other', { spec: {} }));
    const now = await head();

    const { verdict } = await at.platform.pushOpenly(merge, { user: at.who(root) });

    expect(verdict.lines[0]).toMatch(BROUGHT_BACK);
    expect(await head()).toBe(now);
  });

  test('has another uid where a commit above a merge without it creates it', async () => {
    const merge = foreignCommit(gitDir(), { parents: [tip, before], files: { [file]: null } });
    const pushed = foreignCommit(gitDir(), { parents: [merge], files: filesOf([owner]) });

    expect(await at.platform.push(pushed, at.who(root))).toMatchObject({ ok: true });
    expect(uidOf(owner)).not.toBe(uid);
  });

  test('has another uid after a revert of the deletion', async () => {
    expect((await at.push(root, filesOf([owner]))).code).toBe(200);
    expect(uidOf(owner)).not.toBe(uid);
  });
});

test.each([
  ['a merge', false, false],
  ['a merge with swapped parents', true, false],
  ['an octopus', false, true],
  ['an octopus with swapped parents', true, true],
])(
  '%s gives no key of a deleted user to another user of that name',
  async (_, isSwapped, isOne) => {
    const first = await head();
    const text = mintAccessKey('gpu');
    const user = object('User', 'ada', { spec: {} });
    const spec = { user: 'ada', key: concealAccessKey(text) };
    const files = filesOf([user, object('OwnedAccessKey', 'k', { spec })]);
    await at.give(user);
    await at.give(object('OwnedAccessKey', 'k', { spec }));
    expect(at.who(text).name).toBe('ada');
    const before = await head();
    await at.platform.commit({ [fileOf(user)]: null });
    const tip = await head();

    const sorted = (...ids: string[]): string[] => (isSwapped ? ids.reverse() : ids);
    const merge = (...parents: string[]): string => foreignCommit(gitDir(), { parents, files });
    const time = 1_000_000_000;
    const other = foreignCommit(gitDir(), { parents: [first], files: filesOf([user]), time });
    const to = isOne
      ? merge(...sorted(tip, before, other))
      : merge(...sorted(tip, merge(...sorted(before, other))));

    const { lines } = await at.platform.push(to, at.who(root));
    expect(lines[0]).toMatch(/"k": its owner was deleted, and a merge gives it to a later one/);
    expect(() => at.who(text)).toThrow();
  },
);

test.each(GONE)('a %s that was ignored for a while has another uid', async (_, owner) => {
  await at.give(owner);
  const uid = uidOf(owner);
  await at.platform.commit({ '.gitplaneignore': `${fileOf(owner)}\n` });
  expect(uidOf(owner)).toBeUndefined();
  await at.platform.commit({ '.gitplaneignore': null });
  expect(uidOf(owner)).toEqual(expect.not.stringMatching(uid ?? ''));
});

const gitDir = (): string => at.platform.repository.gitDir;

async function head(): Promise<string> {
  return (await at.platform.repository.head()) ?? '';
}

function uidOf(of: object): string | undefined {
  const { kind, metadata } = of as { kind: string; metadata: { name: string } };
  return at.platform.find(`${kind.toLowerCase()}s`, metadata.name)?.object.metadata.uid;
}
