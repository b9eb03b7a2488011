/** One job of a scheduler: its next run, mutual exclusion of its runs, and its end. */
import type { ScheduledTask } from 'node-cron';
import { deadline } from '../apimachinery/index.ts';
import { formatSchedule, type Schedule, taskOf } from './schedule.ts';

export interface Job {
  /** Lower case with dashes: its name in metrics and in the journal. */
  readonly name: string;
  /** Undefined: it does not run. */
  readonly schedule: Schedule | undefined;
  /** True: a time that passes while the daemon is stopped is made up for after the start. */
  readonly isMadeUp?: boolean;
  /** Rejects when it fails, and when the signal ends it early. */
  run(signal: AbortSignal): Promise<unknown> | undefined;
}

/**
 * `skipped`: the previous run was still active, or the window had ended; `interrupted`: its window,
 * or the daemon, ended.
 */
export type RunResult = 'succeeded' | 'failed' | 'skipped' | 'interrupted';

/** Entry of a job in the journal. */
export interface JobRecord {
  /** In the format of `formatSchedule`: a time of another schedule is ignored. */
  readonly schedule: string;
  /** Next time, in RFC 3339. */
  readonly next: string;
  readonly last?: LastRun;
}

interface LastRun {
  readonly started: string;
  readonly seconds: number;
  readonly result: RunResult;
}

export interface JobLogger {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Receives results and next times of jobs. */
export interface JobObserver {
  ran(name: string, result: RunResult, seconds: number): void;
  /** Undefined: it is not scheduled. */
  next(name: string, time: Date | undefined): void;
}

export interface ScheduledJobOptions {
  readonly job: Job;
  readonly observer: JobObserver;
  readonly logger: JobLogger;
  /** Resolves when the record is stored, or cannot be. Never rejects. */
  keep(record: JobRecord): Promise<void>;
}

export class ScheduledJob {
  readonly #options: ScheduledJobOptions;
  readonly #stopped = new AbortController();
  #schedule: Schedule | undefined;
  #task: ScheduledTask | undefined;
  #running: Promise<void> | undefined;
  #last: LastRun | undefined;

  constructor(options: ScheduledJobOptions) {
    this.#options = options;
  }

  /** Replaces the schedule. A current run continues, and a missed time is made up for. */
  schedule(schedule: Schedule | undefined, record?: JobRecord): void {
    void this.#task?.destroy();
    this.#task = undefined;
    this.#schedule = schedule;
    this.#last ??= record?.last;
    if (schedule !== undefined && !this.#stopped.signal.aborted) {
      this.#task = taskOf(schedule, ({ date }) => this.#run(date));
      void this.#task.start();
    }
    const missed = record && this.#missed(record);
    if (missed === undefined) void this.#saveNext();
    else void this.#run(missed);
  }

  /** Resolves when the job has ended; a current run is interrupted. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    void this.#task?.destroy();
    this.#task = undefined;
    await this.#running;
    this.#options.observer.next(this.#options.job.name, undefined);
  }

  /** The newest time that has passed without a run; undefined: none. */
  #missed({ schedule: of, next }: JobRecord): Date | undefined {
    const due = Date.parse(next);
    const schedule = this.#schedule;
    const upcoming = this.#task?.getNextRun()?.getTime();
    if (schedule === undefined || upcoming === undefined) return undefined;
    if (of !== formatSchedule(schedule) || !(due <= Date.now())) return undefined;
    if (schedule.window === undefined) return new Date(due);
    const newest = new Date(upcoming - schedule.window.everyMs);
    return newest.getTime() >= due ? newest : undefined;
  }

  /** Remaining milliseconds for a run of this time. */
  #restMs(time: Date): number {
    const { window } = this.#schedule ?? {};
    if (window === undefined) return Number.POSITIVE_INFINITY;
    return time.getTime() + window.lengthMs - Date.now();
  }

  #run(time: Date): Promise<void> {
    if (this.#running !== undefined || this.#restMs(time) <= 0) {
      this.#options.observer.ran(this.#options.job.name, 'skipped', 0);
      return this.#saveNext();
    }
    this.#running = this.#attempt(time).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #attempt(time: Date): Promise<void> {
    // Before the run, so that a run that ends the process is not repeated at each start.
    await this.#saveNext();
    const { job } = this.#options;
    // The window may have ended while the record was written.
    const restMs = Math.max(this.#restMs(time), 0);
    const { signal } = this.#stopped;
    const either = Number.isFinite(restMs) ? deadline(restMs, signal) : signal;
    const started = new Date();
    const begun = performance.now();
    let result: RunResult = 'succeeded';
    try {
      await job.run(either);
    } catch (err) {
      result = either.aborted ? 'interrupted' : 'failed';
      this.#tell(err, result);
    }
    const seconds = (performance.now() - begun) / 1000;
    this.#last = { started: started.toISOString(), seconds, result };
    this.#options.observer.ran(job.name, result, seconds);
    const isCutShort = result === 'interrupted' && signal.aborted;
    await this.#saveNext(isCutShort ? time : undefined);
  }

  #tell(err: unknown, result: RunResult): void {
    const { job, logger } = this.#options;
    const fields = { err, job: job.name };
    if (result === 'failed') logger.error(fields, 'A scheduled job failed');
    else if (this.#stopped.signal.aborted) logger.debug(fields, 'A scheduled job was interrupted');
    else logger.warn(fields, 'A scheduled job did not end within its window: make it longer');
  }

  /** Stores the next time: the given one, or the next of its schedule. */
  async #saveNext(time?: Date): Promise<void> {
    const { job, observer, keep } = this.#options;
    const next = time ?? this.#task?.getNextRun() ?? undefined;
    observer.next(job.name, next);
    if (job.isMadeUp !== true || this.#schedule === undefined || next === undefined) return;
    const last = this.#last === undefined ? {} : { last: this.#last };
    await keep({ schedule: formatSchedule(this.#schedule), next: next.toISOString(), ...last });
  }
}
