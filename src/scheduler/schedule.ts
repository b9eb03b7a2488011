/** Schedule of a job: a cron expression, or a daily window. */
import { createTask, type ScheduledTask, type TaskFn, validateDetailed } from 'node-cron';

export interface Schedule {
  /** Five fields, or a nickname such as `@weekly`. Both day fields must match. */
  readonly cron: string;
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Absent: a run may start late and has no time limit. */
  readonly window?: Window;
}

interface Window {
  /** Milliseconds after a scheduled time within which a run starts and ends. */
  readonly lengthMs: number;
  /** Milliseconds between two scheduled times. */
  readonly everyMs: number;
}

/** An invalid schedule. The message gives the reason and the remedy. */
export class ScheduleError extends Error {}

export const UTC = 'UTC';
const FIELDS: Readonly<Record<string, string>> = {
  minute: 'a minute',
  hour: 'an hour',
  dayOfMonth: 'a day of the month',
  month: 'a month',
  dayOfWeek: 'a day of the week',
};
const REMEDY =
  'write the five fields of cron in UTC, as in "0 3 * * 0", or with a time zone, as in "CRON_TZ=Europe/Berlin 0 3 * * 0"';
/** The library expands ranges into lists: longer numbers would exhaust memory. */
const LONG_NUMBER = /\d{3}/;
const LONGEST = 256;

/** `<five fields>` or `CRON_TZ=<zone> <five fields>`. Throws ScheduleError. */
export function parseSchedule(text: string): Schedule {
  const [, timeZone = UTC, cron = ''] = /^(?:CRON_TZ=(\S*)\s+)?(.*)$/s.exec(text.trim()) ?? [];
  const problem = problemOf(cron) ?? zoneProblem(timeZone);
  if (problem !== undefined) throw new ScheduleError(`${problem}: ${REMEDY}`);
  const schedule = { cron, timeZone };
  try {
    nextRun(schedule);
  } catch (cause) {
    throw new ScheduleError(`no day matches: ${REMEDY}`, { cause });
  }
  return schedule;
}

/** The text that `parseSchedule` reads. */
export function formatSchedule({ cron, timeZone }: Schedule): string {
  return timeZone === UTC ? cron : `CRON_TZ=${timeZone} ${cron}`;
}

/** A task of node-cron that is not started. Its runs are late rather than skipped. */
export function taskOf({ cron, timeZone }: Schedule, run: TaskFn): ScheduledTask {
  return createTask(cron, run, {
    timezone: timeZone,
    unref: true,
    // Several times that passed while the process was suspended become one run.
    missedExecutionTolerance: Number.POSITIVE_INFINITY,
    suppressMissedWarning: true,
  });
}

function nextRun(schedule: Schedule): Date | undefined {
  const task = taskOf(schedule, () => undefined);
  try {
    return task.getNextRuns(1)[0];
  } finally {
    void task.destroy();
  }
}

function problemOf(cron: string): string | undefined {
  if (!cron.startsWith('@') && cron.split(/\s+/).length !== 5) return 'it has not five fields';
  if (cron.length > LONGEST || LONG_NUMBER.test(cron)) return 'it has a number that is too large';
  const { valid, errors } = validateDetailed(cron);
  if (valid) return undefined;
  const [{ field = '', value = '' } = {}] = errors;
  const name = FIELDS[field];
  return name === undefined ? 'it is not an expression' : `"${value}" is not ${name}`;
}

function zoneProblem(timeZone: string): string | undefined {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return undefined;
  } catch {
    return `"${timeZone}" is not a time zone`;
  }
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;

/**
 * The schedule of a window in UTC: on one weekday or every day, within hours (`22:00-02:00` ends on
 * the next day) or the whole day. Undefined without both.
 */
export function windowSchedule(of: {
  readonly dayOfWeek?: string;
  readonly timeWindow?: string;
}): Schedule | undefined {
  const { dayOfWeek, timeWindow } = of;
  if (dayOfWeek === undefined && timeWindow === undefined) return undefined;
  const [from = 0, to = 0] = (timeWindow ?? '00:00-24:00').split('-').map(minuteOf);
  const minutes = (to - from + DAY_MINUTES) % DAY_MINUTES || DAY_MINUTES;
  const day = dayOfWeek === undefined ? '*' : DAYS.indexOf(dayOfWeek);
  const everyMs = (dayOfWeek === undefined ? 1 : 7) * DAY_MINUTES * MINUTE_MS;
  return {
    cron: `${from % 60} ${Math.floor(from / 60)} * * ${day}`,
    timeZone: UTC,
    window: { lengthMs: minutes * MINUTE_MS, everyMs },
  };
}

/** Minutes since midnight of `hh:mm`. */
function minuteOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}
