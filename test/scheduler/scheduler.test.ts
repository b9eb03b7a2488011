/** Jobs of a table, run by node-cron: each second, as nobody should wait for minutes. */
import { setImmediate as tick } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Schedule } from '../../src/scheduler/schedule.ts';
import type { Job, JobRecord } from '../../src/scheduler/scheduled-job.ts';
import { Scheduler } from '../../src/scheduler/scheduler.ts';

const PATIENCE = { timeout: 20_000, interval: 20 };
const EACH_SECOND: Schedule = { cron: '* * * * * *', timeZone: 'UTC' };
/** Not before a test has ended. */
const FAR: Schedule = { cron: '0 3 29 2 *', timeZone: 'UTC' };
const HOUR = 3_600_000;

type Records = Record<string, JobRecord>;

function running(jobs: readonly Job[], kept?: Records) {
  const ran: [name: string, result: string][] = [];
  const next = new Map<string, Date | undefined>();
  const log = vi.fn<(fields: object, message: string) => void>();
  const disk = { records: kept ?? {} };
  const scheduler = new Scheduler({
    jobs,
    observer: {
      ran: (name, result) => ran.push([name, result]),
      next: (name, time) => next.set(name, time),
    },
    logger: { debug: log, warn: log, error: log },
    journal: {
      read: async () => disk.records,
      write: async (records) => {
        disk.records = structuredClone(records) as Records;
      },
    },
  });
  onTestFinished(() => scheduler.stop());
  return { scheduler, ran, next, log, disk };
}

/** Another job of each second has run twice: a job that was to run has had its time. */
async function twoSeconds(): Promise<void> {
  let runs = 0;
  const { scheduler } = running([
    { name: 'canary', schedule: EACH_SECOND, run: async () => (runs += 1) },
  ]);
  await scheduler.start();
  await expect.poll(() => runs, PATIENCE).toBeGreaterThanOrEqual(2);
  await scheduler.stop();
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

function ago(milliseconds: number): string {
  return new Date(Date.now() - milliseconds).toISOString();
}

test('a job runs at each of its times, and shows its next run', async () => {
  let runs = 0;
  const { scheduler, next, ran } = running([
    { name: 'often', schedule: EACH_SECOND, run: async () => (runs += 1) },
    { name: 'never', schedule: undefined, run: () => Promise.reject(new Error('it ran')) },
  ]);
  await scheduler.start();
  await expect.poll(() => runs, PATIENCE).toBeGreaterThanOrEqual(2);

  expect(ran[0]).toEqual(['often', 'succeeded']);
  expect(next.get('often')?.getTime()).toBeGreaterThan(Date.now() - 5000);
  expect(next.get('never')).toBeUndefined();
});

test('a job never overlaps itself: a time that comes meanwhile is left out, and counted', async () => {
  let atOnce = 0;
  let most = 0;
  let release = (): void => undefined;
  const { scheduler, ran } = running([
    {
      name: 'slow',
      schedule: EACH_SECOND,
      run: async (signal) => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        const released = new Promise<void>((resolve) => (release = resolve));
        await Promise.race([released, untilAborted(signal)]);
        atOnce -= 1;
      },
    },
  ]);
  await scheduler.start();
  await expect
    .poll(() => ran.filter(([, result]) => result === 'skipped').length, PATIENCE)
    .toBe(2);
  release();
  await expect.poll(() => ran.at(-1), PATIENCE).toEqual(['slow', 'succeeded']);
  release();

  expect(most).toBe(1);
});

test.each([
  ['rejects', () => Promise.reject(new Error('broken'))],
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
])('a job that %s is logged and counted, runs again, and harms no other', async (_, run) => {
  let others = 0;
  const { scheduler, ran, log } = running([
    { name: 'bad', schedule: EACH_SECOND, run },
    { name: 'good', schedule: EACH_SECOND, run: async () => (others += 1) },
  ]);
  await scheduler.start();
  const failures = (): number => ran.filter(([, result]) => result === 'failed').length;
  await expect.poll(failures, PATIENCE).toBeGreaterThanOrEqual(2);
  await expect.poll(() => others, PATIENCE).toBeGreaterThanOrEqual(2);

  expect(
    ran.filter(([name]) => name === 'good').every(([, result]) => result === 'succeeded'),
  ).toBe(true);
  const fields = { job: 'bad', err: expect.objectContaining({ message: 'broken' }) as unknown };
  expect(log).toHaveBeenCalledWith(fields, 'A scheduled job failed');
});

