/** The reason of a failed LMDB write, as text and as a code. */
import { getSystemErrorName } from 'node:util';

export interface CommitReason {
  readonly why: string;
  /** Such as `ENOSPC`. */
  readonly code: string;
}

/**
 * LMDB gives the reason of a failed commit in a separate promise, which must be handled and may
 * settle a moment later.
 */
export function commitReason(error: unknown): Promise<CommitReason> {
  const commitError =
    error instanceof Error && 'commitError' in error ? error.commitError : undefined;
  const general = new Promise<CommitReason>((resolve) =>
    setImmediate(() => resolve(reasonOf(error))),
  );
  if (!(commitError instanceof Promise)) return general;
  return Promise.race([commitError.then(() => general, reasonOf), general]);
}

/** Maps the error number of LMDB to the code of the operating system. */
function reasonOf(error: unknown): CommitReason {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return { why: reason(error), code };
  // Error numbers of LMDB itself are negative.
  const isErrno = typeof code === 'number' && code > 0;
  return { why: reason(error), code: isErrno ? getSystemErrorName(-code) : 'EIO' };
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
