/** Content and format of commits in a batch. */
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PathError } from '../../../src/git/git-error.ts';
import { HeadMovedError } from '../../../src/git/repository.ts';
import {
  cloneForTest,
  commitOf,
  expectSound,
  filesOf,
  git,
  openForTest,
  packFiles,
  publish,
} from '../../support/git.ts';

describe('a commit', () => {
  test('has author, committer, UTC time and message as given', async () => {
    const repository = await openForTest();
    await publish(
      repository,
      commitOf(
        { a: '1' },
        {
          author: { name: 'Zoë', email: 'zoe@example.com' },
          committer: { name: 'gitplane', email: 'gitplane@example.com' },
          time: 1_234_567_890,
          message: 'create Team "a"\n\nRequest-Id: 1',
        },
      ),
    );
    expect(git(repository.gitDir, ['cat-file', 'commit', 'main']).split('\n').slice(1)).toEqual([
      'author Zoë <zoe@example.com> 1234567890 +0000',
      'committer gitplane <gitplane@example.com> 1234567890 +0000',
      '',
      'create Team "a"',
      '',
      'Request-Id: 1',
    ]);
  });

  test.each([
    [
      'Eve <root@example.com>\nparent 1',
      'eve@example.com>\n',
      'Eve  root@example.com parent 1 <eve@example.com>',
    ],
    ['', 'nameless@example.com', 'nameless <nameless@example.com>'],
    ['...', '', 'unknown <>'],
    ['  "A.", ', 'a b@c', 'A <ab@c>'],
    ['x\0y', 'x\0@y', 'x y <x@y>'],
  ])('a commit by %j <%j> names the author %j', async (name, email, identity) => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: '1' }, { author: { name, email } }));
    const lines = git(repository.gitDir, ['cat-file', 'commit', 'main']).split('\n');
    expect(lines[1]).toBe(`author ${identity} 1700000000 +0000`);
    expectSound(repository.gitDir);
  });

  test.each([
    ['no newline', 'no newline\n'],
    ['one\n', 'one\n'],
    ['', '\n'],
    ['nul \0 gone', 'nul  gone\n'],
  ])('a commit with the message %j ends with a newline', async (message, wanted) => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1' }, { message }));
    const raw = git(repository.gitDir, ['cat-file', 'commit', id], {});
    expect(`${raw.split('\n\n')[1] ?? ''}\n`).toBe(wanted);
    expectSound(repository.gitDir);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'cannot be of time %d',
    async (time) => {
      const repository = await openForTest();
      await expect(publish(repository, commitOf({ a: '1' }, { time }))).rejects.toThrow(
        'whole seconds',
      );
      expect(await repository.head()).toBeUndefined();
    },
  );

  test('returns the id of the commit, which has the added files', async () => {
    const repository = await openForTest();
    const batch = repository.begin(undefined);
    const { id } = await batch.add(commitOf({ 'a/b': 'text', c: '' }));
    expect(batch.tip).toBe(id);
    await batch.publish();
    const files = await repository.listFiles(id);
    expect(files.map(({ path }) => path)).toEqual(['a/b', 'c']);
    expect((await repository.readBlobs(files.map((file) => file.id))).map(String)).toEqual([
      'text',
      '',
    ]);
  });

  test('may change nothing, and may leave nothing', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const ids = await publish(
      repository,
      commitOf({}),
      commitOf({ 'a/b/c': '1' }),
      commitOf({}),
      commitOf({ 'a/b/c': null }),
      commitOf({ d: '1' }),
    );
    const tree = (i: number) => git(gitDir, ['rev-parse', `${ids[i]}^{tree}`]);
    expect([tree(0), tree(3)]).toEqual(Array(2).fill('4b825dc642cb6eb9a060e54bf8d69288fbee4904'));
    expect(tree(1)).toBe(tree(2));
    expectSound(gitDir);
  });
});

