/**
 * A part of the configuration, with defaults.
 * Generated from schemas/cloud.json by `npx tsx scripts/docs.ts`.
 */
/** Settings of the hosted edition. */
export interface CloudConfig {
  /** Channel that decides which versions apply. */
  readonly releaseChannel?: string;
  /** When maintenance may happen. Nothing acts on it in this version. */
  readonly maintenanceWindow?: {
    /** Day of the week. */
    readonly dayOfWeek?:
      | 'Monday'
      | 'Tuesday'
      | 'Wednesday'
      | 'Thursday'
      | 'Friday'
      | 'Saturday'
      | 'Sunday';
    /** Hours of that day in UTC, as in `02:00-03:00`. */
    readonly timeWindow?: string;
  };
}
