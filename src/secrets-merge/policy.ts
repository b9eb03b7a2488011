/**
 * How one object follows the store: what its annotations say (docs: secret-store). Whatever could
 * remove or cover a value is off unless somebody asks for it.
 */

export type Direction = 'Pull' | 'Push' | 'Both';
/** Who wins where nothing tells which value is newer. */
export type Preference = 'Hold' | 'PreferGit' | 'PreferStore';

export interface SyncPolicy {
  readonly direction: Direction;
  /** When both sides hold something different and never agreed. */
  readonly adopt: Preference;
  /** When both sides changed the same key to different values. */
  readonly conflict: Preference;
  /** Keys that change together or not at all. `object`: all of them. */
  readonly merge: 'keys' | 'object' | readonly (readonly string[])[];
  readonly deletionInGit: 'Retain' | 'SoftDelete';
  readonly deletionInStore: 'Retain' | 'Delete';
  /** Keys of the store that git does not have. */
  readonly foreignKeys: 'Sync' | 'Ignore';
  /** Side that wins once the store was restored from an older copy; absent: as for all secrets. */
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
