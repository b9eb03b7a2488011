/**
 * Messages between the daemon and a sandbox thread. Objects travel as JSON: that is cheaper than a
 * structured clone.
 */
import type { PatchedTenant } from '../tenant.ts';
import type { Limits } from './limits.ts';

export const NO_PATCH = -1;

/** Data that a thread is started with. */
export interface ThreadData {
  readonly limits: Limits;
  /**
   * Two 32-bit numbers that the thread writes: the job that runs, its negative while the sandbox
   * for it is being made, 0 when none runs; and the patch whose expression runs, or NO_PATCH.
   */
  readonly current: SharedArrayBuffer;
}

export type ToThread =
  | { readonly type: 'program'; readonly id: string; readonly source: PatchedTenant }
  /** Evicts the program of a tenant that was not used for long. */
  | { readonly type: 'forget'; readonly id: string }
  | { readonly type: 'apply'; readonly jobs: readonly ThreadJob[] };

export interface ThreadJob {
  readonly job: number;
  /** Of the program. */
  readonly id: string;
  /** An ApplyRequest as JSON. */
  readonly request: string;
}

export interface ThreadAnswer {
  readonly job: number;
  /** A PatchOutcome as JSON. */
  readonly outcome: string;
}
