/** Input and result of the sync of one object. */
import type { Difference, ManualReason, Resolution } from './decide.ts';
import type { Fingerprints } from './fingerprints.ts';
import type { SyncPolicy } from './policy.ts';
import type { GitSide, StoreSide, SyncMemory } from './ports.ts';

export interface SyncTask {
  readonly git: GitSide;
  readonly store: StoreSide;
  readonly memory: SyncMemory;
  readonly fingerprints: Fingerprints;
  readonly policy: SyncPolicy;
  /** Id of this daemon in markers; never changes. */
  readonly owner: string;
  /** True if this cycle may delete: the check for mass deletions has passed. */
  readonly mayDelete: boolean;
  readonly resolution?: Resolution;
  /** False in a cycle over some secrets, which runs soon after another one. */
  readonly isFull?: boolean;
}

export type SyncResult =
  | 'Synced'
  | 'Differs'
  | 'Held'
  /** A read was not trusted, or other writers were faster; the next cycle retries. */
  | 'Waiting'
  | 'Forgotten'
  | 'WantsDeletion';

export interface SyncOutcome {
  readonly result: SyncResult;
  readonly reason?:
    | Difference
    | ManualReason
    | 'StaleRead'
    | 'Unconfirmed'
    | 'Outrun'
    | 'TooLarge'
    | 'DeleteInStore'
    | 'DeleteInGit';
  /** Affected keys, never values. */
  readonly keys: readonly string[];
  readonly pulled: number;
  readonly pushed: number;
  readonly commit?: string;
  readonly version?: number;
  /** The newest known version, if the store shows an older one. */
  readonly known?: number;
}
