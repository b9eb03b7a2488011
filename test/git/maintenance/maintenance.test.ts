/** Background maintenance: readers and writers continue, no object is lost, and a failure is only logged. */

import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { GitLogger } from '../../../src/git/logger.ts';
import { objectId } from '../../../src/git/objects/object-id.ts';
import {
  cloneForTest,
  commitOf,
  expectSound,
  git,
  openForTest,
  packFiles,
  publish,
} from '../../support/git.ts';

function recorder() {
  return { debug: vi.fn<GitLogger['debug']>(), warn: vi.fn<GitLogger['warn']>() };
}

function countPacks(gitDir: string): number {
  return packFiles(gitDir).filter((name) => name.endsWith('.pack')).length;
}

test('many packs become few, with an index over all and a commit graph', async () => {
  const repository = await openForTest();
  const { gitDir } = repository;
  for (let i = 0; i < 30; i++) await publish(repository, commitOf({ [`d/${i % 5}`]: `${i}` }));
  expect(countPacks(gitDir)).toBe(30);

  expect(await repository.maintain()).toBe(true);
  expect(countPacks(gitDir)).toBeLessThan(5);
  expect(packFiles(gitDir)).toContain('multi-pack-index');
  expect(readdirSync(join(gitDir, 'objects/info/commit-graphs'))).not.toEqual([]);
  expect(git(gitDir, ['rev-list', '--count', 'main'])).toBe('30');
  await publish(repository, commitOf({ after: '1' }));
  expectSound(gitDir);
});

test('maintenance starts when enough packs have accumulated, written or pushed', async () => {
  const logger = recorder();
  const repository = await openForTest({ packThreshold: 10, logger });
  for (let i = 0; i < 9; i++) await publish(repository, commitOf({ a: `${i}` }));
  expect(logger.debug).not.toHaveBeenCalled();
  await publish(repository, commitOf({ a: 'ten' }));
  await vi.waitFor(() => expect(logger.debug).toHaveBeenCalledTimes(1), 10_000);
  const left = countPacks(repository.gitDir);
  expect(left).toBeLessThan(5);

  const clone = cloneForTest(repository.gitDir);
  for (let i = 0; i < 10; i++) {
    git(clone, ['commit', '-q', '--allow-empty', '-m', `${i}`]);
    git(clone, ['push', '-q', 'origin', 'main']);
  }
  expect(countPacks(repository.gitDir)).toBe(left + 10);
  await repository.afterExternalMove();
  await vi.waitFor(() => expect(logger.debug).toHaveBeenCalledTimes(2), 10_000);
  expect(countPacks(repository.gitDir)).toBeLessThan(left + 10);
});

test('reading and writing go on during it, and every object is found', async () => {
  const repository = await openForTest();
  const files = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`d${i % 9}/${i}`, `v0 ${i}`]),
  );
  await publish(repository, commitOf(files));
  let maintaining = true;
  const blobs = new Map<string, string>();
  async function write(): Promise<void> {
    for (let i = 0; maintaining; i++) {
      const batch = repository.begin(await repository.head());
      const name = i % 200;
      await batch.add(commitOf({ [`d${name % 9}/${name}`]: `v${i}` }));
      await batch.publish();
      blobs.set(objectId('blob', Buffer.from(`v${i}`)), `v${i}`);
    }
  }
  async function read(): Promise<void> {
    for (let last: string | undefined; maintaining; ) {
      const ids = [...blobs.keys()];
      expect((await repository.readBlobs(ids)).map(String)).toEqual(
        [...blobs.values()].slice(0, ids.length),
      );
      const head = (await repository.head()) ?? '';
      const listed = await repository.listFiles(head);
      expect(listed).toHaveLength(200);
      if (last !== undefined) await repository.diff(last, head);
      last = head;
    }
  }
  async function maintain(): Promise<void> {
    for (let i = 0; i < 5; i++) {
      await new Promise((done) => setTimeout(done, 60));
      expect(await repository.maintain()).toBe(true);
    }
    maintaining = false;
  }
  await Promise.all([maintain(), write(), read(), read()]);
  await repository.close();
  expectSound(repository.gitDir);
});

