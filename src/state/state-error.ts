/** State that cannot be kept or read. The message names the place and says what to do about it. */
export class StateError extends Error {
  override readonly name = 'StateError';
  /**
   * Of the disk below, as in `ENOSPC`; of etcd `EFULL` (its quota), `EUNREACH`, `EQUEUE` (too much
   * waits for it); undefined when they are not to blame.
   */
  readonly code: string | undefined;

  constructor(message: string, options: ErrorOptions & { code?: string } = {}) {
    super(message, options);
    this.code = options.code;
  }
}

/** For state that is there and makes no sense. Nothing in it is the only copy of desired state. */
export function unreadableState(place: string, why: string, cause?: unknown): StateError {
  return new StateError(
    `the state in ${place} cannot be read: ${why}; delete it, it is rebuilt from git`,
    { cause },
  );
}