describe('paths', () => {
  test.each([
    '',
    '/a',
    'a/',
    'a//b',
    '.',
    './a',
    'a/../b',
    '..',
    '.git',
    '.GIT/config',
    'a/.Git/hooks',
    'git~1',
    '.git ',
    '.git.',
    '.git::$INDEX_ALLOCATION',
    '.g\u200cit',
    'x\\.git',
    'a\0b',
    'a\nb',
    'a\tb',
    'a\u007f',
    `${'x'.repeat(256)}`,
    `${'x/'.repeat(2100)}y`,
    'a\ud800',
    'a\udcff',
  ])('%j cannot be written, and leaves the batch as it was', async (path) => {
    const repository = await openForTest();
    const batch = repository.begin(undefined);
    const refused = batch.add(commitOf({ 'good.yaml': '1', [path]: '2' }));
    await expect(refused).rejects.toThrow(PathError);
    expect(batch.tip).toBeUndefined();

    const { id } = await batch.add(commitOf({ 'good.yaml': '1' }));
    await batch.publish();
    expect(filesOf(repository.gitDir, id)).toEqual({ 'good.yaml': '1' });
  });

  test.each([
    '.gitignore',
    '.gitplaneignore',
    'a.git',
    'ä/ö/日本.yaml',
    'a b',
    '"q"',
    "it's",
    '-x',
    ':(top)',
    '*',
    '__proto__',
    'constructor/x',
  ])('%j can be written', async (path) => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ [path]: 'content' }));
    expect((await repository.listFiles(id)).map((f) => f.path)).toEqual([path]);
    expectSound(repository.gitDir);
  });

  const conflicts: [string, Record<string, string | null>, string][] = [
    ['a file below a file', { 'file/x': '1' }, 'file'],
    ['a file deep below a file', { 'file/x/y/z': '1' }, 'file'],
    ['a file where a directory is', { dir: '1' }, 'directory'],
    ['a file and a directory of one name', { 'new/x': '1', new: '1' }, 'directory'],
    ['the removal of what is not there', { nothing: null }, 'does not exist'],
    ['the removal below what is not there', { 'no/thing': null }, 'does not exist'],
    ['the removal of a directory', { dir: null }, 'directory'],
    ['the removal below a file', { 'file/x': null }, 'file'],
  ];
  test.each(conflicts)('%s is refused', async (_title, files, reason) => {
    const repository = await openForTest();
    const [before] = await publish(repository, commitOf({ file: '1', 'dir/x': '1', 'dir/y': '1' }));
    const refused = publish(repository, commitOf(files));
    await expect(refused).rejects.toThrow(PathError);
    await expect(refused).rejects.toThrow(reason);
    expect(await repository.head()).toBe(before);
  });

  test('a path that one commit changes twice is refused', async () => {
    const repository = await openForTest();
    const { changes } = commitOf({ a: '1' });
    const twice = commitOf({}, { changes: [...changes, ...changes] });
    await expect(publish(repository, twice)).rejects.toThrow('twice');
  });

  test.each([
    ['a file gives way to a directory', { file: null, 'file/x/y': '2' }, { 'file/x/y': '2' }],
    ['a directory gives way to a file', { 'dir/a': null, 'dir/b/c': null, dir: '2' }, { dir: '2' }],
  ])('%s in one commit', async (_title, files, wanted) => {
    const repository = await openForTest();
    const start = { file: '1', 'dir/a': '1', 'dir/b/c': '1' };
    const [, id = ''] = await publish(repository, commitOf(start), commitOf(files));
    expect(filesOf(repository.gitDir, id)).toMatchObject(wanted);
    expectSound(repository.gitDir);
  });

  test('the last file of a directory takes the directory with it', async () => {
    const repository = await openForTest();
    const [, id = ''] = await publish(
      repository,
      commitOf({ 'a/b/c/d': '1', 'a/x': '1' }),
      commitOf({ 'a/b/c/d': null }),
    );
    expect(git(repository.gitDir, ['ls-tree', '-r', '-t', '--name-only', id])).toBe('a\na/x');
  });
});

describe('existing content', () => {
  test('keeps its mode when its content changes; links and submodules are not written', async () => {
    const repository = await openForTest();
    const clone = cloneForTest(repository.gitDir);
    writeFileSync(join(clone, 'run.sh'), 'v1');
    chmodSync(join(clone, 'run.sh'), 0o755);
    symlinkSync('/etc/passwd', join(clone, 'link'));
    git(clone, ['add', '-A']);
    git(clone, ['update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`]);
    git(clone, ['commit', '-q', '-m', 'start']);
    git(clone, ['push', '-q', 'origin', 'main']);

    const [id = ''] = await publish(repository, commitOf({ 'run.sh': 'v2' }));
    const [run] = (await repository.listFiles(id)).filter((f) => f.path === 'run.sh');
    expect(run?.mode).toBe('100755');
    for (const path of ['link', 'sub', 'link/x', 'sub/x']) {
      await expect(publish(repository, commitOf({ [path]: 'x' }))).rejects.toThrow(PathError);
    }
    const [last = ''] = await publish(repository, commitOf({ link: null, sub: null }));
    expect((await repository.listFiles(last)).map((f) => f.path)).toEqual(['run.sh']);
  });

  test('a batch begins on whatever commit the branch has, read from git', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ 'a/1': '1', 'b/1': '1' }));
    const clone = cloneForTest(repository.gitDir);
    writeFileSync(join(clone, 'a', '2'), 'pushed');
    git(clone, ['add', '-A']);
    git(clone, ['commit', '-q', '-m', 'pushed']);
    git(clone, ['push', '-q', 'origin', 'main']);
    const [id = ''] = await publish(repository, commitOf({ 'b/1': 'changed' }));
    expect(filesOf(repository.gitDir, id)).toEqual({
      'a/1': '1',
      'a/2': 'pushed',
      'b/1': 'changed',
    });
    expect(git(repository.gitDir, ['rev-parse', `${id}~`])).toBe(git(clone, ['rev-parse', 'HEAD']));
  });
});

