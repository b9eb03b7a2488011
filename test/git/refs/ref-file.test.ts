/** The branch wherever git keeps it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRef } from '../../../src/git/refs/ref-file.ts';
import { HeadMovedError } from '../../../src/git/repository.ts';
import { commitOf, expectSound, git, openForTest, publish } from '../../support/git.ts';

describe('a packed ref', () => {
  test('is read and moved, and its old line means nothing any more', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const [one] = await publish(repository, commitOf({ a: '1' }));
    git(gitDir, ['pack-refs', '--all']);
    expect(existsSync(join(gitDir, 'refs/heads/main'))).toBe(false);
    expect(await repository.head()).toBe(one);

    const [two] = await publish(repository, commitOf({ a: '2' }));
    expect(await repository.head()).toBe(two);
    expect(git(gitDir, ['rev-parse', 'main'])).toBe(two);
    expect(readFileSync(join(gitDir, 'packed-refs'), 'utf8')).toContain(one);
    git(gitDir, ['pack-refs', '--all']);
    expect(await repository.head()).toBe(two);
    expectSound(gitDir);
  });

  test('a packed ref that moved makes a batch fail like a loose one', async () => {
    const repository = await openForTest();
    const [one = ''] = await publish(repository, commitOf({ a: '1' }));
    const batch = repository.begin(one);
    await batch.add(commitOf({ a: 'stale' }));
    const [two] = await publish(repository, commitOf({ a: '2' }));
    git(repository.gitDir, ['pack-refs', '--all']);
    await expect(batch.publish()).rejects.toThrow(HeadMovedError);
    expect(await repository.head()).toBe(two);
  });

  test('is found by its whole name only', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    await publish(repository, commitOf({ a: '1' }));
    const head = (await repository.head()) ?? '';
    for (const ref of ['refs/heads/x/refs/heads/main', 'refs/heads/main2', 'refs/tags/main']) {
      git(gitDir, ['update-ref', ref, head]);
    }
    git(gitDir, ['update-ref', '-d', 'refs/heads/main']);
    git(gitDir, ['pack-refs', '--all']);
    expect(await repository.head()).toBeUndefined();
  });

  test('a packed ref of an annotated tag with its peeled line does not confuse', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const [id] = await publish(repository, commitOf({ a: '1' }));
    git(gitDir, ['tag', '-a', '-m', 'a tag', 'a-tag', 'main']);
    git(gitDir, ['pack-refs', '--all']);
    expect(await repository.head()).toBe(id);
  });
});

test('packing refs while commits are published loses none', async () => {
  const repository = await openForTest();
  await publish(repository, commitOf({ a: '0' }));
  for (let i = 1; i <= 15; i++) {
    const writing = publish(repository, commitOf({ a: String(i) }));
    git(repository.gitDir, ['pack-refs', '--all', '--prune']);
    await writing;
  }
  expect(git(repository.gitDir, ['rev-list', '--count', 'main'])).toBe('16');
});

describe('a branch in a folder of branches', () => {
  test('gets its folders at the first commit', async () => {
    const repository = await openForTest({ branch: 'env/prod/eu' });
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(git(repository.gitDir, ['rev-parse', 'env/prod/eu'])).toBe(id);
  });

  test('takes the place of empty folders that deleted branches left', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    mkdirSync(join(gitDir, 'refs/heads/main/old/stale'), { recursive: true });
    expect(await repository.head()).toBeUndefined();
    const [id] = await publish(repository, commitOf({ a: '1' }));
    expect(git(gitDir, ['rev-parse', 'main'])).toBe(id);
  });

  test('cannot have the name of the folder of another branch', async () => {
    const other = await openForTest({ branch: 'main/other' });
    await publish(other, commitOf({ a: '1' }));
    const repository = await openForTest({ gitDir: other.gitDir });
    await expect(publish(repository, commitOf({ a: '1' }))).rejects.toThrow(
      'contains other branches',
    );
    expect(existsSync(join(other.gitDir, 'refs/heads/main.lock'))).toBe(false);
    expect(await other.head()).toBeDefined();
  });
});

test.each([
  ['', 'is corrupt'],
  ['\0'.repeat(41), 'is corrupt'],
  ['not an id\n', 'is corrupt'],
  [`${'1'.repeat(39)}\n`, 'is corrupt'],
  ['ref: refs/heads/other\n', 'is a symbolic ref to refs/heads/other'],
])('a ref file that holds %j is an error that names it', async (content, problem) => {
  const { gitDir } = await openForTest();
  writeFileSync(join(gitDir, 'refs/heads/main'), content);
  await expect(readRef(gitDir, 'refs/heads/main')).rejects.toThrow(
    `${join(gitDir, 'refs/heads/main')} ${problem}`,
  );
});