test('concurrent callers wait for the same run', async () => {
  const logger = recorder();
  const repository = await openForTest({ logger });
  await publish(repository, commitOf({ a: '1' }));
  expect(await Promise.all([repository.maintain(), repository.maintain()])).toEqual([true, true]);
  expect(logger.debug).toHaveBeenCalledTimes(1);
});

describe('a failure', () => {
  test('is logged in git’s words, and writing goes on', async () => {
    const logger = recorder();
    const repository = await openForTest({ logger });
    const { gitDir } = repository;
    for (let i = 0; i < 3; i++) await publish(repository, commitOf({ a: `${i}` }));
    const lock = join(gitDir, 'objects/pack/multi-pack-index.lock');
    writeFileSync(lock, '');
    expect(await repository.maintain()).toBe(false);
    expect(logger.warn).toHaveBeenCalledWith(
      { error: expect.stringContaining('multi-pack-index.lock') as unknown },
      'repository maintenance failed',
    );
    await publish(repository, commitOf({ a: 'on' }));
    expectSound(gitDir);

    // An old lock of a killed run does not block later runs.
    const longAgo = Date.now() / 1000 - 3600;
    utimesSync(lock, longAgo, longAgo);
    expect(await repository.maintain()).toBe(true);
    expect(existsSync(lock)).toBe(false);
  });
});

test('close ends a run that is under way, and nothing is lost', async () => {
  const repository = await openForTest();
  for (let i = 0; i < 40; i++)
    await publish(repository, commitOf({ [`d/${i}`]: 'x'.repeat(5000) }));
  const running = repository.maintain();
  await new Promise((done) => setTimeout(done, 15));
  await repository.close();
  await running;
  expectSound(repository.gitDir);
  expect(git(repository.gitDir, ['rev-list', '--count', 'main'])).toBe('40');
  expect(await repository.maintain()).toBe(false);
});

