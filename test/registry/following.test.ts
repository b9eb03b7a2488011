/** API writes to a branch that lives elsewhere, with others who push to it at the same time. */
import { expect, test } from 'vitest';
import { FragileFiles } from '../support/fragile-files.ts';
import { expectSound, git, temporaryFolder } from '../support/git.ts';
import { openTestPlatform, team } from '../support/platform.ts';
import { elsewhere, follow } from '../support/remote.ts';

function subjects(gitDir: string): string[] {
  return git(gitDir, ['log', '--format=%s', 'main']).split('\n');
}

test('many writes are a commit each and share pushes', async () => {
  const there = elsewhere();
  const { repository, events } = await follow({ url: there.gitDir });
  const platform = await openTestPlatform({ repository });
  const names = Array.from({ length: 40 }, (_, i) => `t${i}`);
  const written = await Promise.all(
    names.map((name) => platform.create('teams', { metadata: { name } })),
  );
  expect(there.head()).toBe(await repository.head());
  const commits = git(there.gitDir, ['rev-list', 'main']).split('\n');
  for (const { commit } of written) expect(commits).toContain(commit);
  expect(subjects(there.gitDir).filter((line) => line.startsWith('create'))).toHaveLength(40);
  expect(events.pushed.length).toBeLessThan(5);
});

test('writes and pushes of others at the same time: nothing is lost, one line of history', async () => {
  const there = elsewhere();
  const { repository, gitDir, following } = await follow({ url: there.gitDir });
  const platform = await openTestPlatform({ repository });
  const others: string[] = [];
  const acknowledged: (string | undefined)[] = [];
  for (let round = 0; round < 4; round++) {
    others.push(there.commit({ [`teams/theirs-${round}.yaml`]: team(`theirs-${round}`) }));
    const names = [0, 1, 2].map((i) => `ours-${round}-${i}`);
    const results = await Promise.all(
      names.map((name) => platform.create('teams', { metadata: { name } })),
    );
    acknowledged.push(...results.map(({ commit }) => commit));
  }
  await following.refresh();
  await platform.branch.sync();
  const commits = git(there.gitDir, ['rev-list', 'main']).split('\n');
  for (const id of [...others, ...acknowledged]) expect(commits).toContain(id);
  expect(git(there.gitDir, ['rev-list', '--merges', 'main'])).toBe('');
  expect(platform.names('teams')).toHaveLength(16);
  expectSound(gitDir);
});

test('a conflict is two changes of one object', async () => {
  const there = elsewhere({ 'teams/a.yaml': team('a'), 'teams/b.yaml': team('b') });
  const { repository } = await follow({ url: there.gitDir });
  const platform = await openTestPlatform({ repository });
  const seen = platform.find('teams', 'a')?.object.metadata.resourceVersion;
  const write = (displayName: string) =>
    platform.patch('teams', 'a', (object) => {
      object.metadata.resourceVersion = seen;
      object.spec = { ...object.spec, displayName };
    });

  there.commit({ 'teams/b.yaml': team('b', { displayName: 'Theirs' }) });
  await write('Ours');
  expect(git(there.gitDir, ['show', 'main:teams/b.yaml'])).toContain('Theirs');

  there.commit({ 'teams/a.yaml': team('a', { displayName: 'Theirs' }) });
  await expect(write('Ours again')).rejects.toMatchObject({ code: 409 });
  expect(git(there.gitDir, ['show', 'main:teams/a.yaml'])).toContain('Theirs');
});

test('a create says that the object exists if another client pushed it meanwhile', async () => {
  const there = elsewhere();
  const { repository } = await follow({ url: there.gitDir });
  const platform = await openTestPlatform({ repository });
  there.commit({ 'teams/a.yaml': team('a', { displayName: 'Theirs' }) });
  const create = platform.create('teams', { metadata: { name: 'a' } });
  await expect(create).rejects.toMatchObject({ code: 409, reason: 'AlreadyExists' });
});

test('the remote is never behind, at any operation of the disk that breaks off a write', async () => {
  const there = elsewhere();
  let gitDir: string | undefined;
  let reached = 0;
  for (let at = 0; ; at += 3) {
    const files = new FragileFiles(temporaryFolder());
    const first = await follow({ url: there.gitDir, files, ...(gitDir && { gitDir }) });
    gitDir = first.gitDir;
    const platform = await openTestPlatform({ repository: first.repository });
    files.inject({ kind: 'error', at, code: 'EIO', lasting: true });
    const name = `t${at}`;
    const result = await platform.create('teams', { metadata: { name } }).catch(() => undefined);
    const local = git(gitDir, ['rev-parse', 'main']);
    // Everything that is here is there; what was acknowledged is in both.
    expect(git(there.gitDir, ['rev-list', 'main'])).toContain(local);
    if (result?.commit !== undefined) expect(local).toBe(result.commit);
    await platform.close();
    await first.repository.close();
    // Commits lost in the power failure are fetched again.
    const again = await follow({ url: there.gitDir, gitDir });
    expect(await again.repository.head()).toBe(there.head());
    expectSound(gitDir);
    await again.repository.close();
    reached = at;
    if (result !== undefined) break;
  }
  expect(reached).toBeGreaterThan(6);
});
