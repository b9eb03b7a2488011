/** Public names of `scheduler/`. */
export { parseSchedule, type Schedule, ScheduleError, windowSchedule } from './schedule.ts';
export type { Job, JobObserver, JobRecord } from './scheduled-job.ts';
export { type Journal, Scheduler } from './scheduler.ts';
