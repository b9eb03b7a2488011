/** `EFULL`: its quota is used up. `EUNREACH`: no member answers. `EREFUSED`: it refuses otherwise. */
export type EtcdErrorCode = 'EFULL' | 'EUNREACH' | 'EREFUSED';

/** Why etcd did not do what it was asked. The message names the place and the remedy. */
export class EtcdError extends Error {
  /** It may have happened all the same. */
  readonly unknown: boolean;
  /** Undefined: the client did not ask etcd, or could not read its answer. */
  readonly code: EtcdErrorCode | undefined;

  constructor(
    message: string,
    options: { cause?: unknown; unknown?: boolean; code?: EtcdErrorCode | undefined } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'EtcdError';
    this.unknown = options.unknown ?? false;
    this.code = options.code;
  }
}

/** etcd does not have that revision any more. */
export class CompactedRevisionError extends EtcdError {
  readonly revision: bigint;

  constructor(revision: bigint, options: ErrorOptions = {}) {
    super(`Revision ${revision} of etcd was compacted`, options);
    this.name = 'CompactedRevisionError';
    this.revision = revision;
  }
}
