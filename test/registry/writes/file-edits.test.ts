import { describe, expect, test } from 'vitest';
import { filesOf, git } from '../../support/git.ts';
import { openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

/** Files at the tip of the branch. */
function files(platform: TestPlatform): Record<string, string> {
  return filesOf(platform.repository.gitDir, 'main');
}

/** Puts one entry of any mode into the tree, past everything that would refuse it. */
async function commitEntry(platform: TestPlatform, mode: string, path: string): Promise<void> {
  const { gitDir } = platform.repository;
  const head = git(gitDir, ['rev-parse', 'main']);
  const content =
    mode === '160000' ? `${head} ${path}` : `inline ${path}\ndata <<E\nelsewhere.yaml\nE`;
  const commit = `commit refs/heads/main\ncommitter x <x@x> 1700000000 +0000\ndata 0\nfrom ${head}`;
  git(gitDir, ['fast-import', '--quiet'], { input: `${commit}\nM ${mode} ${content}\n` });
  await platform.branch.sync();
}

describe('a new object whose place is taken', () => {
  test('joins the documents that exist, and leaves them as they are', async () => {
    const platform = await openTestPlatform();
    const before = `# two teams\n${team('b')}`;
    await platform.commit({ 'teams/a.yaml': before });

    await platform.create('teams', { metadata: { name: 'a' } });

    expect(files(platform)['teams/a.yaml']).toMatch(before.trimEnd());
    expect(platform.names('teams')).toEqual(['a', 'b']);
  });

  test('a new object joins a file whose name differs by case alone', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'teams/A.yaml': team('b'), 'Users/ada.yaml': team('c') });

    await platform.create('teams', { metadata: { name: 'a' } });
    await platform.create('users', { metadata: { name: 'ada' }, spec: {} });

    expect(platform.branch.state.catalog.problems()).toEqual([]);
    expect(Object.keys(files(platform))).toEqual(['Users/ada.yaml', 'teams/A.yaml']);
    expect(platform.names('teams')).toEqual(['a', 'b', 'c']);
  });

  test.each<[string, Record<string, string | Buffer>, RegExp]>([
    ['a directory', { 'teams/a.yaml/README.md': 'x' }, /teams\/a\.yaml.*directory/],
    ['a file where its folder should be', { teams: 'x' }, /teams\/a\.yaml.*is a file/],
    [
      'a file that is not UTF-8',
      { 'teams/a.yaml': Buffer.from([0x23, 0xff, 0x0a]) },
      /teams\/a\.yaml.*UTF-8/,
    ],
    [
      'a file that is too large',
      { 'teams/a.yaml': '#'.repeat(9_000_000) },
      /teams\/a\.yaml.*bytes; the limit/,
    ],
    [
      'an ignored file',
      { '.gitplaneignore': 'teams/\n' },
      /\.gitplaneignore covers teams\/a\.yaml/,
    ],
  ])(
    'a new object whose place is taken by %s is refused with the place, and nothing changes',
    async (_what, taken, why) => {
      const platform = await openTestPlatform();
      const head = await platform.commit(taken);

      const create = platform.create('teams', { metadata: { name: 'a' } });

      await expect(create).rejects.toMatchObject({
        code: 409,
        message: expect.stringMatching(why),
      });
      expect(await platform.repository.head()).toBe(head);
      // The next write does not conflict with it.
      await platform.create('users', { metadata: { name: 'u' }, spec: {} });
      expect(platform.names('users')).toEqual(['u']);
    },
  );

  test.each([
    ['a symbolic link', '120000', /teams\/a\.yaml.*symbolic link/],
    ['a submodule', '160000', /teams\/a\.yaml.*submodule/],
  ])(
    'a new object whose place is taken by %s is refused with the place',
    async (_what, mode, why) => {
      const platform = await openTestPlatform();
      await platform.commit({ 'README.md': 'x' });
      await commitEntry(platform, mode, 'teams/a.yaml');

      const create = platform.create('teams', { metadata: { name: 'a' } });

      await expect(create).rejects.toMatchObject({
        code: 409,
        message: expect.stringMatching(why),
      });
    },
  );

  test.each([
    ['somewhere else', 'z/broken.yaml'],
    ['at the same place', 'teams/a.yaml'],
  ])(
    'a new object whose own manifest is invalid, %s, is refused with the place',
    async (_what, path) => {
      const platform = await openTestPlatform();
      const head = await platform.commit({ [path]: team('a', { displayName: [1] }) });

      const create = platform.create('teams', { metadata: { name: 'a' } });

      await expect(create).rejects.toMatchObject({
        code: 409,
        message: expect.stringContaining(`${path}:`),
      });
      expect(await platform.repository.head()).toBe(head);
    },
  );
});

