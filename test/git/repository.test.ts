/** Contract of `Repository`, compared with git itself. */

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BlobTooLargeError, MissingObjectError } from '../../src/git/git-error.ts';
import { objectId } from '../../src/git/objects/object-id.ts';
import { cloneForTest, commitOf, git, openForTest, publish } from '../support/git.ts';

const NO_OBJECT = '1'.repeat(40);

describe('head', () => {
  test('is undefined while the branch has no commit', async () => {
    const repository = await openForTest();
    expect(await repository.head()).toBeUndefined();
  });

  test('is the commit git sees, after a publication and after a push', async () => {
    const repository = await openForTest();
    const [id] = await publish(repository, commitOf({ 'a.yaml': '1' }));
    expect(await repository.head()).toBe(id);
    expect(git(repository.gitDir, ['rev-parse', 'main'])).toBe(id);

    const clone = cloneForTest(repository.gitDir);
    git(clone, ['commit', '-q', '--allow-empty', '-m', 'pushed']);
    git(clone, ['push', '-q', 'origin', 'main']);
    expect(await repository.head()).toBe(git(clone, ['rev-parse', 'HEAD']));
  });
});

describe('listFiles', () => {
  test('lists files, links and submodules in the order and with the modes of git', async () => {
    const repository = await openForTest();
    const clone = cloneForTest(repository.gitDir);
    for (const folder of ['a', 'a.b', 'ä']) mkdirSync(join(clone, folder));
    for (const path of ['a/x', 'a.b/y', 'a-b', 'ä/ö "q" \t tab', 'run.sh']) {
      writeFileSync(join(clone, path), path);
    }
    chmodSync(join(clone, 'run.sh'), 0o755);
    symlinkSync('a-b', join(clone, 'link'));
    git(clone, ['add', '-A']);
    git(clone, ['update-index', '--add', '--cacheinfo', `160000,${NO_OBJECT},sub`]);
    git(clone, ['commit', '-q', '-m', 'all sorts']);
    git(clone, ['push', '-q', 'origin', 'main']);

    const head = (await repository.head()) ?? '';
    const files = await repository.listFiles(head);
    expect(files.map((f) => `${f.mode} ${f.path}`)).toEqual([
      '100644 a-b',
      '100644 a.b/y',
      '100644 a/x',
      '120000 link',
      '100755 run.sh',
      '160000 sub',
      '100644 ä/ö "q" \t tab',
    ]);
    expect(files[2]?.id).toBe(git(clone, ['rev-parse', 'HEAD:a/x']));
  });

  test.each(['teams', 'teams/', 'teams//'])('%j limits the list to a directory', async (under) => {
    const repository = await openForTest();
    const [id = ''] = await publish(
      repository,
      commitOf({ 'teams/a': '1', 'teams/b/c': '2', 'teams-old': '3', 'x/teams/d': '4' }),
    );
    const files = await repository.listFiles(id, under);
    expect(files.map((f) => f.path)).toEqual(['teams/a', 'teams/b/c']);
  });

  test.each([
    ['nowhere', 'a directory that is not there'],
    ['a', 'a file'],
    ['*', 'a pattern'],
    [':(glob)**', 'pathspec magic'],
  ])('%j (%s) is no directory: nothing is listed', async (under) => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1', 'b/c': '2' }));
    expect(await repository.listFiles(id, under)).toEqual([]);
  });

  test('paths that are not UTF-8 stay distinct, and can be removed', async () => {
    const repository = await openForTest();
    const blob = git(repository.gitDir, ['hash-object', '-w', '--stdin'], { input: 'x' });
    const entry = (name: number[]) =>
      Buffer.concat([Buffer.from(`100644 blob ${blob}\t`), Buffer.from(name), Buffer.from('\0')]);
    const input = Buffer.concat([entry([0x61, 0xfe]), entry([0x61, 0xff]), entry([0xc3, 0xa4])]);
    const tree = git(repository.gitDir, ['mktree', '-z'], { input });
    const commit = git(repository.gitDir, ['commit-tree', '-m', 'bytes', tree]);
    git(repository.gitDir, ['update-ref', 'refs/heads/main', commit]);

    const paths = (await repository.listFiles(commit)).map((f) => f.path);
    expect(paths).toEqual(['a\udcfe', 'a\udcff', 'ä']);
    expect((await repository.diff(undefined, commit)).map((c) => c.path)).toEqual(paths);

    const [next = ''] = await publish(repository, commitOf({ 'a\udcff': null }));
    expect((await repository.listFiles(next)).map((f) => f.path)).toEqual(['a\udcfe', 'ä']);
    const [change] = await repository.diff(commit, next);
    expect(change?.path).toBe('a\udcff');
  });
});

