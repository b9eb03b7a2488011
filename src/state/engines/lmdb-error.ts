/** The reason of a failed LMDB write, as text and as a code. */

export interface CommitReason {
  readonly why: string;
  /** Such as `ENOSPC`. */
  readonly code: string;
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
