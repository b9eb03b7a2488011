/** Moves of the branch that nobody judged: what is held, who releases it, and what goes on. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { PruneApprovals } from '../../../src/registry/pushes/prune-approvals.ts';
import { SyncReport } from '../../../src/registry/sync-report.ts';
import { COMMITTER } from '../../../src/registry/writes/commit-message.ts';
import { foreignCommit, git, openForTest } from '../../support/git.ts';
import { openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

const budget = { objects: 2, percent: 20 };

type Files = Readonly<Record<string, string | null>>;

interface Commit {
  readonly files?: Files;
  readonly message?: string;
  /** Of the committer. */
  readonly name?: string;
  readonly email?: string;
}

/** Commits on top of `from`, each on the one before, without moving the branch. */
function commits(platform: TestPlatform, steps: readonly Commit[], from = 'main'): string {
  const { gitDir } = platform.repository;
  let parent = git(gitDir, ['rev-parse', from]);
  for (const { files = {}, message = 'm', name = 'Grace', email = 'grace@x' } of steps) {
    const committer = `${name} <${email}>`;
    parent = foreignCommit(gitDir, { parents: [parent], files, committer, message });
  }
  return parent;
}

/** A move by an operator, without hooks. */
async function move(platform: TestPlatform, revision: string): Promise<void> {
  git(platform.repository.gitDir, ['update-ref', 'refs/heads/main', revision]);
  await platform.branch.sync();
}

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const ALL: Files = Object.fromEntries(NAMES.map((name) => [`${name}.yaml`, team(name)]));

async function sixTeams(): Promise<{ platform: TestPlatform; first: string }> {
  const platform = await openTestPlatform({ budget });
  const first = await platform.commit(ALL);
  return { platform, first };
}

function without(...names: readonly string[]): Files {
  return Object.fromEntries(names.map((name) => [`${name}.yaml`, null]));
}

const approval = (revision: string) => ({ revision, user: 'ann', reason: 'meant so' });

