/** What a sync of one object is asked to do, and what it says when it is done. */
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
  /** Who this daemon is in markers; the same for its whole life. */
  readonly owner: string;
  /** Whether this cycle may delete: the guard against mass deletions has counted. */
  readonly mayDelete: boolean;
  readonly resolution?: Resolution;
  /** False in a cycle over some secrets, which comes soon after another one. */
  readonly isFull?: boolean;
}

export type SyncResult =
  | 'Synced'
  | 'Differs'
  | 'Held'
  /** Nothing was believed or nobody else could be outrun; the next cycle tries again. */
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
  /** Keys it is about, never values. */
  readonly keys: readonly string[];
  readonly pulled: number;
  readonly pushed: number;
  readonly commit?: string;
  readonly version?: number;
  /** The newest version that is known, where the store shows an older one. */
  readonly known?: number;
}
