/** `EFULL`: the quota is used up. `EUNREACH`: no member answers. `EREFUSED`: any other refusal. */
export type EtcdErrorCode = 'EFULL' | 'EUNREACH' | 'EREFUSED';

/** A failed call to etcd. The message contains the address and the remedy. */
export class EtcdError extends Error {
  /** True if the call may have taken effect nevertheless. */
  readonly unknown: boolean;
  /** Undefined: the client did not send the call, or could not parse the response. */
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

/** etcd has compacted the revision. */
export class CompactedRevisionError extends EtcdError {
  readonly revision: bigint;

  constructor(revision: bigint, options: ErrorOptions = {}) {
    super(`Revision ${revision} of etcd was compacted`, options);
    this.name = 'CompactedRevisionError';
    this.revision = revision;
  }
}
