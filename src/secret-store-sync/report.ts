/** Report on the sync. */

import type { Attention } from './publisher.ts';
import type { PullReport } from './pull-run.ts';

export interface CycleSummary {
  readonly started: number;
  readonly milliseconds: number;
  readonly requests: number;
  readonly secrets: number;
  readonly pulled: number;
  readonly pushed: number;
}

/** State of the store. */
export interface StoreReport {
  readonly state: 'disabled' | 'available' | 'unavailable' | 'suspended';
  /** Reason why the configuration is not in use, or the store not available. */
  readonly problem: string | undefined;
  readonly warnings: readonly string[];
  readonly address: string | undefined;
  readonly namespace: string | undefined;
  readonly intervalMs: number | undefined;
}

/** One store, and the secrets linked to it. */
export interface StoreSyncReport extends StoreReport {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly attention: readonly Attention[];
  readonly lastCycle: CycleSummary | undefined;
  readonly pulls: readonly PullReport[];
}

/** The default store, with the counts and the attention list of all stores. */
export interface SecretSyncReport extends StoreSyncReport {
  /** The other stores. */
  readonly stores: readonly StoreSyncReport[];
}
