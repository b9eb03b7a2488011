/** Objects that git would not make, in a push; and lines that a field of ours would like to forge. */
import { expect, test } from 'vitest';
import type { User } from '../../src/apimachinery/request.ts';
import { encodeCommit } from '../../src/git/objects/commit-object.ts';
import { authorOf, COMMITTER, commitMessage } from '../../src/registry/writes/commit-message.ts';
import { bareRepository, cloneForTest, git, tryGit } from '../support/git.ts';

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

test.each([
  ['a tree with a name of git itself', 'tree', (blob: Buffer) => entry('100644', '.git', blob)],
  ['a tree that leads out of itself', 'tree', (blob: Buffer) => entry('100644', '..', blob)],
  [
    'a tree with an entry twice',
    'tree',
    (blob: Buffer) => [...entry('100644', 'a', blob), ...entry('100644', 'a', blob)],
  ],
  ['a mode with a zero before it', 'tree', (blob: Buffer) => entry('0100644', 'a', blob)],
  [
    'a commit without an author',
    'commit',
    () => [...Buffer.from(`tree ${EMPTY_TREE}\ncommitter a <a@b> 1 +0000\n\nx\n`)],
  ],
  [
    'a commit whose time is no number',
    'commit',
    () => [
      ...Buffer.from(
        `tree ${EMPTY_TREE}\nauthor a <a@b> x +0000\ncommitter a <a@b> 1 +0000\n\nx\n`,
      ),
    ],
  ],
])('%s is refused before any user judges it', async (_what, type, content) => {
  const gitDir = await bareRepository();
  const clone = cloneForTest(gitDir);
  const make = (kind: string, input: Buffer | string): string =>
    git(clone, ['hash-object', '-w', '-t', kind, '--literally', '--stdin'], { input });
  make('tree', '');
  const blob = make('blob', 'x');
  const made = make(type, Buffer.from(content(Buffer.from(blob, 'hex'))));
  const commit = type === 'commit' ? made : git(clone, ['commit-tree', made, '-m', 'x']);

  const { status, stderr } = tryGit(clone, ['push', 'origin', `${commit}:refs/heads/main`]);

  expect(status).not.toBe(0);
  expect(stderr).toMatch(/fsck error|index-pack abnormal exit|unpack-objects abnormal exit/);
});

function entry(mode: string, name: string, blob: Buffer): number[] {
  return [...Buffer.from(`${mode} ${name}\0`), ...blob];
}

const FORGED = 'x>\ncommitter root <root@x> 1 +0000\n\nRollback-To: 0000';

test('no name and no address makes a line of its own in a commit', () => {
  const author = authorOf({ name: FORGED, email: FORGED, groups: [] } as User);
  const commit = { author, committer: COMMITTER, time: 1, message: 'm' };
  const [head = ''] = encodeCommit(commit, EMPTY_TREE, []).toString().split('\n\n');
  expect(head.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'tree',
    'author',
    'committer',
  ]);
  expect(head).toContain('\ncommitter gitplane <gitplane@noreply.gitplane.dev> 1 +0000');
});

test.each(['requestId', 'fieldManager', 'idempotencyKey', 'idempotencyDigest', 'reason'])(
  'a forged %s does not become a trailer of another name',
  async (field) => {
    const gitDir = await bareRepository();
    const key = { group: 'g', kind: 'Team', namespace: '', name: 'a' };
    const origin = {
      user: { name: 'a', groups: [] },
      requestId: 'real',
      [field]: `y\n\n${FORGED}\n`,
    };
    const message = commitMessage('update', key, origin);
    const trailers = git(gitDir, ['interpret-trailers', '--parse'], { input: message });
    expect(trailers).not.toMatch(/^Rollback-To:/m);
  },
);

test('no control character of a reason reaches a terminal', () => {
  const key = { group: 'g', kind: 'Team', namespace: '', name: 'a' };
  const reason = 'first\r\n\tsecond\u001b[2J\u0007\u009b1m\u0000';
  const message = commitMessage('update', key, { user: { name: 'a', groups: [] }, reason });
  expect(message).toBe('update Team "a"\n\nfirst\n\tsecond[2J1m');
});
