/** Why etcd did not do what it was asked. The message names the place and the remedy. */
export class EtcdError extends Error {
  /** It may have happened all the same. */
  readonly unknown: boolean;

  constructor(message: string, options: { cause?: unknown; unknown?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'EtcdError';
    this.unknown = options.unknown ?? false;
  }
}

/** etcd does not have that revision any more. */
export class CompactedRevisionError extends EtcdError {
  readonly revision: bigint;

  constructor(revision: bigint) {
    super(`Revision ${revision} of etcd was compacted`);
    this.name = 'CompactedRevisionError';
    this.revision = revision;
  }
}
