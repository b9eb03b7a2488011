/**
 * A part of the configuration, with defaults.
 * Generated from schemas/cloud.json by `npx tsx scripts/docs.ts`.
 */
/** Settings of the hosted edition. */
export interface CloudConfig {
  /** Channel that decides which versions apply. */
  readonly releaseChannel?: string;
  /** Window for maintenance of the repository: it is repacked once in each window. In place of `--maintenance-schedule`. */
  readonly maintenanceWindow?: {
    /** Day of the week. Absent: every day. */
    readonly dayOfWeek?:
      | 'Monday'
      | 'Tuesday'
      | 'Wednesday'
      | 'Thursday'
      | 'Friday'
      | 'Saturday'
      | 'Sunday';
    /** Hours of that day in UTC, as in `02:00-03:00`; `22:00-02:00` ends on the next day. Absent: the whole day. */
    readonly timeWindow?: string;
  };
}
