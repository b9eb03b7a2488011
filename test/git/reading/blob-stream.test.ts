/** Blobs by the hundred: all of them in order, or none. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { BlobStream } from '../../../src/git/reading/blob-stream.ts';
import { bareRepository, git } from '../../support/git.ts';

async function blobsOf(
  contents: readonly string[],
): Promise<{ stream: BlobStream; ids: string[] }> {
  const gitDir = await bareRepository();
  const ids = contents.map((input) => git(gitDir, ['hash-object', '-w', '--stdin'], { input }));
  const stream = new BlobStream({ gitDir });
  onTestFinished(() => stream.close());
  return { stream, ids };
}

async function read(stream: BlobStream, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  await stream.read(ids, (content, at) => {
    found[at] = content.toString();
  });
  return found;
}

const NOWHERE = 'a'.repeat(40);

describe('blobs of a list', () => {
  const contents = ['', 'one', 'two\nlines\n', '\0', 'x'.repeat(300_000), `${NOWHERE} blob 3\n`];

  test('come whole, each at its place, with any content', async () => {
    const { stream, ids } = await blobsOf(contents);
    const order = [4, 0, 5, 3, 4, 1, 2];
    const lists = [order.map((at) => ids[at] ?? ''), [...ids]];
    const found = await Promise.all(lists.map((list) => read(stream, list)));
    expect(found).toEqual([order.map((at) => contents[at]), contents]);
    expect(await read(stream, [])).toEqual([]);
  });

  test('are refused where one is missing, and the next list is read', async () => {
    const { stream, ids } = await blobsOf(contents);
    await expect(read(stream, [...ids, NOWHERE])).rejects.toThrow('sent no blob');
    expect(await read(stream, ids)).toEqual(contents);
  });

  test('are refused where one is far too large', async () => {
    const { stream, ids } = await blobsOf(['a', 'x'.repeat(9 * 1024 * 1024)]);
    await expect(read(stream, ids)).rejects.toThrow('too large');
    expect(await read(stream, ids.slice(0, 1))).toEqual(['a']);
  });

  test('are refused by a stream that closes meanwhile, and without a repository', async () => {
    const { stream, ids } = await blobsOf(contents);
    const reading = read(stream, ids);
    stream.close();
    await expect(reading).rejects.toThrow('closed');
    const nowhere = new BlobStream({ gitDir: '/nowhere/at/all' });
    await expect(read(nowhere, [NOWHERE])).rejects.toThrow('cannot be started');
  });

  test('fail as a list when their consumer throws', async () => {
    const { stream, ids } = await blobsOf(['a']);
    const refuse = (): void => {
      throw new Error('not mine');
    };
    await expect(stream.read(ids, refuse)).rejects.toThrow('not mine');
  });
});