describe('diff', () => {
  test('returns additions, changes, removals and modes', async () => {
    const repository = await openForTest();
    const [from = ''] = await publish(repository, commitOf({ 'a/1': 'x', 'a/2': 'y', b: 'z' }));
    const clone = cloneForTest(repository.gitDir);
    git(clone, ['rm', '-q', 'b']);
    git(clone, ['update-index', '--chmod=+x', 'a/2']);
    writeFileSync(join(clone, 'a/1'), 'changed');
    writeFileSync(join(clone, 'c'), 'new');
    git(clone, ['add', 'a/1', 'c']);
    git(clone, ['commit', '-q', '-m', 'edit']);
    git(clone, ['push', '-q', 'origin', 'main']);
    const to = git(clone, ['rev-parse', 'HEAD']);
    const id = (spec: string) => git(clone, ['rev-parse', spec]);

    expect(await repository.diff(from, to)).toEqual([
      { path: 'a/1', oldId: id(`${from}:a/1`), newId: id(`${to}:a/1`), mode: '100644' },
      { path: 'a/2', oldId: id(`${to}:a/2`), newId: id(`${to}:a/2`), mode: '100755' },
      { path: 'b', oldId: id(`${from}:b`), mode: '000000' },
      { path: 'c', newId: id(`${to}:c`), mode: '100644' },
    ]);
  });

  test('a move is a removal and an addition, never a rename', async () => {
    const repository = await openForTest();
    const content = 'the same text\n'.repeat(50);
    const ids = await publish(
      repository,
      commitOf({ old: content }),
      commitOf({ old: null, new: content }),
    );
    const changes = await repository.diff(ids[0], ids[1] ?? '');
    expect(changes.map((c) => [c.path, c.mode])).toEqual([
      ['new', '100644'],
      ['old', '000000'],
    ]);
  });

  test('a diff from nothing has everything, and a diff of a commit with itself nothing', async () => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1', 'b/c': '2' }));
    const changes = await repository.diff(undefined, id);
    expect(changes.map((c) => [c.path, c.oldId, c.mode])).toEqual([
      ['a', undefined, '100644'],
      ['b/c', undefined, '100644'],
    ]);
    expect(await repository.diff(id, id)).toEqual([]);
  });

  test('goes backwards and between unrelated commits', async () => {
    const repository = await openForTest();
    const [one = '', two = ''] = await publish(
      repository,
      commitOf({ a: '1' }),
      commitOf({ a: null, b: '1' }),
    );
    expect((await repository.diff(two, one)).map((c) => [c.path, c.mode])).toEqual([
      ['a', '100644'],
      ['b', '000000'],
    ]);
  });

  test('a missing commit, a tree or a blob is an error and never an empty answer', async () => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1', 'b/c': '1' }));
    const tree = git(repository.gitDir, ['rev-parse', 'main^{tree}']);
    const subtree = git(repository.gitDir, ['rev-parse', 'main:b']);
    const blob = git(repository.gitDir, ['rev-parse', 'main:a']);
    for (const other of [NO_OBJECT, tree, blob]) {
      await expect(repository.diff(id, other)).rejects.toThrow();
      await expect(repository.diff(other, id)).rejects.toThrow();
    }
    await expect(repository.diff(tree, subtree)).rejects.toThrow('is a tree, not a commit');
    expect(await repository.diff(undefined, id)).toHaveLength(2);
  });
});

describe('readBlobs', () => {
  test('gives contents in the order asked, also twice, empty and binary', async () => {
    const repository = await openForTest();
    const contents = ['', '\n', 'text', Buffer.from([0, 255, 10, 0]), 'x'.repeat(300_000)];
    const batch = repository.begin(undefined);
    await batch.add(commitOf(Object.fromEntries(contents.map((content, i) => [`f${i}`, content]))));
    await batch.publish();
    const ids = contents.map((content) => objectId('blob', Buffer.from(content)));
    const asked = [...ids, ...ids.toReversed()];
    const wanted = [...contents, ...contents.toReversed()].map((content) => Buffer.from(content));
    expect(await repository.readBlobs(asked)).toEqual(wanted);
    expect(await repository.readBlobs([])).toEqual([]);
  });

  test('rejects when one is missing, and names it; others are served on', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: 'content' }));
    const blob = git(repository.gitDir, ['rev-parse', 'main:a']);
    await expect(repository.readBlobs([blob, NO_OBJECT])).rejects.toMatchObject({
      name: 'MissingObjectError',
      id: NO_OBJECT,
    });
    expect(String(await repository.readBlobs([blob]))).toBe('content');
  });

  test('refuses objects that are not blobs, and invalid ids', async () => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: 'content' }));
    await expect(repository.readBlobs([id])).rejects.toThrow('is a commit, not a blob');
    const never = ['HEAD', 'main:a', `${id}\n${id}`, '', `-${id.slice(1)}`, id.toUpperCase()];
    for (const text of never) {
      expect(() => repository.readBlobs([text])).toThrow('is not an object id');
    }
  });

  test('a blob over the limit is refused by name without harm to the next', async () => {
    const repository = await openForTest({ maxBlobBytes: 1000 });
    await publish(repository, commitOf({ big: 'x'.repeat(100_000), small: 'fine' }));
    const [big, small] = ['main:big', 'main:small'].map((spec) =>
      git(repository.gitDir, ['rev-parse', spec]),
    );
    const bigRead = repository.readBlobs([big ?? '']);
    const smallRead = repository.readBlobs([small ?? '']);
    await expect(bigRead).rejects.toThrow(BlobTooLargeError);
    expect(String(await smallRead)).toBe('fine');
  });

  test('thousands at once from several readers come out whole', async () => {
    const repository = await openForTest();
    const files = Object.fromEntries(
      Array.from({ length: 3000 }, (_, i) => [`d${i % 40}/f${i}`, `content ${i} `.repeat(i % 90)]),
    );
    const batch = repository.begin(undefined);
    await batch.add(commitOf(files));
    await batch.publish();
    const ids = Object.values(files).map((text) => objectId('blob', Buffer.from(text)));
    const all = await Promise.all([1, 2, 3, 4].map(() => repository.readBlobs(ids)));
    for (const contents of all) expect(contents.map(String)).toEqual(Object.values(files));
  });
});

