/** Attacks by a push whose base is behind: what a merge must not bring back, exceed or wait for. */
import { describe, expect, test } from 'vitest';
import type { Attributes, Authorizer, User } from '../../../src/apimachinery/request.ts';
import type { HistoryCommit } from '../../../src/git/repository.ts';
import { mergeValues } from '../../../src/manifests/merge/values.ts';
import { foreignCommit, git, openForTest } from '../../support/git.ts';
import { ann, openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

type Files = Readonly<Record<string, string | null>>;

/** Commits beside the branch, each on top of the one before; returns the id of the last. */
function pushed(platform: TestPlatform, from: string, ...steps: readonly Files[]): string {
  let parent = from;
  for (const files of steps) {
    parent = foreignCommit(platform.repository.gitDir, { parents: [parent], files });
  }
  return parent;
}

describe('an object that the branch removed stays away, where a push', () => {
  const both = `${team('a')}---\n${team('b')}`;
  const moved = { 'x.yaml': null, 'y.yaml': team('a') };
  test.each<[string, { base: Files; tip: Files; push: Files }]>([
    [
      'moves its file',
      { base: { 'x.yaml': team('a'), 'b.yaml': team('b') }, tip: { 'x.yaml': null }, push: moved },
    ],
    [
      'moves its file and changes it',
      {
        base: { 'x.yaml': team('a'), 'b.yaml': team('b') },
        tip: { 'x.yaml': null },
        push: { ...moved, 'y.yaml': team('a', { displayName: 'push' }) },
      },
    ],
    [
      'moves it out of a file, which is then the same on both sides',
      {
        base: { 'x.yaml': both },
        tip: { 'x.yaml': team('b') },
        push: { ...moved, 'x.yaml': team('b') },
      },
    ],
    [
      'moves it out of a file, which is then another one on both sides',
      {
        base: { 'x.yaml': both },
        tip: { 'x.yaml': team('b') },
        push: { ...moved, 'x.yaml': `# mine\n${team('b')}` },
      },
    ],
    [
      'moves it out of a file that the branch ignores since',
      {
        base: { 'x.yaml': team('a'), 'b.yaml': team('b') },
        tip: { '.gitplaneignore': 'x.yaml\n' },
        push: moved,
      },
    ],
  ])('%s', async (_what, { base, tip, push }) => {
    const platform = await openTestPlatform();
    const start = await platform.commit(base);
    const now = await platform.commit(tip);
    // The second one has to replay the base.
    const { repository } = platform;
    for (const process of [platform, await openTestPlatform({ repository })]) {
      const { verdict } = await process.pushOpenly(pushed(platform, start, push));

      const change = verdict.ok
        ? /^accepted: 0 created, 0 changed/
        : /has removed it, and this push/;
      expect(verdict.lines[0]).toMatch(change);
      expect(process.names('teams')).toEqual(['b']);
      git(repository.gitDir, ['update-ref', repository.ref, now]);
    }
  });
});

test('lists of tens of thousands of names are merged', () => {
  const names = (change: (i: number) => string): string[] =>
    Array.from({ length: 40_000 }, (_, i) => change(i));
  const base = names(String);
  const tip = names((i) => (i === 3 ? 'tip' : String(i)));
  const push = names((i) => (i === 39_990 ? 'push' : String(i)));

  const { value, conflicts } = mergeValues({ base, tip, pushed: push });

  expect(conflicts).toEqual([]);
  expect(value).toEqual(names((i) => (i === 3 ? 'tip' : i === 39_990 ? 'push' : String(i))));
});

describe('a repository with as many paths as a push may bring', () => {
  const files = (folder: string, count: number): Files =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/${i}.txt`, `${i}`]));
  const body = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team' };

  test('takes API writes, a restart, and a push that removes some', async () => {
    const platform = await openTestPlatform({ repository: await openForTest({ maxPaths: 40 }) });
    const start = await platform.commit({ 'a.yaml': team('a') });
    expect((await platform.pushOpenly(pushed(platform, start, files('x', 38)))).verdict.ok).toBe(
      true,
    );

    await platform.create('teams', { ...body, metadata: { name: 'made' } });

    const { gitDir } = platform.repository;
    const repository = await openForTest({ gitDir, maxPaths: 40 });
    const later = await openTestPlatform({ repository });
    expect(later.names('teams')).toEqual(['a', 'made']);
    await later.create('teams', { ...body, metadata: { name: 'other' } });
    const fewer = { 'x/1.txt': null, 'x/2.txt': null, 'x/3.txt': null };
    const push = pushed(later, (await repository.head()) ?? '', fewer);
    expect((await later.pushOpenly(push)).verdict.ok).toBe(true);
  });

  test('takes no merge that goes beyond', async () => {
    const platform = await openTestPlatform({ repository: await openForTest({ maxPaths: 40 }) });
    const start = await platform.commit({ 'a.yaml': team('a') });
    const [one, two] = ['x', 'y'].map((folder) => pushed(platform, start, files(folder, 20)));

    expect((await platform.pushOpenly(one ?? '')).verdict.ok).toBe(true);
    const { verdict } = await platform.pushOpenly(two ?? '');

    expect(verdict.lines[0]).toMatch(/the merge is too large: .* has more than 40 paths/);
    expect(await platform.repository.head()).toBe(one);
  });
});

describe('an object that a push makes anew has nothing of the former one, where the branch', () => {
  const former = team('a', { displayName: 'base' });
  const changed = team('a', { displayName: 'base', description: 'tip' });
  test.each<[string, string, Files, Files]>([
    ['changed it', changed, { 'a.yaml': team('a', { displayName: 'push' }) }, {}],
    ['changed it, and the push has the same bytes', changed, { 'a.yaml': former }, {}],
    [
      'changed it, and the push moved it',
      changed,
      { 'c.yaml': team('a', { displayName: 'push' }) },
      {},
    ],
    ['moved and changed it', changed, { 'a.yaml': former }, { 'a.yaml': null, 'd.yaml': changed }],
  ])('%s', async (_, text, again, moved) => {
    const platform = await openTestPlatform();
    const base = await platform.commit({ 'a.yaml': former, 'b.yaml': team('b') });
    const tip = await platform.commit({ 'a.yaml': text, ...moved });
    const { uid } = platform.find('teams', 'a')?.object.metadata ?? {};

    const { verdict } = await platform.pushOpenly(
      pushed(platform, base, { 'a.yaml': null }, again),
    );

    expect(verdict.lines[0]).toMatch(/^[ad]\.yaml: Team "a": the branch has changed it, and this/);
    expect(await platform.repository.head()).toBe(tip);
    expect(platform.find('teams', 'a')?.object.metadata.uid).toBe(uid);
  });

  test('changed its neighbour in the file alone', async () => {
    const platform = await openTestPlatform();
    const file = (of: Record<string, unknown>): string => `${former}---\n${team('b', of)}`;
    const base = await platform.commit({ 'x.yaml': file({}) });
    await platform.commit({ 'x.yaml': file({ displayName: 'tip' }) });
    const { uid } = platform.find('teams', 'a')?.object.metadata ?? {};

    const steps = [{ 'x.yaml': team('b') }, { 'x.yaml': file({}) }];
    const { verdict } = await platform.pushOpenly(pushed(platform, base, ...steps));

    expect(verdict.lines.at(-1)).toMatch(/^accepted: 0 created, 1 made anew, 0 changed/);
    expect(platform.find('teams', 'a')?.object.metadata.uid).not.toBe(uid);
    expect(platform.find('teams', 'b')?.object).toMatchObject({ spec: { displayName: 'tip' } });
  });
});

describe('an object that a merge of the pusher brings back from before its end', () => {
  /** Eve may do everything with the name "a", and read no other name. */
  const eve: User = { name: 'eve', groups: [] };
  const authorizer: Authorizer = {
    authorize: (user, of: Attributes) => ({
      allowed: user.name !== 'eve' || of.verb !== 'get' || ('name' in of && of.name === 'a'),
      reason: '',
    }),
  };
  const role = (name: string, life: string): string =>
    `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ${name}, labels: {life: ${life}}}\n`;
  const former = { 'a.yaml': role('a', 'former') };
  const mine = { 'a.yaml': role('a', 'mine') };

  /** Pushes a merge of the present state with a commit from before the end of the first life. */
  const bringBack = async (tip: readonly Files[], before: readonly Files[], user: User) => {
    const platform = await openTestPlatform({ authorizer });
    const old = await platform.commit({ ...former, 'b.yaml': role('b', 'now') });
    const uid = platform.find('clusterroles', 'a')?.object.metadata.uid;
    let base = old;
    for (const files of tip) base = await platform.commit(files);
    const parents = [pushed(platform, base, ...before), old];
    const push = foreignCommit(platform.repository.gitDir, { parents, files: mine });
    return { platform, push, uid, base, pushOf: () => platform.pushOpenly(push, { user }) };
  };

  const WITH_NEWER = [[{ 'a.yaml': null }, mine], [{ 'a.yaml': null }]] as const;
  const ways: [string, readonly Files[], readonly Files[]][] = [
    ['without a life of now', [{ 'a.yaml': null }], []],
    ['in the place of a newer life', ...WITH_NEWER],
  ];

  test.each(ways)('takes the right to read every name, %s', async (_, tip, before) => {
    const { platform, base, pushOf } = await bringBack(tip, before, eve);

    expect((await pushOf()).verdict.lines[0]).toMatch(
      /^a\.yaml: ClusterRole "a": Forbidden: a merge brings it back from before its deletion/,
    );
    expect(await platform.repository.head()).toBe(base);
  });

  test('takes it where the branch went on meanwhile', async () => {
    const { platform, pushOf } = await bringBack([{ 'a.yaml': null }], [], eve);
    const head = await platform.commit({ 'c.yaml': role('c', 'now') });

    expect((await pushOf()).verdict.lines[0]).toMatch(/Forbidden: a merge brings it back/);
    expect(await platform.repository.head()).toBe(head);
  });

  test('stays away where the branch went on, and still has the newer life', async () => {
    const { platform, pushOf } = await bringBack(...WITH_NEWER, eve);
    const { uid } = platform.find('clusterroles', 'a')?.object.metadata ?? {};
    await platform.commit({ 'c.yaml': role('c', 'now') });

    expect((await pushOf()).verdict.ok).toBe(true);
    expect(platform.find('clusterroles', 'a')?.object.metadata.uid).toBe(uid);
  });

  test.each(ways)('is the former one for a user who has it, %s', async (_, tip, before) => {
    const { platform, pushOf, uid } = await bringBack(tip, before, ann);

    expect((await pushOf()).verdict.lines.at(-1)).toMatch(/^accepted/);
    expect(platform.find('clusterroles', 'a')?.object.metadata.uid).toBe(uid);
  });

  test('takes it by path, and in a plan', async () => {
    const { platform, push, base } = await bringBack([{ 'a.yaml': null }], [], eve);

    expect((await platform.push(push, eve)).lines[0]).toMatch(/Forbidden: a merge brings it back/);
    const source = platform.repository;
    const { objections } = await platform.judge.dryRun({ to: push, source, user: eve });
    expect(objections).toEqual([expect.stringMatching(/Forbidden: a merge brings it back/)]);
    expect(await platform.repository.head()).toBe(base);
  });
});

test('two changes of one access rule are a conflict', async () => {
  const rule = (verbs: string, users: string): string =>
    team('a', { access: [{ name: 'readers', verbs: [verbs], users: ['ada', users] }] });
  const platform = await openTestPlatform();
  const start = await platform.commit({ 'a.yaml': rule('get', 'bob') });
  const tip = await platform.commit({ 'a.yaml': rule('get', 'mallory') });

  const { verdict } = await platform.pushOpenly(
    pushed(platform, start, { 'a.yaml': rule('*', 'bob') }),
  );

  expect(verdict.lines[0]).toMatch(/Team "a" spec\.access: the branch has changed it/);
  expect(await platform.repository.head()).toBe(tip);
});

test('a plan of an old commit replays history once, although the branch moves meanwhile', async () => {
  const platform = await openTestPlatform();
  const { repository } = platform;
  const start = await platform.commit({ 'a.yaml': team('a') });
  const tip = await platform.commit({ 'b.yaml': team('b') });
  let replays = 0;
  async function* history(
    ...asked: Parameters<typeof repository.history>
  ): AsyncGenerator<HistoryCommit> {
    const [from, , scope] = asked;
    // A replay lists the commits before it reads their changes.
    if (from === undefined && scope?.against !== 'no parent') replays += 1;
    if (replays === 1) await platform.commit({ 'c.yaml': team('c') });
    yield* repository.history(...asked);
  }
  const source = new Proxy(repository, {
    get: (target, name) => {
      const own: unknown = name === 'history' ? history : Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });

  const report = await platform.judge.dryRun({ to: start, source, user: ann });

  expect(report.from).toBe(tip);
  expect(report.prunes.map(({ key }) => key.name)).toEqual(['b']);
  expect(replays).toBe(1);
});
