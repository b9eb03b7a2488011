import { describe, expect, test } from 'vitest';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { ReadDocument } from '../../src/catalog/file.ts';
import { commitOf, foreignCommit, git, publish } from '../support/git.ts';
import { openTestPlatform, team } from '../support/platform.ts';

describe('other rules than those of the last run', () => {
  test('remove objects that are no longer part of the platform from readers', async () => {
    const before = await openTestPlatform({ under: 'east' });
    await before.commit({ 'east/a.yaml': team('a'), 'west/b.yaml': team('b') });
    expect(before.names('teams')).toEqual(['a']);

    const after = await before.restart({ under: 'west', rules: 'other' });

    expect(after.names('teams')).toEqual(['b']);
  });

  test('leave an object that is being deleted to its finalizers', async () => {
    const before = await openTestPlatform();
    await before.create('teams', { metadata: { name: 'a', finalizers: ['example.com/hold'] } });
    await before.delete('teams', 'a');

    const after = await before.restart({ rules: 'other' });

    expect(after.find('teams', 'a')?.object.metadata.deletionTimestamp).toBeDefined();
  });

  test('leave no trace that the old rules would take for a catalog', async () => {
    const before = await openTestPlatform();
    await before.commit({ 'a.yaml': team('a') });
    // A start under new rules that dies while it reads history, then the old version again.
    const { repository } = before;
    const { history } = repository;
    repository.history = () => {
      throw new Error('the process died');
    };
    await expect(before.restart({ rules: 'other' })).rejects.toThrow('died');
    repository.history = history;

    const after = await before.restart();

    expect(after.branch.state.catalog.size).toBe(1);
    await expect(after.create('teams', { metadata: { name: 'a' } })).rejects.toThrow(StatusError);
  });
});

describe('the persisted documents of a file', () => {
  test.each([false, true])(
    'goes when the file is repaired; after a restart: %s',
    async (restarts) => {
      const first = await openTestPlatform();
      await first.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
      const kept = (platform: typeof first): number => [...platform.store.documents('file')].length;
      expect(kept(first)).toBe(0);
      await publish(first.repository, commitOf({ 'a.yaml': 'apiVersion: [\n' }));
      await first.branch.sync();
      expect(kept(first)).toBe(1);
      const platform = restarts ? await first.restart() : first;

      await publish(platform.repository, commitOf({ 'a.yaml': team('a') }));
      await platform.branch.sync();

      expect(kept(platform)).toBe(0);
      expect((await platform.restart()).names('teams')).toEqual(['a', 'b']);
    },
  );
});

