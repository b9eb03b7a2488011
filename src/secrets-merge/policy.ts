/**
 * Sync policy of one object, from its annotations (docs: secret-store). Every option that could
 * remove or cover a value is off by default.
 */

export type Direction = 'Pull' | 'Push' | 'Both';
/** The winner if the newer value is unknown. */
export type Preference = 'Hold' | 'PreferGit' | 'PreferStore';

export interface SyncPolicy {
  readonly direction: Direction;
  /** For different values without an earlier agreement. */
  readonly adopt: Preference;
  /** For a key that both sides changed to different values. */
  readonly conflict: Preference;
  /** Keys that change together or not at all. `object`: all of them. */
  readonly merge: 'keys' | 'object' | readonly (readonly string[])[];
  readonly deletionInGit: 'Retain' | 'SoftDelete';
  readonly deletionInStore: 'Retain' | 'Delete';
  /** Keys of the store that git does not have. */
  readonly foreignKeys: 'Sync' | 'Ignore';
  /** Winner after the store was restored from an older copy; absent: the default of the store. */
  readonly storeOlder?: Preference;
}

export const DEFAULT_POLICY: SyncPolicy = {
  direction: 'Pull',
  adopt: 'Hold',
  conflict: 'Hold',
  merge: 'keys',
  deletionInGit: 'Retain',
  deletionInStore: 'Retain',
  foreignKeys: 'Sync',
};

export function mayPull(policy: SyncPolicy): boolean {
  return policy.direction !== 'Push';
}

export function mayPush(policy: SyncPolicy): boolean {
  return policy.direction !== 'Pull';
}
