/** A daemon that follows a branch holds commits without a trusted signature. */
import { expect, test } from 'vitest';
import { Reader } from '../../src/git/reading/reader.ts';
import { RemoteError } from '../../src/git/remote/remote-error.ts';
import { bareRepository, commitOf, git, publish, temporaryFolder } from '../support/git.ts';
import { elsewhere, follow } from '../support/remote.ts';
import { allowedSigners, makeCommit, openJudge, sshKey } from './keys.ts';

test('commits are held until the branch is repaired, and no write is pushed on top', async () => {
  const folder = temporaryFolder();
  const ann = sshKey(folder, 'ann');
  const judge = await openJudge({
    allowedSigners: allowedSigners(folder, `ann@example.com ${ann.publicLine}`),
  });
  const there = elsewhere({});
  const move = (id: string): string => git(there.gitDir, ['update-ref', 'refs/heads/main', id]);
  const first = makeCommit(there.gitDir, { parents: [], files: { a: '1' }, key: ann });
  move(first);
  const mirror = await bareRepository();
  const { following, repository, events } = await follow({
    url: there.gitDir,
    gitDir: mirror,
    distrust: async (range) => {
      const reader = new Reader({ gitDir: mirror });
      return await judge.judge(reader, range).finally(() => reader.close());
    },
  });
  expect(await repository.head()).toBe(first);

  const unsigned = makeCommit(there.gitDir, { parents: [first], files: { a: '2' } });
  move(unsigned);
  const untrusted = { problem: 'untrusted', message: expect.stringContaining('it is not signed') };
  await expect(following.refresh()).rejects.toMatchObject(untrusted);
  await expect(publish(repository, commitOf({ b: '1' }))).rejects.toMatchObject(untrusted);
  expect(await repository.head()).toBe(first);
  expect(there.head()).toBe(unsigned);
  expect(events.fetched.at(-1)).toBeInstanceOf(RemoteError);

  // The same commits again are no news, and nothing tells that all is well.
  const told = events.fetched.length;
  await expect(following.refresh()).rejects.toMatchObject(untrusted);
  expect(events.fetched.slice(told)).toEqual([expect.any(RemoteError)]);

  const signed = makeCommit(there.gitDir, { parents: [first], files: { a: '2' }, key: ann });
  move(signed);
  expect(await following.refresh()).toBe(signed);
  expect(await repository.head()).toBe(signed);
  expect(events.fetched.at(-1)).toBeUndefined();
});
