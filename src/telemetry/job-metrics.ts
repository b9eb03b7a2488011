/** Metrics of scheduled jobs. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface JobMetrics {
  ran(job: string, result: string, seconds: number): void;
  /** Undefined: the job is not scheduled. */
  next(job: string, time: Date | undefined): void;
}

export function createJobMetrics(registry: Registry): JobMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge<'job'> =>
    new Gauge({ name, help, labelNames: ['job'], registers });
  const runs = new Counter({
    name: 'gitplane_job_runs_total',
    help: 'Runs of scheduled jobs, by result: succeeded, failed, interrupted, or skipped because the previous run had not ended or the window had closed',
    labelNames: ['job', 'result'],
    registers,
  });
  const duration = gauge('gitplane_job_last_duration_seconds', 'Duration of the last run');
  const ended = gauge('gitplane_job_last_end_timestamp_seconds', 'End of the last run');
  const upcoming = gauge('gitplane_job_next_run_timestamp_seconds', 'Next run of the job');
  return {
    ran: (job, result, seconds) => {
      runs.inc({ job, result });
      if (result === 'skipped') return;
      duration.set({ job }, seconds);
      ended.set({ job }, Date.now() / 1000);
    },
    next: (job, time) => {
      if (time === undefined) upcoming.remove({ job });
      else upcoming.set({ job }, time.getTime() / 1000);
    },
  };
}