describe('a move that removes more than the budget', () => {
  test('is held: readers see the last good state, and every object that would go is named', async () => {
    const { platform, first } = await sixTeams();
    const wipe = commits(platform, [{ files: { ...without('a', 'b', 'c'), 'g.yaml': team('g') } }]);

    await move(platform, wipe);

    expect(platform.names('teams')).toEqual(NAMES);
    expect(platform.branch.state.revision).toBe(first);
    expect(platform.branch.hold).toMatchObject({
      reason: 'PruneBudgetExceeded',
      revision: wipe,
      served: first,
      message: expect.stringContaining('would remove 3 of the 6 objects'),
      remedy: expect.stringContaining('Gitplane-Allow-Prune: 3'),
    });
    expect(platform.branch.hold?.prunes.map(({ path }) => path)).toEqual([
      'a.yaml',
      'b.yaml',
      'c.yaml',
    ]);
  });

  test('is never reported as applied, not even while it is examined', async () => {
    const { platform, first } = await sixTeams();
    const { branch, repository, judge } = platform;
    const report = new SyncReport({ branch, repository, verdicts: judge.verdicts });
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    const reported = new Set<string | undefined>();
    let isOver = false;

    const moved = move(platform, wipe).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      reported.add(report.revision);
      await setImmediate();
    }
    await moved;

    expect([...reported]).toEqual([first]);
    expect((await report.verdictOn(wipe))?.result).toBe('held');
  });

  test('a move within the budget needs no approval', async () => {
    const { platform } = await sixTeams();

    await move(platform, commits(platform, [{ files: without('a', 'b') }]));

    expect(platform.names('teams')).toEqual(['c', 'd', 'e', 'f']);
    expect(platform.branch.hold).toBeUndefined();
  });

  test('refuses writes with the reason, and no commit goes on top of it', async () => {
    const { platform } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    await move(platform, wipe);

    const write = platform.create('teams', { metadata: { name: 'x' } });

    await expect(write).rejects.toMatchObject({
      code: 503,
      message: expect.stringMatching(/would remove 3 of the 6 objects.*approve/),
    });
    expect(await platform.repository.head()).toBe(wipe);
  });

  test('is noticed by a write that comes before any user looked', async () => {
    const { platform } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    git(platform.repository.gitDir, ['update-ref', 'refs/heads/main', wipe]);

    await expect(platform.delete('teams', 'f')).rejects.toMatchObject({ code: 503 });

    expect(platform.names('teams')).toEqual(NAMES);
  });

  test.each<[string, readonly Commit[], readonly string[]]>([
    [
      'a newer commit whose trailer agrees',
      [{ message: 'yes\n\nGitplane-Allow-Prune: 3\n' }],
      ['d', 'e', 'f'],
    ],
    [
      'a newer commit that puts the objects back',
      [{ files: { 'a.yaml': ALL['a.yaml'] ?? '', 'moved.yaml': ALL['b.yaml'] ?? '' } }],
      ['a', 'b', 'd', 'e', 'f'],
    ],
    ['the operator, by moving the branch back', [], NAMES],
    [
      'an approval of an earlier commit, with more commits after it',
      [{ message: 'yes\n\nGitplane-Allow-Prune: 3' }, { files: { 'g.yaml': team('g') } }],
      ['d', 'e', 'f', 'g'],
    ],
  ])('is released by %s', async (_title, steps, names) => {
    const { platform, first } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    await move(platform, wipe);
    expect(platform.branch.hold).toBeDefined();

    await move(platform, steps.length === 0 ? first : commits(platform, steps));

    expect(platform.names('teams')).toEqual(names);
    expect(platform.branch.hold).toBeUndefined();
    await platform.create('teams', { metadata: { name: 'x' } });
  });

  test.each<[string, readonly Commit[]]>([
    ['whose trailer allows fewer', [{ message: 'yes\n\nGitplane-Allow-Prune: 2' }]],
    [
      'after an approved commit, one that removes even more',
      [
        { message: 'yes\n\nGitplane-Allow-Prune: 2' },
        { files: { ...without('d'), 'x.yaml': team('x') } },
      ],
    ],
  ])('is not released by a commit %s', async (_title, steps) => {
    const { platform } = await sixTeams();
    await move(platform, commits(platform, [{ files: without('a', 'b', 'c') }]));

    await move(platform, commits(platform, steps));

    expect(platform.names('teams')).toEqual(NAMES);
    expect(platform.branch.hold).toBeDefined();
  });

  test('commits after an approved one are held on their own, from there', async () => {
    const { platform } = await sixTeams();
    const agreed = commits(platform, [
      { files: without('a', 'b', 'c'), message: 'x\n\nGitplane-Allow-Prune: 3' },
    ]);
    const wipe = commits(platform, [{ files: without('d', 'e', 'f') }], agreed);

    await move(platform, wipe);

    expect(platform.names('teams')).toEqual(['d', 'e', 'f']);
    expect(platform.branch.hold).toMatchObject({ revision: wipe, served: agreed });
  });

  test('is released by an approval, which is used up', async () => {
    const { platform, first } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    await move(platform, wipe);

    await platform.branch.approve(approval(wipe));

    expect(platform.names('teams')).toEqual(['d', 'e', 'f']);
    expect(platform.branch.hold).toBeUndefined();
    expect(platform.branch.state.approvals.isApproved(wipe)).toBe(false);
    expect(platform.branch.state.approvals.isApproved(first)).toBe(false);
  });

  test('is not released by an approval of another revision', async () => {
    const { platform, first } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    await move(platform, wipe);

    await platform.branch.approve(approval(first));

    expect(platform.branch.hold).toMatchObject({ revision: wipe });
  });

  test('may be approved before it comes', async () => {
    const { platform } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);

    await platform.branch.approve(approval(wipe));
    await move(platform, wipe);

    expect(platform.names('teams')).toEqual(['d', 'e', 'f']);
  });

  test('is still held, or still approved, after a restart', async () => {
    const { platform } = await sixTeams();
    const wipe = commits(platform, [{ files: without('a', 'b', 'c') }]);
    await move(platform, wipe);

    const held = await platform.restart();
    expect(held.names('teams')).toEqual(NAMES);
    expect(held.branch.hold).toMatchObject({ revision: wipe, reason: 'PruneBudgetExceeded' });
    const upgraded = await held.restart({ rules: 'those of a newer version' });
    expect(upgraded.names('teams')).toEqual(NAMES);
    expect(upgraded.branch.hold).toMatchObject({ revision: wipe });

    await upgraded.branch.approve(approval(wipe));
    const released = await upgraded.restart();
    expect(released.names('teams')).toEqual(['d', 'e', 'f']);
  });
});