describe('publishing', () => {
  test('publishes a batch as one pack with an index, and nothing before the end', async () => {
    const repository = await openForTest();
    const batch = repository.begin(undefined);
    for (let i = 0; i < 10; i++) await batch.add(commitOf({ [`d/${i}`]: String(i) }));
    expect(packFiles(repository.gitDir)).toEqual([]);
    expect(await repository.head()).toBeUndefined();

    await batch.publish();
    const names = packFiles(repository.gitDir);
    expect(names).toHaveLength(2);
    expect(names.every((name) => /^pack-[0-9a-f]{40}\.(idx|pack)$/.test(name))).toBe(true);
    expect(git(repository.gitDir, ['rev-list', '--count', 'main'])).toBe('10');
    expectSound(repository.gitDir);
  });

  test('happens once', async () => {
    const repository = await openForTest();
    const batch = repository.begin(undefined);
    await batch.add(commitOf({ a: '1' }));
    await batch.publish();
    await expect(batch.publish()).rejects.toThrow('only once');
    await expect(batch.add(commitOf({ b: '1' }))).rejects.toThrow('start a new one');
  });

  test('a batch without commits changes nothing', async () => {
    const repository = await openForTest();
    await repository.begin(undefined).publish();
    expect(await repository.head()).toBeUndefined();
    expect(packFiles(repository.gitDir)).toEqual([]);
  });

  test('commits added at the same time are chained, not lost', async () => {
    const repository = await openForTest();
    const batch = repository.begin(undefined);
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => batch.add(commitOf({ [`f${i}`]: 'x' }))),
    );
    await batch.publish();
    expect(Object.keys(filesOf(repository.gitDir, 'main'))).toHaveLength(20);
    expect(git(repository.gitDir, ['rev-list', '--count', 'main'])).toBe('20');
  });

  test('throws HeadMovedError and leaves nothing when the branch is elsewhere', async () => {
    const repository = await openForTest();
    const stale = repository.begin(undefined);
    await stale.add(commitOf({ a: 'stale' }));
    const [now = ''] = await publish(repository, commitOf({ a: 'first' }));
    const before = packFiles(repository.gitDir);

    await expect(stale.publish()).rejects.toMatchObject({
      name: 'HeadMovedError',
      expected: undefined,
      actual: now,
    });
    expect(await repository.head()).toBe(now);
    expect(packFiles(repository.gitDir)).toEqual(before);
  });

  test('publishing a batch on an unborn branch throws HeadMovedError too', async () => {
    const repository = await openForTest();
    const [id] = await publish(await openForTest(), commitOf({ a: '1' }));
    const batch = repository.begin(id);
    await expect(batch.add(commitOf({ b: '1' }))).rejects.toThrow('is not in');
    await expect(repository.head()).resolves.toBeUndefined();
  });

  test('a batch may begin on one that is still on its way to disk', async () => {
    const repository = await openForTest();
    const published: Promise<void>[] = [];
    let tip: string | undefined;
    for (let i = 0; i < 8; i++) {
      const batch = repository.begin(tip);
      await batch.add(commitOf({ [`d/${i}`]: String(i), 'd/same': String(i % 2) }));
      await batch.add(commitOf({ [`e/${i}`]: String(i) }));
      tip = batch.tip;
      published.push(batch.publish());
    }
    await Promise.all(published);
    expect(await repository.head()).toBe(tip);
    expect(Object.keys(filesOf(repository.gitDir, 'main'))).toHaveLength(17);
    expectSound(repository.gitDir);
  });

  test('a batch on top of one that failed fails as well, and harms nothing', async () => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1' }));
    const first = repository.begin(id);
    await first.add(commitOf({ 'x/y': 'lost' }));
    await publish(repository, commitOf({ a: '2' }));
    const failing = first.publish();
    const second = repository.begin(first.tip);
    const added = second.add(commitOf({ 'x/z': 'lost too' }));
    await expect(failing).rejects.toThrow(HeadMovedError);
    await added.catch(() => undefined);
    if (second.tip !== first.tip) await expect(second.publish()).rejects.toThrow(HeadMovedError);
    expect(filesOf(repository.gitDir, 'main')).toEqual({ a: '2' });

    // The trees of the lost commits must not be taken for stored ones.
    await publish(repository, commitOf({ 'x/y': 'lost' }), commitOf({ 'x/z': 'lost too' }));
    expectSound(repository.gitDir);
  });

  test('directories with the same content are independent of each other', async () => {
    const repository = await openForTest();
    const batch = repository.begin(undefined);
    await batch.add(commitOf({ 'a/x': '1', 'b/x': '1', 'c/d/x': '1' }));
    for (let i = 0; i < 5; i++) await batch.add(commitOf({ 'a/x': `v${i}` }));
    await batch.add(commitOf({ 'b/y': '2' }));
    await batch.add(commitOf({ 'a/x': '1' }));
    await batch.add(commitOf({ 'c/d/y': '2', 'a/y': '2' }));
    await batch.publish();
    expect(filesOf(repository.gitDir, 'main')).toEqual({
      'a/x': '1',
      'a/y': '2',
      'b/x': '1',
      'b/y': '2',
      'c/d/x': '1',
      'c/d/y': '2',
    });
    expectSound(repository.gitDir);
  });
});
