/** Tips that a push is offered, read from real histories. */
import { expect, test } from 'vitest';
import { NewestTips } from '../../../src/git/serve/newest-tips.ts';
import { bareRepository, git, openForTest } from '../../support/git.ts';

const COMMITS = 1500;

/** Makes a branch of `COMMITS` empty commits. Returns their ids, oldest first. */
function chain(gitDir: string): string[] {
  const commit = 'commit refs/heads/main\ncommitter a <a@example.com> 1700000000 +0000\ndata 0\n\n';
  git(gitDir, ['fast-import', '--quiet', '--done'], { input: `${commit.repeat(COMMITS)}done\n` });
  return git(gitDir, ['rev-list', '--reverse', 'refs/heads/main']).trim().split('\n');
}

test.each<[name: string, step: number]>([
  ['read at once', COMMITS],
  ['read after every 100 commits', 100],
  ['read after every 7 commits', 7],
])('every base has an offered commit at most a tenth further from the tip: %s', async (_, step) => {
  const gitDir = await bareRepository();
  const commits = chain(gitDir);
  const tips = new NewestTips((await openForTest({ gitDir })).ancestry);
  let offered: readonly string[] = [];
  for (let at = step; at <= COMMITS; at += step) offered = await tips.at(commits[at - 1]);
  const newest = Math.floor(COMMITS / step) * step - 1;
  const places = offered.map((id) => commits.indexOf(id));
  expect(places).toContain(newest);
  expect(places).toContain(0);
  expect(offered.length).toBeLessThan(180);
  for (let base = 0; base <= newest; base += 1) {
    const near = Math.max(...places.filter((place) => place <= base));
    expect(newest - near, `base ${base}`).toBeLessThanOrEqual(1.1 * (newest - base) + 1);
  }
});

test('commits that merges brought in are offered, the newest 64', async () => {
  const gitDir = await bareRepository();
  const tree = git(gitDir, ['mktree'], { input: '' }).trim();
  const make = (...parents: string[]): string =>
    git(gitDir, [
      ...['-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit-tree', tree, '-m', 'x'],
      ...parents.flatMap((id) => ['-p', id]),
    ]).trim();
  const first = make();
  const tips = new NewestTips((await openForTest({ gitDir })).ancestry);
  let tip = first;
  const pushed: string[] = [];
  for (let i = 0; i < 70; i += 1) {
    pushed.push(make(pushed.at(-1) ?? first));
    tip = make(tip, pushed.at(-1) ?? first);
    if (i % 9 === 0) await tips.at(tip);
  }
  const offered = await tips.at(tip);
  expect(pushed.filter((id) => offered.includes(id))).toEqual(pushed.slice(-64));
});