test('an approval is on stable storage when it is acknowledged', async () => {
  const { platform, first } = await sixTeams();
  const done: string[] = [];
  const approvals = new PruneApprovals({
    repository: platform.repository,
    store: {
      document: () => undefined,
      apply: () => {
        done.push('applied');
        return [];
      },
      flush: async () => {
        done.push('flushed');
      },
    },
    clock: Date,
    budget,
  });
  await approvals.approve(approval(first));
  expect(done).toEqual(['applied', 'flushed']);
});

describe('an empty checkout', () => {
  test.each([1, 2, 6])('never wipes a platform of %d', async (count) => {
    const platform = await openTestPlatform({ budget: { objects: 1e9, percent: 100 } });
    const names = NAMES.slice(0, count);
    await platform.commit(Object.fromEntries(names.map((name) => [`${name}.yaml`, team(name)])));

    await move(platform, commits(platform, [{ files: without(...names) }]));

    expect(platform.names('teams')).toEqual(names);
    expect(platform.branch.hold?.message).toMatch(/would remove (all|the only)/);
  });
});

describe('a wrong folder', () => {
  test('given at a restart never wipes, and the right one needs no approval', async () => {
    const platform = await openTestPlatform({ budget, under: 'platform' });
    const files = Object.entries(ALL).map(([path, text]) => [`platform/${path}`, text]);
    await platform.commit({ ...Object.fromEntries(files), 'other/x.yaml': team('x') });

    const wrong = await platform.restart({ under: 'other', rules: 'other' });
    expect(wrong.names('teams')).toEqual(NAMES);
    expect(wrong.branch.hold).toMatchObject({ reason: 'PruneBudgetExceeded' });
    await expect(wrong.create('teams', { metadata: { name: 'y' } })).rejects.toThrow(/all 6/);
    // A push cannot talk its way past the hold either.
    const pushed = await wrong.push(commits(wrong, [{ files: { 'other/z.yaml': team('z') } }]));
    expect(pushed.ok).toBe(false);

    const right = await wrong.restart({ under: 'platform', rules: 'rules' });
    expect(right.branch.hold).toBeUndefined();
    expect(right.names('teams')).toEqual(NAMES);
    await right.create('teams', { metadata: { name: 'y' } });
  });

  test('never wipes by the approval that the newest commit gave to its own removals', async () => {
    const platform = await openTestPlatform({ budget });
    await platform.commit(ALL);
    const message = 'm\n\nGitplane-Allow-Prune: 6';
    await move(platform, commits(platform, [{ files: without('a', 'b', 'c'), message }]));
    expect(platform.names('teams')).toEqual(['d', 'e', 'f']);

    const wrong = await platform.restart({ under: 'other', rules: 'other' });

    expect(wrong.names('teams')).toEqual(['d', 'e', 'f']);
    expect(wrong.branch.hold).toMatchObject({ reason: 'PruneBudgetExceeded' });
  });

  test('is followed after an approval', async () => {
    const platform = await openTestPlatform({ budget, under: 'platform' });
    const revision = await platform.commit({
      'platform/a.yaml': team('a'),
      'platform/b.yaml': team('b'),
      'other/x.yaml': team('x'),
    });
    const other = await platform.restart({ under: 'other', rules: 'other' });

    await other.branch.approve(approval(revision));

    expect(other.names('teams')).toEqual(['x']);
  });
});

