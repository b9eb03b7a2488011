/** Upkeep in the background: nobody waits, nobody misses an object, and a failure is only logged. */
import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { GitLogger } from '../../src/git/logger.ts';
import {
  cloneForTest,
  commitOf,
  expectSound,
  git,
  openForTest,
  packFiles,
  publish,
} from '../support/git.ts';

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

test('it starts by itself when enough packs came together, ours or pushed', async () => {
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
  await repository.noteForeignWrite();
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
      const added = await batch.add(commitOf({ [`d${name % 9}/${name}`]: `v${i}` }));
      await batch.publish();
      for (const id of added.blobs.values()) blobs.set(id, `v${i}`);
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

test('it never runs twice at a time: whoever asks meanwhile waits for the same run', async () => {
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

    // A lock that a killed run left long ago stops nobody for good.
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
