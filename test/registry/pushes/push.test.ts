import { describe, expect, test } from 'vitest';
import type { Attributes, Authorizer } from '../../../src/apimachinery/request.ts';
import { foreignCommit, git } from '../../support/git.ts';
import { openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

type Files = Readonly<Record<string, string | null>>;

/** Commits beside the branch, each on top of the one before; returns the id of the last. */
function commits(platform: TestPlatform, steps: readonly Files[], from = 'main'): string {
  const { gitDir } = platform.repository;
  let parent = git(gitDir, ['rev-parse', from]);
  for (const files of steps) parent = commitOn(platform, [parent], files);
  return parent;
}

function commitOn(platform: TestPlatform, parents: readonly string[], files: Files): string {
  return foreignCommit(platform.repository.gitDir, { parents, files });
}

/** Allows everything but the named verbs. */
function allBut(...verbs: string[]): Authorizer {
  return {
    authorize: (_user, attributes: Attributes) => ({
      allowed: !verbs.includes(attributes.verb),
      reason: '',
    }),
  };
}

const uidOf = (platform: TestPlatform, name: string): string | undefined =>
  platform.find('teams', name)?.object.metadata.uid;

test('a tag in the place of a commit is refused in words', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'a.yaml': team('a') });
  const { gitDir } = platform.repository;
  git(gitDir, ['tag', '-a', 'v1', '-m', 'v1', 'main']);
  const pushed = git(gitDir, ['rev-parse', 'v1']);

  const { repository: source } = platform;
  const update = { ref: 'refs/heads/main', oldId: await source.head(), newId: pushed };
  const verdict = await platform.judge.judge({ updates: [update], user: undefined, source });

  expect(verdict).toMatchObject({ ok: false });
  expect(verdict.lines.join()).toMatch(/^The branch takes commits, and [0-9a-f]{40} is a tag/);
});

describe('a push of several commits', () => {
  test('a push of several commits that recreate an object needs the rights to delete and to create it', async () => {
    const platform = await openTestPlatform({ authorizer: allBut('delete') });
    await platform.commit({ 'a.yaml': team('a') });
    const uid = uidOf(platform, 'a');
    const pushed = commits(platform, [{ 'a.yaml': null }, { 'a.yaml': team('a') }]);

    const verdict = await platform.push(pushed);

    expect(verdict.ok).toBe(false);
    expect(verdict.lines.join('\n')).toContain('cannot delete teams');
    expect(uidOf(platform, 'a')).toBe(uid);
  });

  test('is judged by its effect on objects, not by its last commit', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a') });
    const uid = uidOf(platform, 'a');
    const pushed = commits(platform, [{ 'a.yaml': null }, { 'a.yaml': team('a') }]);

    const verdict = await platform.push(pushed);

    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.lines).toContain('accepted: 0 created, 1 made anew, 0 changed, 0 removed');
    expect(uidOf(platform, 'a')).not.toBe(uid);
  });

  test('may repair in its last commit the mistake of an earlier one', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a') });
    const uid = uidOf(platform, 'a');
    const broken = 'a: [b\nc: }\n';
    const pushed = commits(platform, [
      { 'a.yaml': broken, '.gitplaneignore': '*\n' },
      { '.gitplaneignore': null },
      { 'a.yaml': team('a', { displayName: 'mended' }) },
    ]);

    const verdict = await platform.push(pushed);

    expect(verdict.lines).toEqual(expect.arrayContaining([expect.stringMatching(/^accepted/)]));
    expect(platform.find('teams', 'a')?.object.spec).toEqual({ displayName: 'mended' });
    // While everything was ignored the object was not there: it is another one now.
    expect(uidOf(platform, 'a')).not.toBe(uid);
  });

  test('a push of several commits with a problem anywhere is refused with every place', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a') });
    const pushed = commits(platform, [
      { 'b.yaml': team('b', { displayName: [1] }) },
      { 'c.yaml': team('a') },
    ]);

    const { ok, lines } = await platform.push(pushed);

    expect(ok).toBe(false);
    expect(lines).toEqual([
      expect.stringMatching(/^a\.yaml:1:1: .*also at c\.yaml:1/),
      expect.stringMatching(/^b\.yaml:5:\d+: .*displayName/),
      expect.stringMatching(/^c\.yaml:1:1: .*also at a\.yaml:1/),
      '3 problems; nothing was changed',
    ]);
  });

  test('is not blamed for earlier mistakes that it leaves unchanged', async () => {
    const platform = await openTestPlatform();
    const broken = 'a: [b\nc: }\n';
    await platform.commit({ 'a.yaml': team('a'), 'broken.yaml': broken });
    const pushed = commits(platform, [{ 'broken.yaml': null }, { 'broken.yaml': broken }]);

    expect(await platform.push(pushed)).toMatchObject({ ok: true });
  });
});

test('a push cannot change what a write through the API cannot', async () => {
  const binding = (role: string): string =>
    [
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}',
      `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${role}}\n`,
    ].join('\n');
  const platform = await openTestPlatform();
  await platform.commit({ 'b.yaml': binding('reader') });

  const { ok, lines } = await platform.push(commits(platform, [{ 'b.yaml': binding('writer') }]));

  expect(ok).toBe(false);
  expect(lines[0]).toMatch(/^b\.yaml: ClusterRoleBinding "b": roleRef: .*cannot change roleRef/);
});

