/** Why etcd did not do what it was asked. The message names the place and the remedy. */
export class EtcdError extends Error {
  /** It may have happened all the same. */
  readonly unknown: boolean;
  /** `EFULL`: its quota is used up. `EUNREACH`: no member answers. Undefined: it refuses. */
  readonly code: 'EFULL' | 'EUNREACH' | undefined;

  constructor(
    message: string,
    options: { cause?: unknown; unknown?: boolean; code?: 'EFULL' | 'EUNREACH' | undefined } = {},
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