test('stopping interrupts the running job, waits for its end, and starts no other', async () => {
  let runs = 0;
  let ended = false;
  const { scheduler, ran } = running([
    {
      name: 'long',
      schedule: EACH_SECOND,
      run: async (signal) => {
        runs += 1;
        await untilAborted(signal).catch(() => undefined);
        await tick();
        ended = true;
        signal.throwIfAborted();
      },
    },
  ]);
  await scheduler.start();
  await expect.poll(() => runs, PATIENCE).toBe(1);
  await scheduler.stop();

  expect(ended).toBe(true);
  expect(ran.at(-1)).toEqual(['long', 'interrupted']);
  const before = runs;
  await twoSeconds();
  expect(runs).toBe(before);
});

test('a stop before the start has read its journal leaves nothing running', async () => {
  const { scheduler, ran } = running([{ name: 'late', schedule: EACH_SECOND, run: async () => 1 }]);
  const starting = scheduler.start();
  await scheduler.stop();
  await starting;
  await twoSeconds();

  expect(ran).toEqual([]);
});

const WINDOW = (startsAgo: number, lengthMs: number, now = Date.now()): Schedule => {
  const start = new Date(Math.floor((now - startsAgo) / 60_000) * 60_000);
  return {
    cron: `${start.getUTCMinutes()} ${start.getUTCHours()} * * *`,
    timeZone: 'UTC',
    window: { lengthMs, everyMs: 24 * HOUR },
  };
};

test.each<[string, Schedule, (schedule: Schedule) => JobRecord | undefined, number]>([
  ['a time that passed meanwhile', FAR, () => record(FAR, ago(HOUR)), 1],
  ['many times that passed meanwhile', EACH_SECOND, () => record(EACH_SECOND, ago(10 * HOUR)), 1],
  ['no time that passed', FAR, () => record(FAR, ago(-HOUR)), 0],
  ['a first start', FAR, () => undefined, 0],
  [
    'a time of another schedule',
    FAR,
    () => record({ cron: '0 4 * * *', timeZone: 'UTC' }, ago(HOUR)),
    0,
  ],
  ['a time of another zone', FAR, () => record({ ...FAR, timeZone: 'Asia/Tokyo' }, ago(HOUR)), 0],
  ['a record that is no time', FAR, () => record(FAR, 'soon'), 0],
  ['a window that has begun', WINDOW(HOUR, 2 * HOUR), (of) => record(of, ago(2 * HOUR)), 1],
  [
    'a window of a day that has begun',
    WINDOW(HOUR, 2 * HOUR),
    (of) => record(of, ago(30 * 24 * HOUR)),
    1,
  ],
  ['a window that is over', WINDOW(3 * HOUR, HOUR), (of) => record(of, ago(4 * HOUR)), 0],
  ['a window that was used', WINDOW(HOUR, 2 * HOUR), (of) => record(of, ago(-23 * HOUR)), 0],
])('a start makes up for missed runs: %s', async (_, schedule, kept, runs) => {
  let count = 0;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const job: Job = {
    name: 'kept',
    schedule,
    isMadeUp: true,
    // Further times are skipped meanwhile.
    run: (signal) => {
      count += 1;
      return Promise.race([held, untilAborted(signal)]);
    },
  };
  const found = kept(schedule);
  const { scheduler, disk } = running([job], found && { kept: found });
  await scheduler.start();
  await expect.poll(() => disk.records['kept']?.schedule, PATIENCE).toBeDefined();
  await expect.poll(() => count, PATIENCE).toBe(runs);

  // A process that is killed now does not begin it again.
  expect(Date.parse(disk.records['kept']?.next ?? '')).toBeGreaterThan(Date.now() - 2000);
  release();
  await scheduler.stop();
  expect(count).toBe(runs);

  const again = running([{ ...job, schedule: { ...schedule } }], disk.records);
  if (schedule !== EACH_SECOND) {
    await again.scheduler.start();
    await again.scheduler.stop();
    expect(count).toBe(runs);
  }
});