describe('a push of a merge', () => {
  test('shows its changes, and readers see exactly those', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
    const side = commits(platform, [{ 'c.yaml': team('c'), 'b.yaml': null }]);
    await platform.commit({ 'a.yaml': team('a', { displayName: 'A' }) });
    const head = git(platform.repository.gitDir, ['rev-parse', 'main']);
    const merge = commitOn(platform, [head, side], { 'c.yaml': team('c'), 'b.yaml': null });

    const verdict = await platform.push(merge);

    expect(verdict.lines).toEqual([
      'removes Team "b" (b.yaml)',
      'accepted: 1 created, 0 changed, 1 removed',
    ]);
    expect(platform.names('teams')).toEqual(['a', 'c']);
  });

  test('cannot make objects again without the rights to, on any of its lines', async () => {
    const platform = await openTestPlatform({ authorizer: allBut('create') });
    await platform.commit({ 'a.yaml': team('a') });
    const head = git(platform.repository.gitDir, ['rev-parse', 'main']);
    const side = commits(platform, [{ 'a.yaml': null }, { 'a.yaml': team('a') }]);
    const merge = commitOn(platform, [head, side], {});

    const verdict = await platform.push(merge);

    expect(verdict.ok).toBe(false);
    expect(verdict.lines.join('\n')).toContain('cannot create teams');
  });
});

describe('a push that comes right behind another', () => {
  test('is judged by what that one did, also to the ignore file', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ '.gitplaneignore': 'x/\n', 'a.yaml': team('a') });
    const first = commits(platform, [{ '.gitplaneignore': null }]);
    const second = commits(platform, [{ 'x/b.yaml': team('b', { displayName: [1] }) }], first);
    const { ref, gitDir } = platform.repository;
    // The branch moved, and the catalog has not caught up with it yet.
    git(gitDir, ['update-ref', ref, first]);

    const { ok, lines } = await platform.push(second);

    expect(ok).toBe(false);
    expect(lines[0]).toMatch(/^x\/b\.yaml:5:/);
  });
});

describe('a push of hundreds of manifests', () => {
  const many = (mark: string): Files =>
    Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`t${i}.yaml`, team(`t${i}`, { displayName: mark })]),
    );

  test('lets others have the processor while it is judged and followed', async () => {
    const platform = await openTestPlatform();
    await platform.commit(many('one'));
    const pushed = commits(platform, [many('two')]);
    let others = 0;
    const seen = new Set<unknown>();
    const work = setInterval(() => {
      others += 1;
      const specs = ['t0', 't499'].map((name) => platform.find('teams', name)?.object.spec);
      seen.add(specs.map((spec) => spec?.['displayName']).join());
    });

    const verdict = await platform.push(pushed);
    clearInterval(work);

    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.lines.at(-1)).toBe('accepted: 0 created, 500 changed, 0 removed');
    expect(others).toBeGreaterThan(10);
    expect([...seen].every((pair) => pair === 'one,one' || pair === 'two,two')).toBe(true);
    expect(platform.find('teams', 't250')?.object.spec).toMatchObject({ displayName: 'two' });
  });

  test('reads no file twice', async () => {
    const platform = await openTestPlatform();
    await platform.commit(many('one'));
    const pushed = commits(platform, [many('two')]);
    const { repository } = platform;
    const { readBlobs } = repository;
    let blobs = 0;
    repository.readBlobs = (ids) => {
      blobs += ids.length;
      return readBlobs.call(repository, ids);
    };

    await platform.push(pushed);

    expect(blobs).toBe(500);
    expect(platform.find('teams', 't499')?.object.metadata.generation).toBe(2);
  });
});

test('an object that finalizers hold is not made anew by one push', async () => {
  const platform = await openTestPlatform();
  const held = team('a').replace('name: a', 'name: a\n  finalizers: [example.com/x]');
  const head = await platform.commit({ 'a.yaml': held, 'b.yaml': team('b') });
  const { gitDir } = platform.repository;
  const removal = foreignCommit(gitDir, { parents: [head], files: { 'a.yaml': null } });
  const again = foreignCommit(gitDir, { parents: [removal], files: { 'a.yaml': team('a') } });

  for (const verdict of [await platform.push(again), (await platform.pushOpenly(again)).verdict]) {
    expect(verdict.lines[0]).toMatch(/^a\.yaml: Team "a" has finalizers, and this push removes it/);
  }
  expect((await platform.push(removal)).ok).toBe(true);
  expect((await platform.push(again)).lines[0]).toMatch(/is still being deleted/);
});

test.each(['by path', 'over HTTP'])(
  'the objects of the first push, %s, have the identities that a replay computes',
  async (road) => {
    const platform = await openTestPlatform();
    const { gitDir } = platform.repository;
    const first = foreignCommit(gitDir, { parents: [], files: { 'a.yaml': team('a') } });

    const verdict =
      road === 'by path' ? await platform.push(first) : (await platform.pushOpenly(first)).verdict;
    expect(verdict.ok).toBe(true);

    const replayed = await openTestPlatform({ repository: platform.repository });
    expect(uidOf(platform, 'a')).toBe(uidOf(replayed, 'a'));
  },
);
