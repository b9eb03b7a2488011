/** The same promises as without a thread: `crash.test.ts` has those of the order of operations. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { BareRepository } from '../../../src/git/bare-repository.ts';
import { GitError, RefLockedError, StorageError } from '../../../src/git/git-error.ts';
import {
  decodeFailure,
  decodePublication,
  encodeFailure,
  encodePublication,
} from '../../../src/git/publication/publication-message.ts';
import { HeadMovedError } from '../../../src/git/repository.ts';
import { commitOf, expectSound, filesOf, git, openForTest, publish } from '../../support/git.ts';

function open(): Promise<BareRepository> {
  return openForTest({ workerThread: true, lockTimeoutMs: 30 });
}

describe('a repository that publishes on a thread of its own', () => {
  test('shows each batch when it is durable, in the order of the calls', async () => {
    const repository = await open();
    let tip: string | undefined;
    const tips: string[] = [];
    const published: Promise<unknown>[] = [];
    for (let group = 0; group < 5; group++) {
      const batch = repository.begin(tip);
      await batch.add(commitOf({ [`a${group}`]: 'x'.repeat(group * 5000), b: `${group}` }));
      await batch.add(commitOf({ [`dir/c${group}`]: `${group}` }));
      tip = batch.tip ?? '';
      const id = tip;
      published.push(batch.publish().then(() => void tips.push(id)));
    }
    await Promise.all(published);

    const { gitDir } = repository;
    const history = git(gitDir, ['rev-list', '--reverse', 'main']).split('\n');
    expect(history).toHaveLength(10);
    expect(tips).toEqual(history.filter((_, i) => i % 2 === 1));
    expect(filesOf(gitDir, 'main')).toMatchObject({ b: '4', 'dir/c0': '0', 'dir/c4': '4' });
    await repository.close();
    expect(readdirSync(join(gitDir, 'gitplane'))).toEqual([]);
    expectSound(gitDir);
  });

  test('publishes large and small batches in the order of the calls', async () => {
    const repository = await open();
    await publish(repository, commitOf({ first: '1' }));
    await vi.waitFor(
      () => expect(existsSync(join(repository.gitDir, 'gitplane/log-1'))).toBe(true),
      20_000,
    );
    let tip = await repository.head();
    const published: Promise<void>[] = [];
    for (let group = 0; group < 8; group++) {
      const batch = repository.begin(tip);
      const size = group % 2 === 0 ? 10 : 100_000;
      await batch.add(commitOf({ [`f${group}`]: randomBytes(size).toString('hex') }));
      tip = batch.tip ?? '';
      published.push(batch.publish());
    }
    await Promise.all(published);

    expect(await repository.head()).toBe(tip);
    expect(Object.keys(filesOf(repository.gitDir, 'main'))).toHaveLength(9);
    await repository.maintain();
    expectSound(repository.gitDir);
    await repository.close();
    expectSound(repository.gitDir);
  });

  test('reports the actual tip of a branch that moved', async () => {
    const repository = await open();
    const [first = ''] = await publish(repository, commitOf({ a: '1' }));
    const batch = repository.begin(undefined);
    await batch.add(commitOf({ b: '1' }));

    const error = await batch.publish().catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(HeadMovedError);
    expect(error).toMatchObject({ expected: undefined, actual: first });
  });

  test('reports a locked branch', async () => {
    const repository = await open();
    await publish(repository, commitOf({ a: '1' }));
    const lockFile = join(repository.gitDir, 'refs/heads/main.lock');
    writeFileSync(lockFile, '');

    await expect(publish(repository, commitOf({ a: '2' }))).rejects.toBeInstanceOf(RefLockedError);

    rmSync(lockFile);
    await publish(repository, commitOf({ a: '2' }));
    expect(filesOf(repository.gitDir, 'main')).toEqual({ a: '2' });
  });

  test('reports a disk error, and writes again after it', async () => {
    const repository = await open();
    await publish(repository, commitOf({ a: '1' }));
    const claims = join(repository.gitDir, 'gitplane');
    renameSync(claims, `${claims}.away`);

    const error = await publish(repository, commitOf({ a: '2' })).catch(
      (reason: unknown) => reason,
    );

    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({ code: 'ENOENT', moved: false });
    mkdirSync(claims);
    await publish(repository, commitOf({ a: '3' }));
    expect(filesOf(repository.gitDir, 'main')).toEqual({ a: '3' });
    expectSound(repository.gitDir);
  });

  test('goes on when the thread is lost, and has all that was acknowledged', async () => {
    const threads = vi.spyOn(Worker.prototype, 'postMessage');
    onTestFinished(() => threads.mockRestore());
    const repository = await open();
    const acknowledged = [...(await publish(repository, commitOf({ a: '1' })))];
    // The log is made beside the first of them.
    for (let i = 0; !existsSync(join(repository.gitDir, 'gitplane/log-1')) && i < 1000; i++) {
      acknowledged.push(...(await publish(repository, commitOf({ b: `${i}` }))));
    }
    const asked = threads.mock.calls.length;
    const before = await repository.head();
    const large = randomBytes(200_000).toString('hex');
    const under = publish(repository, commitOf({ a: large }));
    const ended = under.catch((reason: unknown) => reason);
    await vi.waitFor(() => expect(threads.mock.calls.length).toBeGreaterThan(asked), 20_000);
    const thread = threads.mock.contexts.at(-1) as Worker;
    await thread.terminate();

    const error = await ended;
    if (error instanceof Error) expect(error).toBeInstanceOf(GitError);
    else acknowledged.push(...(await under));
    for (const a of ['small', large]) {
      acknowledged.push(...(await vi.waitFor(() => publish(repository, commitOf({ a })), 20_000)));
    }
    const history = git(repository.gitDir, ['rev-list', 'main']).split('\n');
    expect(history[0]).toBe(acknowledged.at(-1));
    expect(history).toEqual(expect.arrayContaining([before, ...acknowledged]));
    await repository.close();
    expectSound(repository.gitDir);
    expect(readdirSync(join(repository.gitDir, 'gitplane'))).toEqual([]);
  });
});

test('a publication arrives as it was sent', () => {
  const id = (): string => randomBytes(20).toString('hex');
  const objects = [0, 1, 70_000, 3].map((length, i) => ({
    id: id(),
    type: (['commit', 'tree', 'blob', 'tree'] as const)[i] ?? 'blob',
    data: randomBytes(length),
    base: i === 3 ? id() : undefined,
  }));
  const publication = { parent: id(), tip: id(), objects };

  const message = encodePublication(publication);
  const arrived = structuredClone(message, { transfer: [message.bytes.buffer] });

  expect(decodePublication(arrived)).toEqual(publication);
});

test.each([
  new HeadMovedError('a'.repeat(40), undefined),
  new HeadMovedError(undefined, 'b'.repeat(40)),
  new RefLockedError('/repo.git/refs/heads/main.lock', 2000),
  new StorageError('/repo.git', {
    cause: Object.assign(new Error(), { code: 'EIO' }),
    moved: true,
  }),
  new GitError('Commits of more than 4 bytes', { remedy: 'Write them in parts' }),
  new TypeError('a fault'),
])('an error keeps its meaning between threads: %s', (error) => {
  const arrived = decodeFailure(structuredClone(encodeFailure(error)));

  expect(arrived.message).toBe(error.message);
  const { name } = error;
  if (name === 'TypeError') expect(arrived).not.toBeInstanceOf(GitError);
  else expect(arrived.name).toBe(name);
  if (error instanceof StorageError) expect(arrived).toMatchObject({ code: 'EIO', moved: true });
});