describe('full maintenance', () => {
  const signal = new AbortController().signal;

  test('leaves one pack, one commit graph, and every object that nothing reaches', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const put = (text: string): string =>
      git(gitDir, ['hash-object', '-w', '--stdin'], { input: text });
    const loose = put('loose, and reached by nothing');
    await publish(repository, commitOf({ a: 'first' }));
    const packed = put('packed, and reached by nothing');
    git(gitDir, ['pack-objects', '-q', join(gitDir, 'objects/pack/pack')], {
      input: `${packed}\n`,
    });
    git(gitDir, ['prune-packed', '-q']);
    for (let i = 0; i < 5; i++) {
      await publish(repository, commitOf({ [`d/${i}`]: `${i}` }));
      expect(await repository.maintain()).toBe(true);
    }
    git(gitDir, ['update-ref', 'refs/heads/main', 'main~2']);
    const all = objectsOf(gitDir);

    expect(await repository.maintainFully(signal)).toBe(true);

    expect(packNames(gitDir)).toHaveLength(1);
    expect(readdirSync(join(gitDir, 'objects/info/commit-graphs')).filter(isGraph)).toHaveLength(1);
    expect(objectsOf(gitDir)).toEqual(all);
    expect(all).toEqual(expect.arrayContaining([loose, packed]));
    expectSound(gitDir);
  });

  test('does not rewrite a large pack for a few objects', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const many = Object.fromEntries(Array.from({ length: 800 }, (_, i) => [`${i}`, `${i}`]));
    await publish(repository, commitOf(many));
    expect(await repository.maintainFully(signal)).toBe(true);
    const before = packNames(gitDir);
    await publish(repository, commitOf({ '1': 'new' }));

    expect(await repository.maintainFully(signal)).toBe(true);

    expect(before).toHaveLength(1);
    expect(packNames(gitDir)).toEqual(expect.arrayContaining(before));
    expect(packNames(gitDir)).toHaveLength(2);
  });

  test('keeps the files of a running push: packs without an index, .keep packs, quarantines', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    for (let i = 0; i < 3; i++) await publish(repository, commitOf({ a: `${i}` }));
    const clone = cloneForTest(gitDir);
    git(clone, ['commit', '-q', '--allow-empty', '-m', 'under way']);
    const tip = git(clone, ['rev-parse', 'HEAD']);
    const folder = join(gitDir, 'objects/pack');
    const name = git(clone, ['pack-objects', '-q', join(folder, 'pack')], { input: `${tip}\n` });
    const index = join(folder, `pack-${name}.idx`);
    renameSync(index, `${index}.coming`);
    const kept = packNames(gitDir).find((pack) => !pack.includes(name)) ?? '';
    writeFileSync(join(folder, kept.replace(/pack$/, 'keep')), '');
    const quarantine = join(gitDir, 'objects/tmp_objdir-incoming-x1');
    mkdirSync(quarantine);

    expect(await repository.maintainFully(signal)).toBe(true);

    expect(packNames(gitDir)).toEqual(expect.arrayContaining([kept, `pack-${name}.pack`]));
    expect(existsSync(quarantine)).toBe(true);
    renameSync(`${index}.coming`, index);
    expect(git(gitDir, ['cat-file', '-t', tip])).toBe('commit');
  });

  test('reading and writing go on during it', async () => {
    const repository = await openForTest();
    const files = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`d${i}/f`, `${i}`]));
    await publish(repository, commitOf(files));
    let isDone = false;
    let writes = 0;
    const write = async (): Promise<void> => {
      for (; !isDone || writes === 0; writes++) {
        await publish(repository, commitOf({ counter: `${writes}` }));
        expect(await repository.listFiles((await repository.head()) ?? '')).toHaveLength(501);
      }
    };
    const writing = write();
    for (let i = 0; i < 4; i++) expect(await repository.maintainFully(signal)).toBe(true);
    isDone = true;
    await writing;
    await repository.close();

    expect(git(repository.gitDir, ['rev-list', '--count', 'main'])).toBe(`${writes + 1}`);
    expectSound(repository.gitDir);
  });

  test('waits for a run under way, and one that begins meanwhile joins it', async () => {
    const logger = recorder();
    const repository = await openForTest({ logger });
    await publish(repository, commitOf({ a: '1' }));
    const runs = [repository.maintain(), repository.maintainFully(signal)];
    expect(await Promise.all(runs)).toEqual([true, true]);

    expect(logger.debug).toHaveBeenCalledTimes(2);
    const both = [repository.maintainFully(signal), repository.maintainFully(signal)];
    expect(await Promise.all(both)).toEqual([true, true]);
    expect(logger.debug).toHaveBeenCalledTimes(4);
  });

  test('ends on abort, and nothing is lost', async () => {
    const repository = await openForTest();
    for (let i = 0; i < 40; i++) await publish(repository, commitOf({ a: 'x'.repeat(5000 + i) }));
    const stop = new AbortController();
    const running = repository.maintainFully(stop.signal);
    stop.abort();

    await expect(running).rejects.toThrow('aborted');
    expectSound(repository.gitDir);
    expect(git(repository.gitDir, ['rev-list', '--count', 'main'])).toBe('40');
    expect(await repository.maintainFully(signal)).toBe(true);
    await repository.close();
    expect(await repository.maintainFully(signal)).toBe(false);
  });

  test('fails with the message of git', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    for (let i = 0; i < 3; i++) await publish(repository, commitOf({ a: `${i}` }));
    writeFileSync(join(gitDir, 'objects/pack/multi-pack-index.lock'), '');

    await expect(repository.maintainFully(signal)).rejects.toThrow('multi-pack-index.lock');
    expectSound(gitDir);
  });
});

function packNames(gitDir: string): string[] {
  return packFiles(gitDir).filter((name) => name.endsWith('.pack'));
}

function isGraph(name: string): boolean {
  return name.endsWith('.graph');
}

/** Ids of all objects, in packs and loose. */
function objectsOf(gitDir: string): string[] {
  return git(gitDir, ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']).split(
    '\n',
  );
}
