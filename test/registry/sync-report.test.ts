/** Problems of a branch that declares one object thousands of times. */
import { expect, test } from 'vitest';
import { SyncReport } from '../../src/registry/sync-report.ts';
import { openTestPlatform, type TestPlatform } from '../support/platform.ts';

const PLACES = 3000;
const TEAM = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ops\n';

async function withDuplicates(): Promise<{ platform: TestPlatform; report: SyncReport }> {
  const platform = await openTestPlatform();
  const paths = Array.from({ length: PLACES }, (_, i) => `${i}.yaml`);
  await platform.commit(Object.fromEntries(paths.map((path) => [path, TEAM])));
  const { branch, repository } = platform;
  const { verdicts } = platform.judge;
  return { platform, report: new SyncReport({ branch, repository, verdicts }) };
}

test('the problems of thousands of places are found while other work goes on', async () => {
  const { report } = await withDuplicates();
  let ticks = 0;
  let next = setImmediate(function tick() {
    ticks += 1;
    next = setImmediate(tick);
  });

  const problems = await report.problems();
  clearImmediate(next);

  expect(problems).toHaveLength(PLACES);
  expect(problems[0]).toMatchObject({ path: '0.yaml', object: 'Team "ops"' });
  expect(ticks).toBeGreaterThan(0);
});

test('the problems are those of one revision while the branch moves on', async () => {
  const { platform, report } = await withDuplicates();
  const found = report.problems();

  await platform.commit({ '0.yaml': null, '1.yaml': null });

  expect(await found).toHaveLength(PLACES);
  expect(await report.problems()).toHaveLength(PLACES - 2);
});

test('a deletion of an object with thousands of places is refused with a few of them', async () => {
  const { platform } = await withDuplicates();

  await expect(platform.delete('teams', 'ops')).rejects.toThrow(
    /keep one of (\S+ \(document 1\),? ){5}and 2995 more places$/,
  );
});