describe('an object that two manifests name', () => {
  test('is not deleted by half: both places are named', async () => {
    const platform = await openTestPlatform();
    const head = await platform.commit({ 'x.yaml': team('a'), 'y.yaml': team('a') });

    await expect(platform.delete('teams', 'a')).rejects.toMatchObject({
      code: 409,
      message: expect.stringMatching(/x\.yaml.*y\.yaml/),
    });
    expect(await platform.repository.head()).toBe(head);
  });
});

describe('writes to one file at the same time', () => {
  const names = ['a', 'b', 'c', 'd'];
  const all = names.map((name) => `# about ${name}\n${team(name)}`).join('---\n');

  test('each become a commit, and none undoes another', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'all.yaml': all });
    const results = await Promise.all([
      platform.patch('teams', 'a', (object) => {
        object.spec.displayName = 'A';
      }),
      platform.delete('teams', 'b'),
      platform.patch('teams', 'c', (object) => {
        object.metadata.labels = { l: 'C' };
      }),
      platform.create('teams', { metadata: { name: 'e' } }),
    ]);

    expect(new Set(results.map(({ commit }) => commit)).size).toBe(4);
    expect(platform.names('teams')).toEqual(['a', 'c', 'd', 'e']);
    const text = files(platform)['all.yaml'] ?? '';
    expect(text).toContain('displayName');
    expect(text).not.toContain('name: b');
    expect(text).toContain('# about d\n');
    const warm = await platform.restart();
    expect(warm.names('teams')).toEqual(['a', 'c', 'd', 'e']);
  });

  test('may remove all of it, while another brings the file back', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'teams/a.yaml': team('b') });

    await Promise.all([
      platform.delete('teams', 'b'),
      platform.create('teams', { metadata: { name: 'a' } }),
    ]);

    expect(platform.names('teams')).toEqual(['a']);
    expect(Object.keys(files(platform))).toEqual(['teams/a.yaml']);
    await platform.delete('teams', 'a');
    expect(git(platform.repository.gitDir, ['ls-tree', '-r', '--name-only', 'main'])).toBe('');
  });
});

describe('names', () => {
  test('a name of the greatest length of Kubernetes has a file', async () => {
    const platform = await openTestPlatform();
    const longest = ['x'.repeat(249), 'x'.repeat(250), 'x'.repeat(251), 'x'.repeat(253)];

    for (const name of longest) await platform.create('teams', { metadata: { name } });

    expect(platform.names('teams')).toEqual(longest);
    const warm = await platform.restart({ disk: new Map() });
    expect(warm.names('teams')).toEqual(longest);
  });

  test.each([
    ['a line break', 'x\n\nRequest-Id: forged'],
    ['a backslash', 'x\\y'],
    ['half a character', 'x\ud800'],
  ])('a name with %s, which no URL could repeat, is refused', async (_what, name) => {
    const platform = await openTestPlatform();

    await expect(
      platform.create('clusterroles', { metadata: { name }, rules: [] }),
    ).rejects.toMatchObject({ code: 422 });
  });
});
