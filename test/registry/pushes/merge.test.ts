/** Pushes whose base is behind the tip: what the platform merges, what it refuses, and who may. */
import { describe, expect, test } from 'vitest';
import type { Attributes, Authorizer, User } from '../../../src/apimachinery/request.ts';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { replay } from '../../../src/catalog/replay.ts';
import { picture } from '../../catalog/picture.ts';
import { expectSound, filesOf, foreignCommit, git } from '../../support/git.ts';
import { kinds, openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

type Files = Readonly<Record<string, string | null>>;

const HEAD = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: a\n';

/** Commits beside the branch, each on top of the one before; returns the id of the last. */
function pushed(platform: TestPlatform, from: string, ...steps: readonly Files[]): string {
  let parent = from;
  for (const files of steps) {
    parent = foreignCommit(platform.repository.gitDir, { parents: [parent], files });
  }
  return parent;
}

function filesAt(platform: TestPlatform): Record<string, string> {
  return filesOf(platform.repository.gitDir, 'main');
}

/** The platform is as if it had read all of history just now. */
async function expectExact({ repository, branch }: TestPlatform): Promise<void> {
  const reader = fileReader(kinds, '');
  const head = (await repository.head()) ?? '';
  const scratch = await replay({ repository, reader, under: '' }, head);
  expect(branch.state.catalog.revision).toBe(head);
  expect(picture(branch.state.catalog)).toEqual(picture(scratch.catalog));
}

interface Sides {
  readonly base: Files;
  readonly tip: Files;
  readonly push: Files;
}

/** A platform at `tip`, and a push with the same base. */
async function sides(
  { base, tip, push }: Sides,
  setup: Parameters<typeof openTestPlatform>[0] = {},
): Promise<{ platform: TestPlatform; tip: string; push: string }> {
  const platform = await openTestPlatform(setup);
  const start = await platform.commit(base);
  const now = await platform.commit(tip);
  return { platform, tip: now, push: pushed(platform, start, push) };
}

test('a merge has the tip as its first parent, the push as its second, and names the objects', async () => {
  const { platform, tip, push } = await sides({
    base: { 'a.yaml': team('a'), 'b.yaml': team('b') },
    tip: { 'a.yaml': team('a', { displayName: 'tip' }) },
    push: { 'b.yaml': team('b', { displayName: 'pushed' }), 'c.yaml': team('c') },
  });

  const landed = await platform.pushOpenly(push);

  expect(landed.verdict.lines).toEqual(['accepted: 1 created, 1 changed, 0 removed']);
  const { gitDir } = platform.repository;
  expect(git(gitDir, ['log', '-1', '--format=%P|%an|%cn|%s', 'main'])).toBe(
    `${tip} ${push}|ann|gitplane|merge Team "b", Team "c"`,
  );
  expect(landed).toMatchObject({ revision: git(gitDir, ['rev-parse', 'main']), previous: tip });
  const shown = ['a', 'b', 'c'].map((name) => platform.find('teams', name)?.object.spec);
  expect(shown).toEqual([{ displayName: 'tip' }, { displayName: 'pushed' }, {}]);
  await expectExact(platform);
  expectSound(gitDir);
});

test.each(['sops', '"\\x73ops"'])(
  'an encrypted file that both sides changed is not merged, with its metadata under %s',
  async (name) => {
    const secret = (key: string, metadata: string): string =>
      `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata:\n  name: s\n  namespace: web\nspec:\n  data:\n    a: eA==\n    ${key}: eA==\n${metadata}`;
    const metadata = `${name}:\n  age: []\n`;
    const { platform, push } = await sides({
      base: { 's.yaml': secret('base', metadata) },
      tip: { 's.yaml': secret('base', `${metadata}# of the branch\n`) },
      push: { 's.yaml': secret('pushed', metadata) },
    });

    const { verdict } = await platform.pushOpenly(push);

    expect(verdict.ok).toBe(false);
    expect(verdict.lines[0]).toContain('both sides changed the file, and it is encrypted');
  },
);

test('pushes go on from a push that was merged, and from each other, without a fetch', async () => {
  const platform = await openTestPlatform();
  const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
  let mine = base;
  for (let i = 1; i <= 4; i += 1) {
    await platform.commit({ 'a.yaml': team('a', { displayName: `tip ${i}` }) });
    mine = pushed(platform, mine, { 'b.yaml': team('b', { displayName: `pushed ${i}` }) });
    expect((await platform.pushOpenly(mine)).verdict.ok).toBe(true);
    await expectExact(platform);
  }
  expect(platform.find('teams', 'b')?.object.metadata.generation).toBe(5);
  expect(platform.find('teams', 'a')?.object.metadata.generation).toBe(5);
});

test('a base that this process has not seen is replayed', async () => {
  const platform = await openTestPlatform();
  const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
  await platform.commit({ 'a.yaml': team('a', { displayName: 'tip' }) });
  const { repository } = platform;
  const later = await openTestPlatform({ repository });
  const push = pushed(later, base, { 'b.yaml': null }, { 'b.yaml': team('b') });

  const landed = await later.pushOpenly(push);

  expect(landed.verdict.lines).toContain('accepted: 0 created, 1 made anew, 0 changed, 0 removed');
  await expectExact(later);
});

test('API writes go on while the history is replayed for a merge of an unrelated one', async () => {
  const platform = await openTestPlatform();
  const { repository } = platform;
  const tip = await platform.commit({ 'a.yaml': team('a') });
  const root = foreignCommit(repository.gitDir, { parents: [], files: { 'b.yaml': team('b') } });
  const files = { 'b.yaml': team('b') };
  const merge = foreignCommit(repository.gitDir, { parents: [tip, root], files });
  const { history } = repository;
  let replays = 0;
  repository.history = async function* (...asked) {
    const [from, , scope] = asked;
    // A replay lists the commits before it reads their changes.
    const isReplay = from === undefined && scope?.against !== 'no parent';
    if (isReplay) replays += 1;
    // The first one is of the examination, before the push lands.
    if (isReplay && replays === 2)
      await platform.create('teams', { metadata: { name: 'written' } });
    yield* history.apply(repository, asked);
  };

  const landed = await platform.pushOpenly(merge);

  expect(landed.verdict.lines).toContain('accepted: 1 created, 0 changed, 0 removed');
  expect(replays).toBeGreaterThan(1);
  expect(platform.names('teams')).toEqual(['a', 'b', 'written']);
  repository.history = history;
  await expectExact(platform);
});

test('a push that merged the branch itself lands on a tip that went on', async () => {
  const platform = await openTestPlatform();
  const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
  const mine = pushed(platform, base, { 'b.yaml': team('b', { displayName: 'mine' }) });
  const seen = await platform.commit({ 'a.yaml': team('a', { displayName: 'seen' }) });
  const merge = foreignCommit(platform.repository.gitDir, {
    parents: [mine, seen],
    files: { 'a.yaml': team('a', { displayName: 'seen' }) },
  });
  await platform.commit({ 'c.yaml': team('c') });

  expect((await platform.pushOpenly(merge)).verdict.ok).toBe(true);

  await expectExact(platform);
  expect(Object.keys(filesAt(platform))).toEqual(['a.yaml', 'b.yaml', 'c.yaml']);
});

describe('files that both sides changed keep the bytes of both', () => {
  const spec = 'spec:\n  displayName: One # the name\n  description: none\n';
  test.each<[string, Sides, Files]>([
    [
      'different objects of one file',
      {
        base: { 'x.yaml': `${HEAD}---\n${HEAD.replace('name: a', 'name: b')}` },
        tip: { 'x.yaml': `${HEAD}${spec}---\n${HEAD.replace('name: a', 'name: b')}` },
        push: { 'x.yaml': `# mine\n${HEAD}---\n${HEAD.replace('name: a', 'name: b # b')}` },
      },
      { 'x.yaml': `# mine\n${HEAD}${spec}---\n${HEAD.replace('name: a', 'name: b # b')}` },
    ],
    [
      'different fields of one object, with comments, in neighbouring lines',
      {
        base: { 'x.yaml': `${HEAD}${spec}` },
        tip: { 'x.yaml': `${HEAD}${spec.replace('One', 'Two')}` },
        push: { 'x.yaml': `${HEAD}${spec.replace('none', 'some # why')}` },
      },
      { 'x.yaml': `${HEAD}${spec.replace('One', 'Two').replace('none', 'some # why')}` },
    ],
    [
      'different fields of one line',
      {
        base: { 'x.yaml': `${HEAD}spec: {displayName: One, description: none} # both\n` },
        tip: { 'x.yaml': `${HEAD}spec: {displayName: Two, description: none} # both\n` },
        push: { 'x.yaml': `# mine\n${HEAD}spec: {displayName: One, description: some} # both\n` },
      },
      { 'x.yaml': `# mine\n${HEAD}spec: {displayName: Two, description: some} # both\n` },
    ],
    [
      'line ends of Windows',
      {
        base: { 'x.yaml': `${HEAD}${spec}`.replaceAll('\n', '\r\n') },
        tip: { 'x.yaml': `${HEAD}${spec.replace('One', 'Two')}`.replaceAll('\n', '\r\n') },
        push: { 'x.yaml': `${HEAD}${spec.replace('none', 'some')}`.replaceAll('\n', '\r\n') },
      },
      {
        'x.yaml': `${HEAD}${spec.replace('One', 'Two').replace('none', 'some')}`.replaceAll(
          '\n',
          '\r\n',
        ),
      },
    ],
    [
      'members that both added to a list',
      {
        base: { 'x.yaml': `${HEAD}spec:\n  users:\n    - ada\n` },
        tip: { 'x.yaml': `${HEAD}spec:\n  users:\n    - ada\n    - tip\n` },
        push: { 'x.yaml': `${HEAD}spec:\n  users:\n    - ada\n    - mine # me\n` },
      },
      { 'x.yaml': `${HEAD}spec:\n  users:\n    - ada\n    - mine # me\n    - tip\n` },
    ],
    [
      'objects that both added to the end of a file',
      {
        base: { 'x.yaml': HEAD },
        tip: { 'x.yaml': `${HEAD}---\n${HEAD.replace('name: a', 'name: t')}` },
        push: { 'x.yaml': `${HEAD}---\n${HEAD.replace('name: a', 'name: p')}` },
      },
      {
        'x.yaml': `${HEAD}---\n${HEAD.replace('name: a', 'name: p')}---\n${HEAD.replace('name: a', 'name: t')}`,
      },
    ],
    [
      'the same new object',
      { base: { 'y.txt': 'y\n' }, tip: { 'x.yaml': HEAD }, push: { 'x.yaml': HEAD } },
      { 'x.yaml': HEAD, 'y.txt': 'y\n' },
    ],
    [
      'the same new object in two files',
      { base: { 'y.txt': 'y\n' }, tip: { 'x.yaml': HEAD }, push: { 'z.yaml': `# z\n${HEAD}` } },
      { 'x.yaml': HEAD, 'y.txt': 'y\n' },
    ],
    [
      'a file that the push moved and the branch edited',
      {
        base: { 'x.yaml': `${HEAD}${spec}` },
        tip: { 'x.yaml': `${HEAD}${spec.replace('One', 'Two')}` },
        push: { 'x.yaml': null, 'teams/a.yaml': `# moved\n${HEAD}${spec}` },
      },
      { 'teams/a.yaml': `# moved\n${HEAD}${spec.replace('One', 'Two')}` },
    ],
    [
      'a file that the branch moved and the push edited',
      {
        base: { 'x.yaml': `${HEAD}${spec}` },
        tip: { 'x.yaml': null, 'teams/a.yaml': `${HEAD}${spec}` },
        push: { 'x.yaml': `${HEAD}${spec.replace('One', 'Two # edited')}` },
      },
      { 'teams/a.yaml': `${HEAD}${spec.replace('One', 'Two # edited')}` },
    ],
    [
      'text that is no manifest',
      {
        base: { 'README.md': '1\n2\n3\n4\n5\n' },
        tip: { 'README.md': 'one\n2\n3\n4\n5\n' },
        push: { 'README.md': '1\n2\n3\n4\nfive\n' },
      },
      { 'README.md': 'one\n2\n3\n4\nfive\n' },
    ],
    [
      'an object that both removed',
      {
        base: { 'x.yaml': `${HEAD}---\n${HEAD.replace('name: a', 'name: b')}` },
        tip: { 'x.yaml': HEAD },
        push: { 'x.yaml': `# mine\n${HEAD}` },
      },
      { 'x.yaml': `# mine\n${HEAD}` },
    ],
  ])('%s', async (_what, given, wanted) => {
    const { platform, push } = await sides(given);

    const { verdict } = await platform.pushOpenly(push);

    expect(verdict.lines.at(-1)).toMatch(/^accepted/);
    const shown = Object.entries(wanted).map(([path, text]) => [path, text?.trim()]);
    expect(filesAt(platform)).toEqual(Object.fromEntries(shown));
    await expectExact(platform);
    expectSound(platform.repository.gitDir);
  });
});

describe('a conflict names its place, and changes nothing', () => {
  test.each<[string, Sides, RegExp, string]>([
    [
      'another value of one field',
      {
        base: { 'a.yaml': team('a') },
        tip: { 'a.yaml': team('a', { displayName: 'tip' }) },
        push: { 'a.yaml': team('a', { displayName: 'push' }) },
      },
      /^a\.yaml: Team "a" spec\.displayName: the branch has changed it, and this push gives it another value \(changed by Ada Lovelace <ada@example\.com> at \S+Z in [0-9a-f]{12}\)$/m,
      'conflict: Team "a" spec.displayName',
    ],
    [
      'a change of what the branch removed',
      {
        base: { 'a.yaml': team('a'), 'b.yaml': team('b') },
        tip: { 'a.yaml': null },
        push: { 'a.yaml': team('a', { displayName: 'push' }) },
      },
      /^a\.yaml: Team "a": the branch has removed it, and this push changes it \(changed by Ada/m,
      'conflict: Team "a"',
    ],
    [
      'a removal of what the branch changed',
      {
        base: { 'a.yaml': team('a'), 'b.yaml': team('b') },
        tip: { 'a.yaml': team('a', { displayName: 'tip' }) },
        push: { 'a.yaml': null },
      },
      /^a\.yaml: Team "a": the branch has changed it, and this push removes it/m,
      'conflict: Team "a"',
    ],
    [
      'a move to two files',
      {
        base: { 'a.yaml': team('a') },
        tip: { 'a.yaml': null, 'tip.yaml': team('a') },
        push: { 'a.yaml': null, 'push.yaml': team('a') },
      },
      /Team "a": the branch has moved it there, and this push moves it to push\.yaml/,
      'conflict: Team "a"',
    ],
    [
      'control files',
      {
        base: { '.gitplaneignore': 'a\n', 'a.yaml': team('a') },
        tip: { '.gitplaneignore': 'b\na\n' },
        push: { '.gitplaneignore': 'a\nc\n' },
      },
      /^\.gitplaneignore: the branch has changed it, and control files are not merged/m,
      'conflict: .gitplaneignore',
    ],
    [
      'binary files',
      {
        base: { x: 'a\0', 'a.yaml': team('a') },
        tip: { x: 'b\0' },
        push: { x: 'c\0' },
      },
      /^x: both sides changed it, and it is binary or large/m,
      'conflict: x',
    ],
    [
      'neighbouring lines of a text',
      { base: { x: '1\n2\n' }, tip: { x: 'one\n2\n' }, push: { x: '1\ntwo\n' } },
      /^x: both sides changed the same lines/m,
      'conflict: x',
    ],
    [
      'a folder in the place of a file',
      { base: { y: 'y\n' }, tip: { x: 'x\n' }, push: { 'x/y': 'y\n' } },
      /a parent directory is a file/,
      'conflict: x/y',
    ],
    [
      'a manifest that does not parse',
      {
        base: { 'a.yaml': team('a') },
        tip: { 'a.yaml': 'a: [\n' },
        push: { 'a.yaml': team('a', { displayName: 'push' }) },
      },
      /both sides changed it, and on the branch it cannot be read: a\.yaml:/,
      'conflict: a.yaml',
    ],
  ])('%s', async (_what, given, line, reason) => {
    const { platform, tip, push } = await sides(given);

    const landed = await platform.pushOpenly(push);

    expect(landed.verdict.ok).toBe(false);
    expect(landed.verdict.lines.join('\n')).toMatch(line);
    expect(landed.verdict.lines.at(-1)).toBe(
      '1 conflict; nothing was changed: fetch, merge or rebase, and push again',
    );
    expect(landed.reason).toBe(reason);
    expect(await platform.repository.head()).toBe(tip);
  });

  test('an object that the branch made again, in the same words', async () => {
    const platform = await openTestPlatform();
    const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
    await platform.commit({ 'a.yaml': null });
    await platform.commit({ 'a.yaml': team('a') });
    const push = pushed(platform, base, { 'a.yaml': team('a', { displayName: 'push' }) });

    const { verdict } = await platform.pushOpenly(push);

    expect(verdict.lines[0]).toMatch(
      /the branch has created it again, and this push changes the former one/,
    );
  });
});

describe('a push that no merge helps', () => {
  test('a push of an unrelated history is refused', async () => {
    const platform = await openTestPlatform();
    const tip = await platform.commit({ 'a.yaml': team('a') });
    const { gitDir } = platform.repository;
    const tree = git(gitDir, ['rev-parse', 'main^{tree}']);
    const other = git(gitDir, ['commit-tree', tree, '-m', 'another root']);

    const landed = await platform.pushOpenly(other);

    expect(landed.verdict.lines.join()).toMatch(/would rewrite history/);
    expect(await platform.repository.head()).toBe(tip);
  });

  test('merged crosswise is refused', async () => {
    const platform = await openTestPlatform();
    const { gitDir } = platform.repository;
    const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
    const one = pushed(platform, base, { 'a.yaml': team('a', { displayName: 'one' }) });
    const two = pushed(platform, base, { 'b.yaml': team('b', { displayName: 'two' }) });
    const both = {
      'a.yaml': team('a', { displayName: 'one' }),
      'b.yaml': team('b', { displayName: 'two' }),
    };
    const mine = foreignCommit(gitDir, { parents: [one, two], files: both });
    const theirs = foreignCommit(gitDir, { parents: [two, one], files: both });
    expect((await platform.pushOpenly(theirs)).verdict.ok).toBe(true);

    const landed = await platform.pushOpenly(mine);

    expect(landed.verdict.lines.join()).toMatch(/several bases/);
    expect(await platform.repository.head()).toBe(theirs);
  });

  test('a push that names an old tip, or asks to rewrite, is refused', async () => {
    const platform = await openTestPlatform();
    const base = await platform.commit({ 'a.yaml': team('a') });
    const tip = await platform.commit({ 'b.yaml': team('b') });
    const push = pushed(platform, base, { 'c.yaml': team('c') });

    const landings = [
      await platform.pushOpenly(push, { lease: base }),
      await platform.pushOpenly(push, { lease: tip }),
      await platform.pushOpenly(push, { rewrites: true }),
    ];

    expect(landings.map(({ verdict }) => verdict.lines.join())).toEqual([
      expect.stringMatching(/branch moved meanwhile/),
      expect.stringMatching(/rewrite history/),
      expect.stringMatching(/rewrite history/),
    ]);
    expect(await platform.repository.head()).toBe(tip);
  });

  test('a push of commits that the branch has changes nothing', async () => {
    const platform = await openTestPlatform();
    const base = await platform.commit({ 'a.yaml': team('a') });
    const tip = await platform.commit({ 'b.yaml': team('b') });

    for (const commit of [base, tip]) {
      expect((await platform.pushOpenly(commit)).verdict.lines).toEqual([
        'accepted: the branch has this commit already',
      ]);
    }
    expect(await platform.repository.head()).toBe(tip);
  });
});

describe('rights are judged on the result', () => {
  const eve: User = { name: 'eve', groups: ['system:authenticated'] };
  /** Eve may change the team "mine" alone. */
  const authorizer: Authorizer = {
    authorize: (user, attributes: Attributes) => ({
      allowed: user.name !== 'eve' || ('name' in attributes && attributes.name === 'mine'),
      reason: '',
    }),
  };
  const base = { 'a.yaml': team('a'), 'mine.yaml': team('mine') };

  test('an object that only the branch touched takes no right', async () => {
    const { platform, push } = await sides(
      {
        base,
        tip: { 'a.yaml': team('a', { displayName: 'tip' }) },
        push: { 'mine.yaml': team('mine', { displayName: 'push' }) },
      },
      { authorizer },
    );
    const uid = platform.find('teams', 'a')?.object.metadata;

    expect((await platform.pushOpenly(push, { user: eve })).verdict.ok).toBe(true);
    expect(platform.find('teams', 'a')?.object.metadata).toEqual(uid);
  });

  test.each<[string, readonly Files[]]>([
    ['changes', [{ 'a.yaml': team('a', { description: 'push' }) }]],
    ['removes', [{ 'a.yaml': null }]],
    ['makes anew', [{ 'a.yaml': null }, { 'a.yaml': team('a') }]],
    ['adds to', [{ 'c.yaml': team('c') }]],
    [
      'changes an object beside its own in one file of',
      [{ 'mine.yaml': `${team('mine')}---\n${team('c')}` }],
    ],
  ])('a push that %s what it has no right to is refused', async (_what, steps) => {
    const platform = await openTestPlatform({ authorizer });
    const start = await platform.commit(base);
    const tip = await platform.commit({ 'b.yaml': team('b') });
    const push = pushed(platform, start, ...steps);

    const { verdict } = await platform.pushOpenly(push, { user: eve });

    expect(verdict.lines.join('\n')).toMatch(/Forbidden: User "eve" cannot/);
    expect(await platform.repository.head()).toBe(tip);
  });

  test('control files that only a commit in the middle touched take their right', async () => {
    const platform = await openTestPlatform({ authorizer });
    const start = await platform.commit(base);
    await platform.commit({ 'b.yaml': team('b') });
    const push = pushed(platform, start, { '.gitplaneignore': '*\n' }, { '.gitplaneignore': null });

    const { verdict } = await platform.pushOpenly(push, { user: eve });

    expect(verdict.lines.join('\n')).toMatch(/cannot update repository\/controlfiles/);
  });
});

test('the prune budget counts what the merge removes, and the push may allow it', async () => {
  const platform = await openTestPlatform({ budget: { objects: 1, percent: 10 } });
  const names = ['a', 'b', 'c', 'd'];
  const base = await platform.commit(
    Object.fromEntries(names.map((name) => [`${name}.yaml`, team(name)])),
  );
  await platform.commit({ 'e.yaml': team('e') });
  const removal = { 'a.yaml': null, 'b.yaml': null };
  const plain = pushed(platform, base, removal);

  const refused = await platform.pushOpenly(plain);
  expect(refused.verdict.lines.join('\n')).toMatch(/would remove 2 of the 5 objects/);

  const { gitDir } = platform.repository;
  const message = 'Remove two\n\nGitplane-Allow-Prune: 2';
  const allowed = foreignCommit(gitDir, { parents: [base], files: removal, message });
  expect((await platform.pushOpenly(allowed)).verdict.ok).toBe(true);
  expect(platform.branch.hold).toBeUndefined();
  await expectExact(platform);
});

test('an invalid result is refused with its place', async () => {
  const { platform, tip, push } = await sides({
    base: { 'x.txt': 'x\n' },
    tip: { 'a.yaml': team('a') },
    push: { 'b.yaml': team('b', { displayNam: 'x' }), 'c.yaml': `${team('c')}---\n${team('c')}` },
  });

  const { verdict } = await platform.pushOpenly(push);

  expect(verdict.lines.join('\n')).toMatch(/b\.yaml:5:\d+: .*displayNam[\s\S]*c\.yaml:1:1: .*also/);
  expect(await platform.repository.head()).toBe(tip);
});
