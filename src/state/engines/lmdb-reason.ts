/** Why LMDB could not write, in words and as a code. */
import { getSystemErrorName } from 'node:util';

export interface CommitReason {
  readonly why: string;
  /** As in `ENOSPC`. */
  readonly code: string;
}

/**
 * LMDB says why a commit failed in a promise beside the error, which must be handled and may come a
 * moment later.
 */
export function commitReason(error: unknown): Promise<CommitReason> {
  const { commitError } = error as { commitError?: Promise<never> };
  const general = new Promise<CommitReason>((resolve) =>
    setImmediate(() => resolve(reasonOf(error))),
  );
  return commitError === undefined ? general : Promise.race([commitError.catch(reasonOf), general]);
}

/** LMDB gives the number of an error, and the disk has its reasons. */
function reasonOf(error: unknown): CommitReason {
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return { why: reason(error), code };
  // Those of LMDB itself are negative.
  const isErrno = typeof code === 'number' && code > 0;
  return { why: reason(error), code: isErrno ? getSystemErrorName(-code) : 'EIO' };
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
