/** Scheduled jobs of running daemons: times that survive a stop, the window of the Config, replicas. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const MAINTENANCE = 'repository-maintenance';
const STATE_JOBS = [
  'cluster-events',
  'core-events',
  'endpoint-token-keys',
  'expired-keys',
  'oidc-keys',
];
const LONG = { timeout: 60_000, interval: 100 };
const MINUTE = 60_000;

/** Values by the labels of the metric. */
async function metric(daemon: Daemon, name: string, token?: string): Promise<Map<string, number>> {
  const options = token === undefined ? {} : { token };
  const { text } = await daemon.call('GET', '/metrics', options);
  const lines = text.matchAll(new RegExp(`^gitplane_job_${name}\\{(.*)\\} (\\S+)$`, 'gm'));
  return new Map([...lines].map(([, labels = '', value]) => [labels, Number(value)]));
}

async function nextRun(daemon: Daemon, token?: string): Promise<Date> {
  const next = await metric(daemon, 'next_run_timestamp_seconds', token);
  return new Date((next.get(`job="${MAINTENANCE}"`) ?? Number.NaN) * 1000);
}

function shown(date: Date): string {
  return `${date.toUTCString().slice(0, 3)} ${date.toISOString().slice(11, 19)}`;
}

interface Kept {
  readonly schedule: string;
  next: string;
  last?: { result: string };
}

function journal({ dataDir }: Pick<Daemon, 'dataDir'>): Kept | undefined {
  const text = readFileSync(join(dataDir, 'jobs.json'), 'utf8');
  return (JSON.parse(text) as Record<string, Kept>)[MAINTENANCE];
}

/** As if the daemon had been stopped at a time of the schedule. */
function missARun(of: Pick<Daemon, 'dataDir'>): void {
  const record = { ...journal(of), next: new Date(Date.now() - MINUTE).toISOString() };
  writeFileSync(join(of.dataDir, 'jobs.json'), JSON.stringify({ [MAINTENANCE]: record }));
}

function packsOf({ dataDir }: Pick<Daemon, 'dataDir'>): string[] {
  const names = readdirSync(join(dataDir, 'repo.git/objects/pack'));
  return names.filter((name) => name.endsWith('.pack'));
}

const SUCCEEDED = `job="${MAINTENANCE}",result="succeeded"`;