describe('rootCommit and isAncestor', () => {
  test('follow first parents to the root, and all parents to an ancestor', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const [root = '', second = ''] = await publish(
      repository,
      commitOf({ a: '1' }),
      commitOf({ a: '2' }),
    );
    const tree = git(gitDir, ['rev-parse', 'main^{tree}']);
    const stranger = git(gitDir, ['commit-tree', '-m', 'another root', tree]);
    const merge = git(gitDir, ['commit-tree', '-p', second, '-p', stranger, '-m', 'merge', tree]);
    const reversed = git(gitDir, [
      'commit-tree',
      '-p',
      stranger,
      '-p',
      second,
      '-m',
      'merge',
      tree,
    ]);

    expect(await repository.rootCommit(merge)).toBe(root);
    expect(await repository.rootCommit(root)).toBe(root);
    expect(await repository.rootCommit(reversed)).toBe(stranger);

    expect(await repository.isAncestor(root, merge)).toBe(true);
    expect(await repository.isAncestor(stranger, merge)).toBe(true);
    expect(await repository.isAncestor(merge, merge)).toBe(true);
    expect(await repository.isAncestor(merge, root)).toBe(false);
    expect(await repository.isAncestor(stranger, second)).toBe(false);
  });

  test('a missing commit is not an ancestor; asking for its own ancestors fails', async () => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1' }));
    expect(await repository.isAncestor(NO_OBJECT, id)).toBe(false);
    await expect(repository.isAncestor(id, NO_OBJECT)).rejects.toThrow(MissingObjectError);
    await expect(repository.rootCommit(NO_OBJECT)).rejects.toThrow('rev-list');
  });
});

describe('the processes behind it', () => {
  test('objects that git writes later are found: loose ones, pushes, repacks', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: 'first' }));
    const { gitDir } = repository;
    const first = git(gitDir, ['rev-parse', 'main:a']);
    expect(String(await repository.readBlobs([first]))).toBe('first');

    const loose = git(gitDir, ['hash-object', '-w', '--stdin'], { input: 'loose' });
    expect(String(await repository.readBlobs([loose]))).toBe('loose');

    git(gitDir, ['repack', '-a', '-d', '-k', '-q']);
    await publish(repository, commitOf({ a: 'second' }));
    const second = git(gitDir, ['rev-parse', 'main:a']);
    const contents = await repository.readBlobs([first, loose, second]);
    expect(contents.map(String)).toEqual(['first', 'loose', 'second']);
  });

  test('replacement refs do not change what is read', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: 'honest' }));
    const { gitDir } = repository;
    const honest = git(gitDir, ['rev-parse', 'main:a']);
    const forged = git(gitDir, ['hash-object', '-w', '--stdin'], { input: 'forged' });
    git(gitDir, ['replace', honest, forged]);
    expect(String(await repository.readBlobs([honest]))).toBe('honest');
  });

  test('a closed repository refuses reads', async () => {
    const repository = await openForTest();
    const [id = ''] = await publish(repository, commitOf({ a: '1' }));
    const blob = git(repository.gitDir, ['rev-parse', 'main:a']);
    await repository.readBlobs([blob]);
    const pending = repository.readBlobs([blob]);
    const closed = repository.close();
    await pending.catch((error: Error) => expect(error.message).toContain('git cat-file failed'));
    await closed;
    await expect(repository.readBlobs([blob])).rejects.toThrow('closed');
    await expect(repository.diff(undefined, id)).rejects.toThrow('closed');
  });
});