describe('many files without a manifest', () => {
  const COUNT = 600;
  const broken = Object.fromEntries(
    Array.from({ length: COUNT }, (_, i) => [`wide/${i}.yaml`, i % 3 === 0 ? 'a: [\n' : 'a: 1\n']),
  );
  const many = `${'---\na: 1\n'.repeat(9)}`;

  test('have few documents, which a restart reads and each step renews', async () => {
    const first = await openTestPlatform();
    await first.commit({ 'a.yaml': team('a'), 'many.yaml': many, ...broken });
    expect([...first.store.documents('file')].length).toBeLessThan(10);
    const problems = first.branch.state.catalog.problems();
    expect(new Set(problems.map(({ path }) => path)).size).toBe(COUNT + 1);

    const second = await first.restart();
    expect(second.branch.state.catalog.problems()).toEqual(problems);

    const files = { 'wide/0.yaml': team('b'), 'wide/1.yaml': null, 'wide/2.yaml': many };
    await second.commit({ ...files, 'many.yaml': 'a: 1\n', 'new.yaml': 'a: 1\n' });
    const changed = second.branch.state.catalog.problems();
    const third = await second.restart();
    expect(third.branch.state.catalog.problems()).toEqual(changed);
    expect(new Set(changed.map(({ path }) => path)).size).toBe(COUNT - 2 + 2);
    expect(third.names('teams')).toEqual(['a', 'b']);

    const left = Object.keys(broken).slice(2);
    await third.commit(Object.fromEntries(left.map((path) => [path, null])));
    await third.commit({ 'many.yaml': null, 'new.yaml': null });
    expect([...third.store.documents('file')]).toEqual([]);
  });

  test('have their own documents if they are large', async () => {
    const first = await openTestPlatform();
    const long = (i: number): string => `apiVersion: ${'x'.repeat(100_000)}\nkind: K${i}\n`;
    const longs = Array.from({ length: 20 }, (_, i) => [`long/${i}.yaml`, long(i)]);
    await first.commit({ 'a.yaml': team('a'), ...broken, ...Object.fromEntries(longs) });
    const problems = first.branch.state.catalog.problems();

    const sizes = [...first.store.documents('files:')].map(([, group]) => JSON.stringify(group));
    const second = await first.restart();

    expect(Math.max(...sizes.map(({ length }) => length))).toBeLessThan(100_000);
    expect([...first.store.documents('file:')]).toHaveLength(20);
    expect(second.branch.state.catalog.problems()).toEqual(problems);
  });

  test('are forgotten when they are gone: one that comes back has a new place', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a'), ...broken });
    const groups = (): string[] => [...platform.store.documents('files:')].map(([name]) => name);
    const before = groups();
    const gone = Object.keys(broken).sort().slice(0, 300);

    await platform.commit(Object.fromEntries(gone.map((path) => [path, null])));
    const left = groups();
    await platform.commit(Object.fromEntries(gone.map((path) => [path, 'a: 1\n'])));

    expect(before.length - left.length).toBe(1);
    expect(groups()).not.toEqual(expect.arrayContaining(before));
    const problems = platform.branch.state.catalog.problems();
    expect(new Set(problems.map(({ path }) => path)).size).toBe(COUNT);
    expect((await platform.restart()).branch.state.catalog.problems()).toEqual(problems);
  });

  test('stay persisted when the step that repairs one of them fails', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a'), ...broken });
    const { applyYielding } = platform.store;
    platform.store.applyYielding = () => Promise.reject(new Error('the disk is full'));
    await publish(platform.repository, commitOf({ 'wide/0.yaml': team('b') }));
    await expect(platform.branch.sync()).rejects.toThrow('the disk is full');
    platform.store.applyYielding = applyYielding;
    await publish(platform.repository, commitOf({ 'wide/0.yaml': null, 'wide/3.yaml': 'b: [\n' }));
    await platform.branch.sync();
    const problems = platform.branch.state.catalog.problems();

    const after = await platform.restart();

    expect(new Set(problems.map(({ path }) => path)).size).toBe(COUNT - 1);
    expect(after.branch.state.catalog.problems()).toEqual(problems);
  });
});

describe('a step that fails half-way', () => {
  test('is made up for by the next one: no revision is skipped', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a') });
    const { applyYielding } = platform.store;
    platform.store.applyYielding = () => Promise.reject(new Error('the disk is full'));
    await publish(platform.repository, commitOf({ 'b.yaml': team('b') }));
    await expect(platform.branch.sync()).rejects.toThrow('the disk is full');
    platform.store.applyYielding = applyYielding;

    await platform.branch.sync();

    expect(platform.names('teams')).toEqual(['a', 'b']);
  });

  test('a committed write whose step fails is shown to readers later', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a') });
    const { prepare } = platform.store;
    platform.store.prepare = () => () => {
      throw new Error('the disk is full');
    };
    await expect(platform.create('teams', { metadata: { name: 'b' } })).rejects.toThrow('full');
    platform.store.prepare = prepare;

    await platform.branch.sync();

    expect(platform.names('teams')).toEqual(['a', 'b']);
    const warm = await platform.restart();
    expect(warm.names('teams')).toEqual(['a', 'b']);
  });
});