function record({ cron, timeZone }: Schedule, next: string): JobRecord {
  return { schedule: timeZone === 'UTC' ? cron : `CRON_TZ=${timeZone} ${cron}`, next };
}

test('a run that a stop interrupts is made up for by the next start', async () => {
  let begun = 0;
  const job: Job = {
    name: 'kept',
    schedule: FAR,
    isMadeUp: true,
    run: (signal) => {
      begun += 1;
      return begun === 1 ? untilAborted(signal) : Promise.resolve();
    },
  };
  const first = running([job], { kept: record(FAR, ago(HOUR)) });
  await first.scheduler.start();
  await expect.poll(() => begun, PATIENCE).toBe(1);
  await first.scheduler.stop();
  expect(first.disk.records['kept']?.last?.result).toBe('interrupted');

  const second = running([job], first.disk.records);
  await second.scheduler.start();
  await expect.poll(() => second.ran, PATIENCE).toEqual([['kept', 'succeeded']]);
  expect(begun).toBe(2);
});

test('a run ends with its window', async () => {
  const now = Date.now();
  const start = new Date(Math.floor(now / 60_000) * 60_000);
  const schedule = WINDOW(0, now - start.getTime() + 1500, now);
  const { scheduler, ran, log, disk } = running(
    [{ name: 'kept', schedule, isMadeUp: true, run: untilAborted }],
    { kept: record(schedule, start.toISOString()) },
  );
  await scheduler.start();
  await expect.poll(() => ran, PATIENCE).toEqual([['kept', 'interrupted']]);

  const message = 'A scheduled job did not end within its window: make it longer';
  expect(log).toHaveBeenCalledWith(expect.objectContaining({ job: 'kept' }), message);
  await scheduler.stop();
  expect(Date.parse(disk.records['kept']?.next ?? '')).toBeGreaterThan(Date.now());
});

test('a new schedule takes the place of the old one, and ends no run', async () => {
  let runs = 0;
  let release = (): void => undefined;
  const { scheduler, next, ran } = running([
    {
      name: 'moved',
      schedule: EACH_SECOND,
      run: (signal) => {
        runs += 1;
        const released = new Promise<void>((resolve) => (release = resolve));
        return Promise.race([released, untilAborted(signal)]);
      },
    },
  ]);
  await scheduler.start();
  await expect.poll(() => runs, PATIENCE).toBe(1);
  scheduler.reschedule('moved', FAR);
  const skipped = ran.length;
  await twoSeconds();
  expect(ran).toHaveLength(skipped);
  release();
  await expect.poll(() => ran.at(-1), PATIENCE).toEqual(['moved', 'succeeded']);

  expect(next.get('moved')?.toISOString()).toMatch(/-02-29T03:00:00.000Z$/);
  scheduler.reschedule('moved', undefined);
  expect(next.get('moved')).toBeUndefined();
  expect(runs).toBe(1);
});

test('an unwritable journal is reported, and jobs run all the same', async () => {
  let runs = 0;
  const log = vi.fn<(fields: object, message: string) => void>();
  const scheduler = new Scheduler({
    jobs: [{ name: 'kept', schedule: EACH_SECOND, isMadeUp: true, run: async () => (runs += 1) }],
    observer: { ran: () => undefined, next: () => undefined },
    logger: { debug: log, warn: log, error: log },
    journal: { read: async () => ({}), write: () => Promise.reject(new Error('disk full')) },
  });
  onTestFinished(() => scheduler.stop());
  await scheduler.start();
  await expect.poll(() => runs, PATIENCE).toBeGreaterThanOrEqual(1);

  expect(log).toHaveBeenCalledWith(expect.anything(), 'The journal of jobs cannot be written');
});
