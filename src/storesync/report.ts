/** How the sync stands, for whoever asks. */
import type { Attention } from './publisher.ts';

export interface CycleSummary {
  readonly started: number;
  readonly milliseconds: number;
  readonly requests: number;
  readonly secrets: number;
  readonly pulled: number;
  readonly pushed: number;
}

/** How the store stands. */
export interface StoreReport {
  readonly state: 'disabled' | 'available' | 'unavailable';
  /** Why the newest configuration is not in use, or the store not available. */
  readonly problem: string | undefined;
  readonly warnings: readonly string[];
  readonly address: string | undefined;
  readonly namespace: string | undefined;
  readonly intervalMs: number | undefined;
}

export interface SecretSyncReport extends StoreReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly attention: readonly Attention[];
  readonly lastCycle: CycleSummary | undefined;
}
