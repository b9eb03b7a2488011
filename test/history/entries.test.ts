/** History entries of one object, from real histories of moves, splits, merges and mistakes. */
import { expect, onTestFinished, test } from 'vitest';
import { fileReader } from '../../src/catalog/file-reader.ts';
import type { HistoryEntry } from '../../src/history/entries.ts';
import { History } from '../../src/history/history.ts';
import { git } from '../support/git.ts';
import { kindOf, kinds, openTestPlatform, type TestPlatform, team } from '../support/platform.ts';

const TEAM = kindOf('teams');
const SECRET = kindOf('sharedsecrets');

function historyOf({ repository, branch }: TestPlatform, idleMs = 60_000): History {
  const reader = fileReader(kinds, '');
  const history = new History({ repository, branch, kinds, reader, under: '', idleMs });
  onTestFinished(() => history.close());
  return history;
}

async function entriesOf(platform: TestPlatform, name: string): Promise<readonly HistoryEntry[]> {
  const key = { group: TEAM.group, kind: 'Team', namespace: '', name };
  return await historyOf(platform).entries(key);
}

/** Without what differs from run to run. */
function told(entries: readonly HistoryEntry[]): unknown[] {
  return entries.map(({ revision: _id, time: _time, uid: _uid, ...rest }) => rest);
}

test('every change is there, newest first, with its fields and the life it belongs to', async () => {
  const platform = await openTestPlatform();
  const first = await platform.commit({ 'teams/a.yaml': team('a', { displayName: 'A' }) });
  await platform.commit({ 'teams/b.yaml': team('b') });
  await platform.commit({ 'teams/a.yaml': team('a', { displayName: 'B', users: ['x'] }) });
  await platform.delete('teams', 'a');
  await platform.create('teams', { metadata: { name: 'a' }, spec: { description: 'again' } });

  const entries = await entriesOf(platform, 'a');
  expect(told(entries)).toEqual([
    { verb: 'created', generation: 1, path: 'teams/a.yaml', fields: ['spec.description'] },
    { verb: 'deleted', generation: 2, path: 'teams/a.yaml', fields: [] },
    {
      verb: 'updated',
      generation: 2,
      path: 'teams/a.yaml',
      fields: ['spec.displayName', 'spec.users'],
    },
    { verb: 'created', generation: 1, path: 'teams/a.yaml', fields: ['spec.displayName'] },
  ]);
  const [second, ...lives] = entries.map(({ uid }) => uid);
  expect(second).toBe(platform.find('teams', 'a')?.object.metadata.uid);
  expect(new Set(lives).size).toBe(1);
  expect(lives).not.toContain(second);
  expect(entries.at(-1)?.revision).toBe(first);
});

test('a file that moves, splits and joins others takes the history along', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'all.yaml': `${team('b')}---\n${team('a')}` });
  await platform.commit({ 'all.yaml': team('b'), 'a.yaml': team('a') });
  await platform.commit({ 'a.yaml': null, 'x/a.yaml': team('a', { displayName: 'moved' }) });
  await platform.commit({ 'x/a.yaml': null, 'all.yaml': `${team('a')}---\n${team('b')}` });
  await platform.commit({ 'all.yaml': `# only a comment\n${team('b')}---\n${team('a')}` });

  const entries = await entriesOf(platform, 'a');
  expect(told(entries)).toMatchObject([
    { verb: 'updated', path: 'all.yaml', previousPath: 'x/a.yaml', fields: ['spec.displayName'] },
    { verb: 'updated', path: 'x/a.yaml', previousPath: 'a.yaml', fields: ['spec.displayName'] },
    { verb: 'moved', path: 'a.yaml', previousPath: 'all.yaml', fields: [] },
    { verb: 'created', path: 'all.yaml', fields: ['spec'] },
  ]);
  expect(new Set(entries.map(({ uid }) => uid)).size).toBe(1);
});

