/** Texts that become times, and texts that do not. */
import { describe, expect, test } from 'vitest';
import {
  formatSchedule,
  parseSchedule,
  type Schedule,
  taskOf,
  windowSchedule,
} from '../../src/scheduler/schedule.ts';

/** So many runs from now on, in RFC 3339. */
function runs(schedule: Schedule, count: number): string[] {
  const task = taskOf(schedule, () => undefined);
  const dates = task.getNextRuns(count);
  void task.destroy();
  return dates.map((date) => date.toISOString());
}

describe('an expression', () => {
  test.each([
    ['30 2 * * *', 'T02:30:00.000Z'],
    ['CRON_TZ=UTC 30 2 * * *', 'T02:30:00.000Z'],
    ['CRON_TZ=Asia/Kolkata 30 2 * * *', 'T21:00:00.000Z'],
    ['  CRON_TZ=Asia/Tokyo   0 3 * * sun ', 'T18:00:00.000Z'],
    ['@weekly', 'T00:00:00.000Z'],
  ])('%s runs at %s', (text, time) => {
    for (const run of runs(parseSchedule(text), 3)) expect(run).toContain(time);
  });

  test.each(['30 2 * * *', 'CRON_TZ=Europe/Berlin 30 2 1 * *'])(
    '%s is written as it is read',
    (text) => {
      expect(formatSchedule(parseSchedule(text))).toBe(text);
    },
  );

  test('both fields of days have to match', () => {
    const days = runs(parseSchedule('0 0 13 * fri'), 3).map((run) => new Date(run));
    expect(days.map((day) => [day.getUTCDate(), day.getUTCDay()])).toEqual([
      [13, 5],
      [13, 5],
      [13, 5],
    ]);
  });

  // Runs of 400 days hold both changes of the clock.
  test.each([
    ['CRON_TZ=Europe/Berlin 30 3 * * *', 23, 25],
    ['CRON_TZ=America/New_York 30 3 * * *', 23, 25],
    // A time that the clock skips is skipped, and one that it repeats is used once.
    ['CRON_TZ=Europe/Berlin 30 2 * * *', 24, 47],
    ['CRON_TZ=UTC 30 2 * * *', 24, 24],
  ])('%s keeps to the time of its zone: %i to %i hours', (text, least, most) => {
    const times = runs(parseSchedule(text), 400).map((run) => Date.parse(run));
    const hours = times.slice(1).map((time, i) => (time - (times[i] ?? 0)) / 3_600_000);

    expect(Math.max(...hours)).toBe(most);
    expect(Math.min(...hours)).toBe(least);
  });

  test.each([
    ['', 'it has not five fields'],
    ['0 3 * *', 'it has not five fields'],
    ['0 0 3 * * 0', 'it has not five fields'],
    ['daily', 'it has not five fields'],
    ['60 3 * * 0', '"60" is not a minute'],
    ['0 24 * * 0', '"24" is not an hour'],
    ['0 3 0 * *', '"0" is not a day of the month'],
    ['0 3 * 13 *', '"13" is not a month'],
    ['0 3 * * 8', '"8" is not a day of the week'],
    ['0 3 31 2 *', '"31" is not a day of the month'],
    ['0 3 L-30 2 *', 'no day matches'],
    ['1.5 3 * * *', 'it is not an expression'],
    ['@never', 'it is not an expression'],
    ['0-999999999 3 * * *', 'it has a number that is too large'],
    ['CRON_TZ=Mars/Base 0 3 * * 0', '"Mars/Base" is not a time zone'],
    ['CRON_TZ= 0 3 * * 0', '"" is not a time zone'],
    ['TZ=UTC 0 3 * * 0', 'it has not five fields'],
  ])('%j is refused, with the place and the remedy', (text, problem) => {
    expect(() => parseSchedule(text)).toThrow(`${problem}: write the five fields of cron in UTC`);
  });
});

describe('a window', () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;
  test.each([
    [{ dayOfWeek: 'Monday', timeWindow: '02:00-03:00' }, '0 2 * * 1', HOUR, 7 * DAY],
    [{ dayOfWeek: 'Sunday', timeWindow: '23:30-01:00' }, '30 23 * * 0', 1.5 * HOUR, 7 * DAY],
    [{ dayOfWeek: 'Saturday' }, '0 0 * * 6', DAY, 7 * DAY],
    [{ timeWindow: '00:00-24:00' }, '0 0 * * *', DAY, DAY],
    [{ timeWindow: '22:15-24:00' }, '15 22 * * *', 1.75 * HOUR, DAY],
  ])('%o is %s in UTC', (window, cron, lengthMs, everyMs) => {
    const schedule = windowSchedule(window);

    expect(schedule).toEqual({ cron, timeZone: 'UTC', window: { lengthMs, everyMs } });
    expect(runs(parseSchedule(cron), 2)).toHaveLength(2);
  });

  test('a schedule without a day and hours has no window', () => {
    expect(windowSchedule({})).toBeUndefined();
  });
});
