/** Remotes with more refs than the one that is followed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitOf, git, publish } from '../../support/git.ts';
import { type Elsewhere, elsewhere, follow, proxyTo, serveGit } from '../../support/remote.ts';

/** Adds refs of the newest commit, as forges and hostile servers keep them. */
function addRefs(there: Elsewhere, count: number, name: (at: number) => string): void {
  const head = there.head();
  const lines = Array.from({ length: count }, (_, at) => `${head} ${name(at)}\n`);
  // Without the header that promises their order.
  writeFileSync(join(there.gitDir, 'packed-refs'), lines.join(''));
}

test('a repository with 100,000 refs of pull requests is followed, and a query asks for none of them', async () => {
  const there = elsewhere();
  addRefs(there, 100_000, (at) => `refs/pull/${at + 1}/head`);
  const server = await serveGit({ gitDir: there.gitDir });
  const proxy = await proxyTo(server.port);
  let received = 0;
  proxy.onAnswer = (bytes) => {
    received += bytes.length;
  };
  const url = `http://127.0.0.1:${proxy.port}/elsewhere.git`;
  const { following, repository } = await follow({ url });
  expect(await repository.head()).toBe(there.head());

  received = 0;
  expect(await following.refresh()).toBe(there.head());
  expect(received).toBeLessThan(64 * 1024);
  const second = there.commit({ more: '2' });
  expect(await following.refresh()).toBe(second);
  const [commit] = await publish(repository, commitOf({ own: '1' }));
  expect(there.head()).toBe(commit);
});

test('a remote that lists refs without end is refused with the limit, and the branch stays', async () => {
  const there = elsewhere();
  const { following, repository, events } = await follow({ url: there.gitDir });
  const before = await repository.head();
  const prefix = 'x'.repeat(200);
  const number = (at: number): string => String(at).padStart(6, '0');
  addRefs(there, 36_000, (at) => `refs/heads/${prefix}${number(at)}/refs/heads/main`);
  const refused = await following.refresh().catch((error: unknown) => error);

  expect(refused).toMatchObject({
    problem: 'limit',
    message: expect.stringMatching(/more than 8 MiB of refs .*Remove .*--repo/),
  });
  expect(events.fetched.at(-1)).toBe(refused);
  expect(await repository.head()).toBe(before);
});

test('an error about a missing branch names the first of many', async () => {
  const there = elsewhere();
  const suffix = 'x'.repeat(200);
  addRefs(there, 36_000, (at) => `refs/heads/topic-${at}-${suffix}`);
  git(there.gitDir, ['update-ref', '-d', 'refs/heads/main']);
  await expect(follow({ url: there.gitDir })).rejects.toThrow(/it has topic-0-x+, topic-1-x+/);
});
