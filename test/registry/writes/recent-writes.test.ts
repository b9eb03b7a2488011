/** Idempotency keys are found in the newest commits, whatever was pushed between them. */
import { expect, test } from 'vitest';
import { commitMessage } from '../../../src/registry/writes/commit-message.ts';
import { RecentWrites } from '../../../src/registry/writes/recent-writes.ts';
import { commitOf, Pack } from '../../hostile/objects.ts';
import { bareRepository, git } from '../../support/git.ts';

test('300 pushed commits with subjects of 1 MB hide no newer write', async () => {
  const gitDir = await bareRepository();
  const pack = new Pack();
  const tree = pack.tree([]);
  let tip = pack.add('commit', commitOf(tree, [], { message: 'first' }));
  for (let i = 0; i < 300; i++) {
    tip = pack.add('commit', commitOf(tree, [tip], { message: `${i} ${'m'.repeat(1_000_000)}` }));
  }
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  const key = { group: 'g', kind: 'Team', namespace: '', name: 'ops' };
  const user = { name: 'ada', groups: [], uid: 'u' };
  const message = commitMessage('update', key, { user, idempotencyKey: 'once' });
  const env = {
    GIT_AUTHOR_NAME: 'ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'gitplane',
    GIT_COMMITTER_EMAIL: 'gitplane@noreply.gitplane.dev',
  };
  const head = git(gitDir, ['commit-tree', tree, '-p', tip, '-m', message], { env });
  const writes = new RecentWrites();
  await writes.read({ gitDir }, head);
  expect(writes.find('ada', 'once', { verbs: ['update'], key })?.commit).toBe(head);
});