test('a manifest that breaks is told of, and so is its repair', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'a.yaml': team('a') });
  await platform.commit({ 'a.yaml': 'spec: [\n' });
  await platform.commit({ 'a.yaml': team('a', { displayName: 'mended' }) });

  expect(told(await entriesOf(platform, 'a'))).toMatchObject([
    { verb: 'updated', fields: ['spec.displayName'] },
    { verb: 'updated', fields: [], degraded: true },
    { verb: 'created' },
  ]);
});

test('a merge commit reports only the changes that neither parent has', async () => {
  const platform = await openTestPlatform();
  const { gitDir } = platform.repository;
  const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
  const side = commitBeside(gitDir, base, { 'a.yaml': team('a', { displayName: 'side' }) });
  const main = await platform.commit({ 'b.yaml': team('b', { displayName: 'main' }) });
  const merged = { 'a.yaml': team('a', { displayName: 'side' }) };
  const merge = commitBeside(gitDir, main, merged, [side]);
  git(gitDir, ['update-ref', 'refs/heads/main', merge]);
  await platform.branch.sync();

  const ids = (entries: readonly HistoryEntry[]): string[] => entries.map((one) => one.revision);
  expect(ids(await entriesOf(platform, 'a'))).toEqual([side, base]);
  expect(ids(await entriesOf(platform, 'b'))).toEqual([main, base]);
});

test('an object that never was has no history, and one that is gone has', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'a.yaml': team('a') });
  await platform.commit({ 'a.yaml': null });

  expect(await entriesOf(platform, 'never')).toEqual([]);
  expect((await entriesOf(platform, 'a')).map(({ verb }) => verb)).toEqual(['deleted', 'created']);
});

test('fields of secrets are named and their values are not', async () => {
  const platform = await openTestPlatform();
  const secret = (value: string): string =>
    `apiVersion: management.gitplane.dev/v1\nkind: SharedSecret\nmetadata: {name: s, namespace: default}\nspec:\n  data:\n    token: ${value}\n`;
  await platform.commit({ 's.yaml': secret('Zmlyc3Q=') });
  await platform.commit({ 's.yaml': secret('c2Vjb25k') });
  const key = { group: SECRET.group, kind: 'SharedSecret', namespace: 'default', name: 's' };

  const entries = await historyOf(platform).entries(key);
  expect(entries.map(({ fields }) => fields)).toEqual([['spec.data.token'], ['spec.data.token']]);
  expect(JSON.stringify(entries)).not.toMatch(/Zmlyc3Q|c2Vjb25k/);
});

test('a branch that went back shows none of the later commits', async () => {
  const platform = await openTestPlatform();
  const { gitDir } = platform.repository;
  const first = await platform.commit({ 'a.yaml': team('a') });
  const second = await platform.commit({ 'a.yaml': team('a', { displayName: 'later' }) });
  const history = historyOf(platform);
  expect((await history.find({ revision: second })).revision).toBe(second);

  git(gitDir, ['update-ref', 'refs/heads/main', first]);
  await platform.branch.sync();
  if (platform.branch.state.shown === first) {
    await expect(history.find({ revision: second })).rejects.toMatchObject({ code: 404 });
  }
});

test('the index is dropped when idle, and built again on demand', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'a.yaml': team('a') });
  const key = { group: TEAM.group, kind: 'Team', namespace: '', name: 'a' };
  const history = historyOf(platform, 1);

  for (let i = 0; i < 3; i++) {
    expect(await history.entries(key)).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

/** A commit on top of `parent` that no branch knows. */
function commitBeside(
  gitDir: string,
  parent: string,
  files: Readonly<Record<string, string>>,
  others: readonly string[] = [],
): string {
  const env = { GIT_INDEX_FILE: `${gitDir}/test-index` };
  git(gitDir, ['read-tree', parent], { env });
  for (const [path, text] of Object.entries(files)) {
    const blob = git(gitDir, ['hash-object', '-w', '--stdin'], { input: text });
    git(gitDir, ['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`], { env });
  }
  const tree = git(gitDir, ['write-tree'], { env });
  const parents = [parent, ...others].flatMap((id) => ['-p', id]);
  return git(gitDir, ['commit-tree', tree, ...parents, '-m', 'beside']);
}
