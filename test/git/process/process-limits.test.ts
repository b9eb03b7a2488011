/** Limits of git processes: a bomb ends its own request, and the error names the limit. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { BlobTooLargeError } from '../../../src/git/git-error.ts';
import { GitProcess, runGit } from '../../../src/git/process/git-process.ts';
import {
  GitLimitError,
  MAINTENANCE,
  QUERY,
  replies,
} from '../../../src/git/process/process-limits.ts';
import { compareCommits, diffTreeProtocol } from '../../../src/git/reading/diff-tree.ts';
import { Reader } from '../../../src/git/reading/reader.ts';
import { RequestProcess } from '../../../src/git/reading/request-process.ts';
import { sameTrees } from '../../hostile/bombs.ts';
import { commitOf, FILE, Pack, treeOf } from '../../hostile/objects.ts';
import { bareRepository, git } from '../../support/git.ts';

const linux = process.platform === 'linux';

/** A commit with so many paths as 10 to the power of `depth` + 1. */
function plantTrees(gitDir: string, depth: number): string {
  const pack = new Pack();
  const commit = pack.add('commit', commitOf(sameTrees(pack, 10, depth), []));
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  return commit;
}

test.runIf(linux)(
  'a tree of 10^8 paths ends its own comparison with an error, and others go on',
  async () => {
    const gitDir = await bareRepository();
    const bomb = plantTrees(gitDir, 8);
    const sound = plantTrees(gitDir, 1);
    const diffs = new RequestProcess({ gitDir }, diffTreeProtocol);
    onTestFinished(() => diffs.close());

    const compare = (commit: string): Promise<unknown> =>
      compareCommits(diffs, [{ commit, parent: undefined }]);
    const [before, ended, after] = await Promise.allSettled([sound, bomb, sound].map(compare));

    expect(before).toMatchObject({ status: 'fulfilled', value: [{ length: 10 }] });
    expect(after).toMatchObject({ status: 'fulfilled', value: [{ length: 10 }] });
    expect(ended).toMatchObject({ status: 'rejected', reason: { limit: 'memory' } });
    expect(String(ended?.status === 'rejected' && ended.reason)).toMatch(
      /git diff-tree needs more than its memory limit of 512 MiB\..*--git-memory/,
    );
  },
);

test('a list that is longer than the output limit is cut off with an error', async () => {
  const gitDir = await bareRepository();
  const bomb = plantTrees(gitDir, 8);
  const limits = { deadlineMs: 60_000, outputBytes: 1024 * 1024 };
  await expect(runGit({ gitDir }, ['ls-tree', '-r', bomb], limits)).rejects.toThrow(
    'git ls-tree wrote more than 1 MiB',
  );
});

test.runIf(linux)('a process is ended at its deadline, with all that it started', async () => {
  const gitDir = await bareRepository();
  const config = [['alias.nap', '!sleep 1000 & sleep 1000']] as const;
  const limits = { deadlineMs: 300, outputBytes: 1000 };
  const nap = new GitProcess({ gitDir, config }, ['nap'], limits);
  const group = Number(nap.pid);
  await expect.poll(() => membersOf(group).length).toBeGreaterThan(2);

  const end = await nap.ended;

  expect(nap.error(end)).toBeInstanceOf(GitLimitError);
  expect(nap.error(end).message).toContain('git nap did not finish within its deadline');
  await expect.poll(() => membersOf(group)).toEqual([]);
});

test.runIf(linux)(
  'a child of git that uses up its processor time is ended, and the error names the limit',
  async () => {
    const gitDir = await bareRepository();
    const config = [['alias.spin', '!exec sh -c "while :; do :; done"']] as const;
    const limits = { deadlineMs: 60_000, outputBytes: 1000, cpuSeconds: 1 };
    const spin = new GitProcess({ gitDir, config }, ['spin'], limits);

    const end = await spin.ended;

    expect(spin.error(end).message).toContain('git spin used up its 1 s of processor time');
  },
);

