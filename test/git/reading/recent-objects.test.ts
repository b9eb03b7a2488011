/** Trees and tips in memory: what is not on disk is found no longer than its batch is written. */
import { expect, test } from 'vitest';
import { Tree } from '../../../src/git/objects/tree.ts';
import { Batch, type FinishedBatch } from '../../../src/git/publication/batch.ts';
import { RecentObjects } from '../../../src/git/reading/recent-objects.ts';

const ANN = { name: 'Ann', email: 'ann@example.com' };

/** A commit of one file on top of the trees that are known. */
async function batchOn(
  recent: RecentObjects,
  { parent, content }: { parent?: string; content: string },
): Promise<FinishedBatch> {
  let finished: FinishedBatch | undefined;
  const take = async (batch: FinishedBatch): Promise<void> => {
    finished = batch;
  };
  const batch = new Batch(parent, {
    treeOf: async (commit) => recent.rootsOf(commit)?.tree ?? '',
    load: async (id) => recent.tree(id) ?? Tree.empty,
    publish: take,
    store: take,
  });
  const changes = [{ path: 'folder/file', content: Buffer.from(content) }];
  await batch.add({ changes, author: ANN, committer: ANN, time: 1, message: content });
  await batch.publish();
  if (finished === undefined) throw new Error('The batch is empty');
  return finished;
}

test('finds a batch while it is written and afterwards, and drops the trees that it replaced', async () => {
  const recent = new RecentObjects();
  const first = await batchOn(recent, { content: '1' });
  expect(recent.rootsOf(first.tip)).toBeUndefined();
  await recent.during(first, async () => {
    expect(recent.rootsOf(first.tip)).toEqual({ tree: first.tipTree, parents: [] });
    expect(recent.tree(first.tipTree)?.find('folder')).toBeDefined();
  });
  const second = await batchOn(recent, { parent: first.tip, content: '2' });
  await recent.during(second, async () => undefined);
  expect(recent.rootsOf(second.tip)).toEqual({ tree: second.tipTree, parents: [first.tip] });
  expect(recent.tree(second.tipTree)?.find('folder')).toBeDefined();
  expect(recent.tree(first.tipTree)).toBeUndefined();
  recent.clear();
  expect([recent.tree(second.tipTree), recent.rootsOf(second.tip)]).toEqual([undefined, undefined]);
});

test('forgets a batch that was not written, and keeps the trees that it would have replaced', async () => {
  const recent = new RecentObjects();
  const first = await batchOn(recent, { content: '1' });
  await recent.during(first, async () => undefined);
  const second = await batchOn(recent, { parent: first.tip, content: '2' });
  const failure = new Error('The disk is full');
  await expect(recent.during(second, () => Promise.reject(failure))).rejects.toBe(failure);
  expect([recent.tree(second.tipTree), recent.rootsOf(second.tip)]).toEqual([undefined, undefined]);
  expect(recent.tree(first.tipTree)?.find('folder')).toBeDefined();
});
