/** What the daemon and a sandbox thread tell each other. Objects travel as JSON: it is cheaper. */
import type { PatchedTenant } from '../tenant.ts';
import type { Limits } from './limits.ts';

export const NO_PATCH = -1;

/** What a thread is started with. */
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
  /** A tenant that has not been asked about for long makes room for others. */
  | { readonly type: 'forget'; readonly id: string }
  | ApplyMessage;

export interface ApplyMessage {
  readonly type: 'apply';
  readonly job: number;
  readonly id: string;
  /** An ApplyRequest as JSON. */
  readonly request: string;
}

/** `outcome` is a PatchOutcome as JSON. */
export interface FromThread {
  readonly job: number;
  readonly outcome: string;
}