describe('a daemon', () => {
  let daemon: Daemon;

  /** Returns the warning, or `undefined` in letters. */
  const configure = async (cloud: object): Promise<string> => {
    const body = { spec: { raw: JSON.stringify({ cloud }) } };
    const type = 'application/merge-patch+json';
    const { code, headers } = await daemon.call('PATCH', `${API}/config/platform`, { body, type });
    expect(code).toBe(200);
    return String(headers['warning']);
  };

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test('shows the next run of each job, and keeps the time of maintenance', async () => {
    const next = await metric(daemon, 'next_run_timestamp_seconds');
    const names = [...next.keys()].map((labels) => labels.slice(5, -1)).sort();

    expect(names).toEqual([...STATE_JOBS, MAINTENANCE].sort());
    expect(shown(await nextRun(daemon))).toBe('Sun 03:00:00');
    expect(journal(daemon)).toMatchObject({ schedule: '0 3 * * 0' });
    expect(await metric(daemon, 'runs_total')).not.toContain(SUCCEEDED);
  });

  test('makes up for one run that it missed, once', async () => {
    for (let i = 0; i < 5; i++) {
      const metadata = { name: `team-${i}` };
      await daemon.call('POST', `${API}/teams`, { body: { kind: 'Team', metadata, spec: {} } });
    }
    await daemon.stop();
    const packs = packsOf(daemon).length;
    missARun(daemon);

    daemon = await startDaemon({ dataDir: daemon.dataDir });
    await expect
      .poll(async () => (await metric(daemon, 'runs_total')).get(SUCCEEDED), LONG)
      .toBe(1);
    await expect.poll(() => journal(daemon)?.last?.result, LONG).toBe('succeeded');

    expect(packsOf(daemon).length).toBeLessThan(packs);
    expect(shown(await nextRun(daemon))).toBe('Sun 03:00:00');
    await daemon.stop();
    const args = ['--maintenance-schedule', 'CRON_TZ=Asia/Tokyo 30 2 * * 1'];
    daemon = await startDaemon({ dataDir: daemon.dataDir, args });
    expect(shown(await nextRun(daemon))).toBe('Sun 17:30:00');
    expect((await metric(daemon, 'runs_total')).get(SUCCEEDED)).toBeUndefined();
  });

  // covers: cloud.maintenanceWindow.dayOfWeek cloud.maintenanceWindow.timeWindow
  test('keeps to the window of the Config, which wins, at once and without a warning', async () => {
    const maintenanceWindow = { dayOfWeek: 'Thursday', timeWindow: '22:30-01:00' };
    expect(await configure({ maintenanceWindow })).toBe('undefined');
    await expect.poll(async () => shown(await nextRun(daemon)), LONG).toBe('Thu 22:30:00');
    await configure({ maintenanceWindow: { timeWindow: '04:00-05:00' } });
    await expect.poll(async () => shown(await nextRun(daemon)), LONG).toMatch(/ 04:00:00$/);
    expect((await nextRun(daemon)).getTime()).toBeLessThan(Date.now() + 24 * 60 * MINUTE);
    await configure({});
    await expect.poll(async () => shown(await nextRun(daemon)), LONG).toBe('Sun 17:30:00');
  });

  test('makes up for missed runs within an open window, and not after it', async () => {
    const minutesAgo = (minutes: number): string =>
      new Date(Date.now() - minutes * MINUTE).toISOString().slice(11, 16);
    for (const [window, runs] of [
      [`${minutesAgo(120)}-${minutesAgo(60)}`, undefined],
      [`${minutesAgo(60)}-${minutesAgo(-60)}`, 1],
    ] as const) {
      await configure({ maintenanceWindow: { timeWindow: window } });
      const [hour, minute] = [window.slice(0, 2), window.slice(3, 5)].map(Number);
      await expect.poll(() => journal(daemon)?.schedule, LONG).toBe(`${minute} ${hour} * * *`);
      await daemon.stop();
      const record = {
        ...journal(daemon),
        next: new Date(Date.now() - 180 * MINUTE).toISOString(),
      };
      writeFileSync(join(daemon.dataDir, 'jobs.json'), JSON.stringify({ [MAINTENANCE]: record }));
      daemon = await startDaemon({ dataDir: daemon.dataDir });
      const count = async (): Promise<number | undefined> =>
        (await metric(daemon, 'runs_total')).get(SUCCEEDED);
      await expect.poll(count, LONG).toBe(runs);
      expect((await nextRun(daemon)).getTime()).toBeGreaterThan(Date.now());
    }
  });

  test('does without a journal that cannot be read, and without maintenance', async () => {
    await daemon.stop();
    writeFileSync(join(daemon.dataDir, 'jobs.json'), '{');
    const args = ['--maintenance-schedule', 'off'];
    daemon = await startDaemon({ dataDir: daemon.dataDir, args });
    await expect.poll(() => daemon.output()).toContain('The job times cannot be read');
    await configure({});
    await expect.poll(async () => (await nextRun(daemon)).getTime(), LONG).toBeNaN();
    expect([...(await metric(daemon, 'next_run_timestamp_seconds')).keys()]).toHaveLength(5);
  });
});

const title = ETCD_MISSING === undefined ? 'replicas' : `replicas (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;

  beforeAll(async () => {
    set = await startReplicas({ replicas: 2, members: 1, args: ['--leader-lease', '2'] });
  });
  afterAll(async () => {
    await set?.stop();
  });

  const scheduled = async (daemon: Daemon): Promise<string[]> => {
    const next = await metric(daemon, 'next_run_timestamp_seconds', set.token);
    return [...next.keys()].map((labels) => labels.slice(5, -1)).sort();
  };

  const all = [...STATE_JOBS, MAINTENANCE].sort();

  /** Waits until the leader alone has the jobs on the shared state: a busy machine may lose a lease of two seconds. */
  const divided = async (): Promise<{ leader: Replica; follower: Replica }> =>
    await vi.waitFor(async () => {
      const leader = await set.elected();
      const [follower] = set.replicas.filter((replica) => replica !== leader);
      if (follower === undefined) throw new Error('There is one replica');
      expect(await scheduled(leader.daemon)).toEqual(all);
      expect(await scheduled(follower.daemon)).toEqual([MAINTENANCE]);
      return { leader, follower };
    }, LONG);

  test('jobs on the shared state run where the leader runs, and maintenance on every disk', async () => {
    const { leader, follower } = await divided();
    await leader.stop();
    await expect.poll(() => scheduled(follower.daemon), LONG).toEqual(all);
    missARun(leader.daemon);
    await leader.start();
    const runs = async (): Promise<number | undefined> =>
      (await metric(leader.daemon, 'runs_total', set.token)).get(SUCCEEDED);
    await expect.poll(runs, LONG).toBe(1);
    await divided();
  });
});
