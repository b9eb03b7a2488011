/**
 * Runs the jobs of a table at their times, each at most once at a time. A failed job is logged and
 * counted, and runs again at its next time.
 */
import { Mutex } from '../concurrency/index.ts';
import type { Schedule } from './schedule.ts';
import {
  type Job,
  type JobLogger,
  type JobObserver,
  type JobRecord,
  ScheduledJob,
} from './scheduled-job.ts';

/** Records of jobs by name, which survive a restart. */
export interface Journal {
  /** Never rejects: an unreadable journal is empty. */
  read(): Promise<Readonly<Record<string, JobRecord>>>;
  write(records: Readonly<Record<string, JobRecord>>): Promise<void>;
}

export interface SchedulerOptions {
  readonly jobs: readonly Job[];
  readonly observer: JobObserver;
  readonly logger: JobLogger;
  /** Absent: times that pass while the daemon is stopped are not known. */
  readonly journal?: Journal;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #jobs: ReadonlyMap<string, ScheduledJob>;
  #records: Readonly<Record<string, JobRecord>> = {};
  readonly #writes = new Mutex();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const keep = (name: string, record: JobRecord): Promise<void> => this.#keep(name, record);
    this.#jobs = new Map(
      options.jobs.map((job) => [
        job.name,
        new ScheduledJob({ ...options, job, keep: (record) => keep(job.name, record) }),
      ]),
    );
  }

  /** Makes up for missed times, and runs every job at its times from now on. */
  async start(): Promise<void> {
    this.#records = (await this.#options.journal?.read()) ?? {};
    for (const { name, schedule } of this.#options.jobs) this.reschedule(name, schedule);
  }

  /** Replaces the schedule of a job. Undefined: it no longer runs. */
  reschedule(name: string, schedule: Schedule | undefined): void {
    this.#jobs.get(name)?.schedule(schedule, this.#records[name]);
  }

  /** Interrupts current runs. Resolves when all have ended. */
  async stop(): Promise<void> {
    await Promise.all([...this.#jobs.values()].map((job) => job.stop()));
    await this.#writes.idle();
  }

  #keep(name: string, record: JobRecord): Promise<void> {
    const { journal, logger } = this.#options;
    this.#records = { ...this.#records, [name]: record };
    return this.#writes
      .run(() => journal?.write(this.#records))
      .catch((err: unknown) => logger.warn({ err }, 'The journal of jobs cannot be written'));
  }
}
