/** The statuses that a move of the branch gives to commits, over restarts. */
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/object.ts';
import { CommitStatuses } from '../../../src/daemon/outgoing/commit-statuses.ts';
import { readStatus } from '../../../src/daemon/outgoing/status-payload.ts';
import type { NewDelivery } from '../../../src/outbox/delivery.ts';
import { SyncReport } from '../../../src/registry/sync-report.ts';
import { openTestPlatform, type TestPlatform, team } from '../../support/platform.ts';

interface Reporting {
  /** `applied <commit>`, oldest first. */
  report(): Promise<string[]>;
  readonly statuses: CommitStatuses;
}

function reporting(
  { branch, repository, judge: { verdicts }, store }: TestPlatform,
  { place = 'here', isDown = false } = {},
): Reporting {
  const enqueued: NewDelivery[] = [];
  const enqueue = async (
    deliveries: readonly NewDelivery[],
    documents: Readonly<Record<string, JsonObject | undefined>> = {},
  ): Promise<void> => {
    if (isDown) throw new Error('the disk is full');
    enqueued.push(...deliveries);
    store.apply([], documents);
  };
  const statuses = new CommitStatuses({
    outbox: { enqueue },
    store,
    repository,
    report: new SyncReport({ branch, repository, verdicts }),
    context: 'gitplane',
    place,
    onError: () => undefined,
  });
  const report = async (): Promise<string[]> => {
    await statuses.report();
    return enqueued.splice(0).map(({ payload }) => {
      const status = readStatus(payload['status']);
      return `${status?.commit} ${status?.state} ${status?.description}`;
    });
  };
  return { report, statuses };
}

const team_ = (name: string) => ({ [`teams/${name}.yaml`]: team(name) });

test('each commit of a push, one time, and none of before', async () => {
  const platform = await openTestPlatform();
  await platform.commit(team_('a'));
  const first = await platform.commit(team_('b'));
  await platform.branch.sync();
  const { report } = reporting(platform);
  expect(await report()).toEqual([`${first} success Applied`]);
  expect(await report()).toEqual([]);
  const second = await platform.commit(team_('c'));
  const third = await platform.commit({ 'teams/d.yaml': 'kind: [' });
  await platform.branch.sync();
  const [applied, degraded] = await report();
  expect(applied).toBe(`${second} success Applied`);
  expect(degraded).toContain(`${third} failure Degraded: teams/d.yaml:1:`);
});

test('nothing is left out after a failure, or after a crash in between', async () => {
  const platform = await openTestPlatform();
  await platform.commit(team_('a'));
  await platform.branch.sync();
  await reporting(platform).report();
  const next = await platform.commit(team_('b'));
  await platform.branch.sync();
  await expect(reporting(platform, { isDown: true }).report()).rejects.toThrow('the disk is full');
  const restarted = await platform.restart();
  expect(await reporting(restarted).report()).toEqual([`${next} success Applied`]);
  expect(await reporting(restarted).report()).toEqual([]);
});

test('a held commit is pending, and applied after its approval', async () => {
  const platform = await openTestPlatform({ budget: { objects: 0, percent: 0 } });
  await platform.commit({ ...team_('a'), ...team_('b') });
  await platform.branch.sync();
  const { report } = reporting(platform);
  await report();
  const held = await platform.commit({ 'teams/a.yaml': null });
  await platform.branch.sync();
  const [status] = await report();
  expect(status).toContain(`${held} pending Held: `);
  expect(await report()).toEqual([]);
  await platform.branch.approve({ revision: held, reason: 'meant', user: 'ann' });
  expect(await report()).toEqual([`${held} success Applied`]);
});

test('a long range gives statuses to its newest commits', async () => {
  const platform = await openTestPlatform();
  await platform.commit(team_('a'));
  await platform.branch.sync();
  const { report } = reporting(platform);
  await report();
  const commits: string[] = [];
  for (let n = 0; n < 25; n++) commits.push(await platform.commit(team_(`t${n}`)));
  await platform.branch.sync();
  const reported = await report();
  expect(reported.map((one) => one.split(' ')[0])).toEqual(commits.slice(-20));
});

test('another repository begins with its tip', async () => {
  const platform = await openTestPlatform();
  await platform.commit(team_('a'));
  const tip = await platform.commit(team_('b'));
  await platform.branch.sync();
  await reporting(platform).report();
  const elsewhere = reporting(platform, { place: 'elsewhere' });
  expect(await elsewhere.report()).toEqual([`${tip} success Applied`]);
});

test.each([
  {},
  { commit: 'HEAD', context: 'c', description: 'd', state: 'success' },
  { commit: 'a'.repeat(40), context: 'c', description: 'd', state: 'green' },
  { commit: 'a'.repeat(40), context: 'c', state: 'success' },
])('a status of another form is not sent: %j', (value) => {
  expect(readStatus(value)).toBeUndefined();
});
