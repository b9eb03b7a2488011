/** A commit of a remote, merged into a branch aside: real git on both ends, and nothing that stays. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseRemoteAddress } from '../../../src/git/remote/address.ts';
import { Remote } from '../../../src/git/remote/remote.ts';
import { type TrialMerge, withTrialMerge } from '../../../src/git/remote/trial-merge.ts';
import { expectSound, foreignCommit, git, tryGit } from '../../support/git.ts';
import { elsewhere, follow } from '../../support/remote.ts';

const MIB = 2 ** 20;

/** A mirror of `there` as it is now, and trials in it. */
async function mirrorOf(there: ReturnType<typeof elsewhere>) {
  const { gitDir } = await follow({ url: there.gitDir });
  const base = there.head() ?? '';
  const address = parseRemoteAddress(there.gitDir);
  const trackingRef = 'refs/heads/main';
  const remote = new Remote({ address, access: {}, gitDir, ref: trackingRef, trackingRef });
  onTestFinished(() => remote.close());
  const merge = <T>(
    head: string,
    work: (trial: TrialMerge) => Promise<T>,
    { maxBytes = MIB, maxPaths = 1000, onto = base } = {},
  ): Promise<T> =>
    withTrialMerge({ remote, gitDir, maxPaths, maxBytes }, { base: onto, head }, work);
  return { gitDir, base, merge };
}

const isOf = async ({ is }: TrialMerge): Promise<string> => is;
const leftIn = (gitDir: string): string[] =>
  readdirSync(join(gitDir, 'objects')).filter((name) => name.startsWith('tmp_'));

/** Files that the trial has beyond the base. */
async function changedIn(trial: TrialMerge, base: string): Promise<unknown> {
  if (trial.is !== 'merged') return trial;
  const { source, commit } = trial;
  expect((await source.commitMetadata(commit)).parents).toEqual([base]);
  return (await source.diff(base, commit)).map(({ path }) => path);
}

test('a commit on top of the base, one that fell behind, and one that the base has', async () => {
  const there = elsewhere();
  const { gitDir, base, merge } = await mirrorOf(there);
  const ahead = there.commit({ more: '2' });
  expect(await merge(ahead, (trial) => changedIn(trial, base))).toEqual(['more']);
  const side = foreignCommit(there.gitDir, { parents: [base], files: { side: 'x', start: '1' } });
  const mirrored = await mirrorOf(there);
  expect(await mirrored.merge(side, (trial) => changedIn(trial, ahead))).toEqual(['side']);
  expect(await mirrored.merge(base, isOf)).toBe('contained');
  expect(tryGit(gitDir, ['cat-file', '-e', ahead]).status).not.toBe(0);
  expect(leftIn(gitDir)).toEqual([]);
  expect(git(gitDir, ['for-each-ref', '--format=%(objectname)']).split('\n')).not.toContain(ahead);
  expectSound(gitDir);
});

test('files that changed on both sides are named', async () => {
  const there = elsewhere();
  const { base } = await mirrorOf(there);
  const side = foreignCommit(there.gitDir, { parents: [base], files: { start: 'theirs' } });
  there.commit({ start: 'ours' });
  const { merge } = await mirrorOf(there);
  expect(await merge(side, async (trial) => trial)).toEqual({ is: 'conflict', paths: ['start'] });
});

test('objects beyond the limits are not walked, not merged and not left behind', async () => {
  const there = elsewhere();
  const { gitDir, merge } = await mirrorOf(there);
  const many = there.commit(
    Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}`, ''])),
  );
  const few = await merge(many, async (trial) => trial, { maxPaths: 5 });
  expect(few).toMatchObject({ is: 'refused', objections: [{ problem: expect.any(String) }] });
  const noise = Array.from({ length: 200_000 }, () => Math.random().toString(36)).join('\n');
  const large = there.commit({ large: noise });
  await expect(merge(large, isOf)).rejects.toThrow('brings more than 1 MiB');
  expect(leftIn(gitDir)).toEqual([]);
  await expect(merge('f'.repeat(40), isOf)).rejects.toThrow();
  await expect(merge(many, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(leftIn(gitDir)).toEqual([]);
});