test('manifests are in the store alone after a write and after a push', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'a.yaml': team('a', { displayName: 'before' }) });
  await platform.create('teams', { metadata: { name: 'b' } });
  await platform.patch('teams', 'a', (object) => {
    object.spec.displayName = 'after';
  });
  await publish(platform.repository, commitOf({ 'c.yaml': team('c') + '---\n' + team('d') }));
  await platform.branch.sync();

  const objects = [...platform.branch.state.catalog.objects()];
  expect(objects).toHaveLength(4);
  for (const { key, source, manifest } of objects) {
    expect(source).toBeInstanceOf(ReadDocument);
    expect((source as ReadDocument).text()).toBeUndefined();
    expect(manifest.metadata).toEqual({ name: key.name });
  }
  const { manifest } = objects.find(({ key }) => key.name === 'a') ?? {};
  expect(manifest?.spec).toMatchObject({ displayName: 'after' });
});

test('state changes of an object survive a write to it that is in flight', async () => {
  const platform = await openTestPlatform();
  await platform.commit({ 'a.yaml': team('a', { displayName: 'before' }) });
  const { store } = platform;
  const { prepare } = store;
  let learned = 0;
  store.prepare = (...step) => {
    const apply = prepare.apply(store, step);
    const found = platform.find('teams', 'a');
    // Only what was worked out ahead is out of date by that.
    if (learned === 0 && found !== undefined) {
      learned += 1;
      store.apply([
        { type: 'put', key: found.key, object: { ...found.object, status: { seen: true } } },
      ]);
    }
    return apply;
  };

  await platform.patch('teams', 'a', (object) => {
    object.spec.displayName = 'after';
  });

  expect(learned).toBe(1);
  const { object } = platform.find('teams', 'a') ?? {};
  expect(object?.spec?.['displayName']).toBe('after');
  expect(object?.status).toMatchObject({ seen: true });
});

describe('a hostile history', () => {
  test('cannot stop the daemon from following, with any commits and files', async () => {
    const platform = await openTestPlatform();
    await platform.commit({ 'a.yaml': team('a') });
    const { gitDir } = platform.repository;
    const head = git(gitDir, ['rev-parse', 'main']);
    const far = 99_999_999_999_999;
    const stream = [
      `commit refs/heads/main\ncommitter x <x@x> ${far} +0000\ndata 0\nfrom ${head}`,
      `M 160000 ${head} .gitplaneignore\nM 160000 ${head} sub.yaml`,
      `M 100644 inline far.yaml\ndata <<E\n${team('far')}E`,
      `commit refs/heads/main\ncommitter x <x@x> 1 +0000\ndata 0`,
      'D .gitplaneignore\nM 120000 inline .gitplaneignore\ndata <<E\na.yaml\nE',
      `M 100644 inline late.yaml\ndata <<E\n${team('late')}E\n`,
    ];
    git(gitDir, ['fast-import', '--quiet'], { input: stream.join('\n') });

    await platform.branch.sync();

    expect(platform.names('teams')).toEqual(['a', 'far', 'late']);
    expect(platform.find('teams', 'far')?.object.metadata.creationTimestamp).toBe(
      '9999-12-31T23:59:59Z',
    );
    const warm = await platform.restart();
    expect(warm.names('teams')).toEqual(['a', 'far', 'late']);
  });
});

test('follows merges of others on top of what is served, without reading the history again', async () => {
  const replays: string[] = [];
  const platform = await openTestPlatform({ replays });
  const base = await platform.commit({ 'a.yaml': team('a'), 'b.yaml': team('b') });
  const { repository, branch } = platform;
  replays.length = 0;
  const files = { 'a.yaml': team('a', { displayName: 'Theirs' }), 'b.yaml': null };
  const side = foreignCommit(repository.gitDir, { parents: [base], files });
  const tip = await platform.commit({ 'c.yaml': team('c') });
  const merge = foreignCommit(repository.gitDir, { parents: [tip, side], files });
  git(repository.gitDir, ['update-ref', 'refs/heads/main', merge]);

  await branch.sync();

  expect(platform.names('teams')).toEqual(['a', 'c']);
  const served = platform.find('teams', 'a')?.object;
  expect(served?.metadata.generation).toBe(2);
  expect(replays).toEqual([]);
  const later = await openTestPlatform({ repository, replays });
  expect(later.find('teams', 'a')?.object.metadata).toEqual({
    ...served?.metadata,
    resourceVersion: expect.any(String),
  });
  expect(replays).toEqual(['first start']);
});
