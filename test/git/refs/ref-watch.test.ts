/** Moves of the branch by others are noticed, each once, however git stores them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type WatchOptions, watchRef } from '../../../src/git/refs/ref-watch.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { cloneForTest, commitOf, git, openForTest, publish } from '../../support/git.ts';

/** No timer helps out: what is seen was told by the file system. */
const never = 1_000_000;

async function watched(repository: Repository, options: WatchOptions = { intervalMs: never }) {
  const heads: (string | undefined)[] = [];
  const watch = await watchRef(repository, (head) => void heads.push(head), options);
  onTestFinished(() => watch.close());
  const sees = (head: string | undefined) =>
    vi.waitFor(() => expect(heads.at(-1)).toBe(head), { timeout: 5000, interval: 5 });
  return { heads, watch, sees };
}

describe('a move is reported', () => {
  test('reports a push at once', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: '1' }));
    const clone = cloneForTest(repository.gitDir);
    const { heads, sees } = await watched(repository);
    git(clone, ['commit', '-q', '--allow-empty', '-m', 'pushed']);
    git(clone, ['push', '-q', 'origin', 'main']);
    await sees(git(clone, ['rev-parse', 'HEAD']));
    expect(heads).toHaveLength(1);
  });

  test.each(['main', 'env/prod/eu'])('reports the birth of the branch %s', async (branch) => {
    const repository = await openForTest({ branch });
    const { heads, sees } = await watched(repository);
    const [id] = await publish(repository, commitOf({ a: '1' }));
    await sees(id);
    expect(heads).toEqual([id]);
  });

  test('each of many in a row, the last one in any case', async () => {
    const repository = await openForTest();
    const ids = await publish(
      repository,
      ...Array.from({ length: 40 }, (_, i) => commitOf({ a: `${i}` })),
    );
    const { heads, sees } = await watched(repository);
    for (const id of ids.slice(0, -1).reverse()) {
      git(repository.gitDir, ['update-ref', 'refs/heads/main', id]);
    }
    await sees(ids[0]);
    expect(new Set(heads).size).toBe(heads.length);
  });

  test('reports a second move that follows at once', async () => {
    const repository = await openForTest();
    const ids = await publish(
      repository,
      ...Array.from({ length: 12 }, (_, i) => commitOf({ a: `${i}` })),
    );
    const { sees } = await watched(repository);
    for (const id of ids.toReversed().slice(1)) {
      writeFileSync(join(repository.gitDir, 'refs/heads/main'), `${id}\n`);
      await sees(id);
    }
  });

  test('reports a move of a packed ref, and the packing', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const [one = '', two = ''] = await publish(
      repository,
      commitOf({ a: '1' }),
      commitOf({ a: '2' }),
    );
    const { heads, sees } = await watched(repository);
    git(gitDir, ['pack-refs', '--all']);
    git(gitDir, ['update-ref', 'refs/heads/main', one]);
    await sees(one);
    git(gitDir, ['pack-refs', '--all']);
    git(gitDir, ['update-ref', 'refs/heads/main', two]);
    await sees(two);
    expect(heads).toEqual([one, two]);
  });

  test('reports the removal of the branch', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: '1' }));
    const { sees } = await watched(repository);
    git(repository.gitDir, ['update-ref', '-d', 'refs/heads/main']);
    await sees(undefined);
  });

  test('reports at the start that the known head is not the head', async () => {
    const repository = await openForTest();
    const ids = await publish(repository, commitOf({ a: '1' }), commitOf({ a: '2' }));
    const { heads } = await watched(repository, { known: ids[0], intervalMs: never });
    expect(heads).toEqual([ids[1]]);
  });

  test('reports by the timer alone, without events of the file system', async () => {
    const repository = await openForTest();
    await publish(repository, commitOf({ a: '1' }));
    let head = await repository.head();
    // The watch looks at a folder where nothing happens.
    const still = {
      gitDir: cloneForTest(repository.gitDir),
      ref: 'refs/heads/main',
      head: async () => head,
    };
    const heads: (string | undefined)[] = [];
    const watch = await watchRef(still, (seen) => void heads.push(seen), { intervalMs: 10 });
    onTestFinished(() => watch.close());
    head = '1'.repeat(40);
    await vi.waitFor(() => expect(heads).toEqual([head]));
  });
});

describe('nothing is reported', () => {
  test('ignores moves of other branches, and packing', async () => {
    const repository = await openForTest();
    const { gitDir } = repository;
    const [one = ''] = await publish(repository, commitOf({ a: '1' }));
    const { heads, watch } = await watched(repository, { intervalMs: 5 });
    git(gitDir, ['update-ref', 'refs/heads/other', one]);
    git(gitDir, ['pack-refs', '--all']);
    await watch.check();
    expect(heads).toEqual([]);
  });

  test('ignores an own move, and reports a move back from there', async () => {
    const repository = await openForTest();
    const [known] = await publish(repository, commitOf({ a: '1' }));
    const own = new Set<string | undefined>();
    const { heads, watch, sees } = await watched(repository, {
      intervalMs: never,
      isOwn: (head) => own.has(head),
    });
    const batch = repository.begin(known);
    await batch.add(commitOf({ a: '2' }));
    own.add(batch.tip);
    await batch.publish();
    await watch.check();
    expect(heads).toEqual([]);
    git(repository.gitDir, ['update-ref', 'refs/heads/main', known ?? '']);
    await sees(known);
    expect(heads).toEqual([known]);
  });

  test('reports nothing after close, and lets a process end', async () => {
    const repository = await openForTest();
    const { heads, watch } = await watched(repository, { intervalMs: 1 });
    await watch.close();
    await publish(repository, commitOf({ a: '1' }));
    await watch.check();
    expect(heads).toEqual([]);
  });
});

test('reports come one at a time; later moves are reported after', async () => {
  const repository = await openForTest();
  const ids = await publish(repository, ...[1, 2, 3].map((i) => commitOf({ a: `${i}` })));
  const heads: (string | undefined)[] = [];
  let busy = false;
  const watch = await watchRef(
    repository,
    async (head) => {
      expect(busy).toBe(false);
      busy = true;
      await new Promise((done) => setTimeout(done, 30));
      heads.push(head);
      busy = false;
    },
    { intervalMs: 5 },
  );
  onTestFinished(() => watch.close());
  for (const id of [ids[0], ids[1], ids[0]]) {
    git(repository.gitDir, ['update-ref', 'refs/heads/main', id ?? '']);
  }
  await vi.waitFor(() => expect(heads.at(-1)).toBe(ids[0]));
});

test('a report that fails is logged, and the next move is reported', async () => {
  const repository = await openForTest();
  const warn = vi.fn();
  const heads: (string | undefined)[] = [];
  const watch = await watchRef(
    repository,
    (head) => {
      heads.push(head);
      if (heads.length === 1) throw new Error('no');
    },
    { intervalMs: 5, logger: { warn, debug: () => undefined } },
  );
  onTestFinished(() => watch.close());
  const [one] = await publish(repository, commitOf({ a: '1' }));
  await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(1));
  const [two] = await publish(repository, commitOf({ a: '2' }));
  await vi.waitFor(() => expect(heads).toEqual([one, two]));
});