describe('history that was rewritten', () => {
  async function rewritten(): Promise<{ platform: TestPlatform; first: string; tip: string }> {
    const { platform, first } = await sixTeams();
    await platform.commit({ 'g.yaml': team('g') });
    const tip = commits(platform, [{ files: { 'h.yaml': team('h') } }], first);
    return { platform, first, tip };
  }

  test('is held although it removes little, and served once it is acknowledged', async () => {
    const { platform, tip } = await rewritten();
    const applied = platform.branch.state.revision;

    await move(platform, tip);

    expect(platform.names('teams')).toEqual([...NAMES, 'g']);
    expect(platform.branch.hold).toMatchObject({
      reason: 'HistoryRewritten',
      revision: tip,
      served: applied,
    });
    expect(platform.branch.hold?.prunes.map(({ path }) => path)).toEqual(['g.yaml']);
    await platform.branch.approve(approval(tip));
    expect(platform.names('teams')).toEqual([...NAMES, 'h']);
    expect(platform.branch.hold).toBeUndefined();
  });

  test('is held where the branch was moved back, and until it is where it was', async () => {
    const { platform, first } = await rewritten();
    const applied = platform.branch.state.revision ?? '';

    await move(platform, first);
    expect(platform.branch.hold).toMatchObject({ reason: 'HistoryRewritten', revision: first });
    expect(platform.names('teams')).toContain('g');

    await move(platform, applied);
    expect(platform.branch.hold).toBeUndefined();
  });

  test('is held through restarts, with new rules too, and the approval outlives them', async () => {
    const { platform, tip } = await rewritten();
    await move(platform, tip);

    const again = await platform.restart();
    expect(again.branch.hold).toMatchObject({ reason: 'HistoryRewritten', revision: tip });
    const upgraded = await again.restart({ rules: 'those of a newer version' });
    expect(upgraded.branch.hold).toMatchObject({ reason: 'HistoryRewritten', revision: tip });
    expect(upgraded.names('teams')).toEqual([...NAMES, 'g']);

    await upgraded.branch.approve(approval(tip));
    const released = await upgraded.restart();
    expect(released.names('teams')).toEqual([...NAMES, 'h']);
  });

  test('is harmless again when a merge brings both lines together', async () => {
    const { platform, tip } = await rewritten();
    const applied = platform.branch.state.revision ?? '';
    await move(platform, tip);
    const { gitDir } = platform.repository;
    const merge = git(gitDir, ['merge-tree', '--write-tree', tip, applied]);
    const id = git(gitDir, ['commit-tree', merge, '-p', tip, '-p', applied, '-m', 'merge']);

    await move(platform, id);

    expect(platform.branch.hold).toBeUndefined();
    expect(platform.names('teams')).toEqual([...NAMES, 'g', 'h']);
  });

  test('rewritten history that lost served objects is held as well', async () => {
    const { platform } = await rewritten();
    const other = await openForTest();
    const elsewhere = await openTestPlatform({ repository: other });
    await elsewhere.commit({ 'z.yaml': team('z') });

    const moved = await platform.restart({ repository: other });

    expect(moved.branch.hold).toMatchObject({ reason: 'HistoryRewritten' });
    expect(moved.names('teams')).toEqual([...NAMES, 'g']);
  });
});

describe('a branch that is gone', () => {
  test('wipes nothing, refuses writes, and is fine again when it is put back', async () => {
    const { platform, first } = await sixTeams();
    git(platform.repository.gitDir, ['update-ref', '-d', 'refs/heads/main']);
    await platform.branch.sync();

    expect(platform.names('teams')).toEqual(NAMES);
    expect(platform.branch.hold).toMatchObject({
      reason: 'BranchMissing',
      remedy: `Put it back: git update-ref refs/heads/main ${first}`,
    });
    await expect(platform.delete('teams', 'a')).rejects.toMatchObject({ code: 503 });

    await move(platform, first);
    expect(platform.branch.hold).toBeUndefined();
    await platform.delete('teams', 'a');
  });
});

describe('removals through the API', () => {
  test('were agreed to one by one, even when readers see them late', async () => {
    const { platform } = await sixTeams();
    const own = COMMITTER;
    const steps = NAMES.slice(0, 5).map((name) => ({ files: without(name), ...own }));

    // As if the daemon had ended between the commits and their readers.
    await move(platform, commits(platform, steps));

    expect(platform.branch.hold).toBeUndefined();
    expect(platform.names('teams')).toEqual(['f']);
  });

  test('one commit with many removals does not count as a removal through the API, for any author', async () => {
    const { platform } = await sixTeams();

    await move(platform, commits(platform, [{ files: without('a', 'b', 'c'), ...COMMITTER }]));

    expect(platform.branch.hold).toBeDefined();
  });
});

test('a branch without any state has no predecessor: it is served as it is', async () => {
  const { platform } = await sixTeams();
  await move(platform, commits(platform, [{ files: without('a', 'b', 'c') }]));
  expect(platform.branch.hold).toBeDefined();

  const cold = await platform.restart({ disk: new Map() });

  expect(cold.branch.hold).toBeUndefined();
  expect(cold.names('teams')).toEqual(['d', 'e', 'f']);
});
