/** Public names of `scheduler/`: other folders import this file alone. */
export { parseSchedule, type Schedule, ScheduleError, windowSchedule } from './schedule.ts';
export type { Job, JobObserver, JobRecord } from './scheduled-job.ts';
export { type Journal, Scheduler } from './scheduler.ts';
