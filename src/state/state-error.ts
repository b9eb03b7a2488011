/** State that cannot be stored or read. The message names the place and the remedy. */
export class StateError extends Error {
  override readonly name = 'StateError';
  /**
   * Error code of the disk, such as `ENOSPC`; for etcd `EFULL` (quota), `EUNREACH` or `EQUEUE`
   * (queue is full). Undefined for other causes.
   */
  readonly code: string | undefined;

  constructor(message: string, options: ErrorOptions & { code?: string } = {}) {
    super(message, options);
    this.code = options.code;
  }
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Name of an error without its message, which may quote a secret. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** For records that exist and are invalid. The state is never the only copy of desired state. */
export function unreadableState(place: string, why: string, cause?: unknown): StateError {
  return new StateError(
    `the state in ${place} cannot be read: ${why}; delete it, it is rebuilt from git`,
    { cause },
  );
}
