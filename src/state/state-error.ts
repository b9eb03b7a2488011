/** State that cannot be kept or read. The message names the place and says what to do about it. */
export class StateError extends Error {
  override readonly name = 'StateError';
}

/** For state that is there and makes no sense. Nothing in it is the only copy of desired state. */
export function unreadableState(place: string, why: string, cause?: unknown): StateError {
  return new StateError(
    `the state in ${place} cannot be read: ${why}; delete it, it is rebuilt from git`,
    { cause },
  );
}