test.runIf(linux)(
  'children of background work run at a low priority from their start',
  async () => {
    const gitDir = await bareRepository();
    const config = [['alias.level', '!nice']] as const;
    const own = Number(execFileSync('nice').toString());
    const levels = [QUERY, MAINTENANCE].map((limits) =>
      runGit({ gitDir, config }, ['level'], limits).then(Number),
    );
    expect(await Promise.all(levels)).toEqual([own, Math.min(own + 10, 19)]);
  },
);

test.runIf(linux)('a process that stops answering is replaced at the deadline', async () => {
  const gitDir = await bareRepository();
  const commit = plantTrees(gitDir, 1);
  const limits = { ...replies(1_000_000), replyTimeoutMs: 500 };
  const diffs = new RequestProcess({ gitDir }, { ...diffTreeProtocol, limits });
  onTestFinished(() => diffs.close());
  const compare = (): Promise<unknown> => compareCommits(diffs, [{ commit, parent: undefined }]);
  await compare();
  for (const pid of childrenOf(process.pid)) {
    if (commandOf(pid).includes('diff-tree')) process.kill(pid, 'SIGSTOP');
  }

  await expect(compare()).rejects.toMatchObject({ limit: 'time' });
  await expect(compare()).resolves.toMatchObject([{ length: 10 }]);
});

test.runIf(linux)('an idle process meets no deadline', async () => {
  const gitDir = await bareRepository();
  const commit = plantTrees(gitDir, 1);
  const limits = { ...replies(1_000_000), replyTimeoutMs: 1000 };
  const diffs = new RequestProcess({ gitDir }, { ...diffTreeProtocol, limits });
  onTestFinished(() => diffs.close());
  const compare = (): Promise<unknown> => compareCommits(diffs, [{ commit, parent: undefined }]);
  await compare();
  const idle = childrenOf(process.pid);
  // Only time can show that nothing happens.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await compare();
  expect(childrenOf(process.pid)).toEqual(idle);
});

test('a blob that no git process has the memory for is too large, and no failure', async () => {
  const gitDir = await bareRepository();
  const pack = new Pack();
  const blobs = [pack.zeros(200 * 1024 * 1024), pack.blob('small')];
  const files = blobs.map((id, i) => ({ mode: FILE, name: `f${i}`, id }));
  pack.add('tree', treeOf(files));
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  const reader = new Reader({ gitDir });
  onTestFinished(() => reader.close());
  const [large, small] = await Promise.allSettled(blobs.map((id) => reader.readBlobs([id])));
  expect(large).toMatchObject({ status: 'rejected', reason: expect.any(BlobTooLargeError) });
  expect(small).toMatchObject({ status: 'fulfilled', value: [Buffer.from('small')] });
});

test('a commit that is too large to read has metadata without the message', async () => {
  const gitDir = await bareRepository();
  const pack = new Pack();
  const tree = pack.tree([]);
  const parents = ['One', 'Other'].map((message) =>
    pack.add('commit', commitOf(tree, [], { message })),
  );
  const id = pack.add('commit', commitOf(tree, parents, { message: 'm'.repeat(20 * 2 ** 20) }));
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  const reader = new Reader({ gitDir });
  onTestFinished(() => reader.close());
  const mallory = { name: 'Mallory', email: 'mallory@example.com' };
  const people = { author: mallory, committer: mallory };
  const note = { parents, ...people, committerTime: 1_700_000_000, message: '' };
  await expect(reader.commitMetadata(id)).resolves.toEqual(note);
  await expect(reader.diff(id, parents[0] ?? '')).resolves.toEqual([]);
});

function membersOf(group: number): number[] {
  return processes().filter((pid) => statOf(pid)?.group === group);
}

function childrenOf(parent: number): number[] {
  return processes().filter((pid) => statOf(pid)?.parent === parent);
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function statOf(pid: number): { parent: number; group: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : { parent: Number(parent), group: Number(group) };
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
