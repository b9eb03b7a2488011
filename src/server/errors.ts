/** Turns each error into a Status. Only this file decides which text of an error clients see. */
import {
  forbiddenError,
  isRecord,
  StatusError,
  type StatusReason,
  tooLarge,
  unavailable,
} from '../apimachinery/index.ts';
import { GitLimitError, RefLockedError, RemoteError, StorageError } from '../git/index.ts';
import { DEFAULT_MAX_BODY_BYTES } from './input/body.ts';

interface StorageFailure {
  readonly code: number;
  readonly problem: string;
  /** Absent: the client can only wait. */
  readonly remedy?: string;
}

/** Failures of disk and etcd by error code. */
const STORAGE_CODES: Readonly<Record<string, StorageFailure>> = {
  ENOSPC: { code: 507, problem: 'The disk is full' },
  EDQUOT: { code: 507, problem: 'The disk quota is used up' },
  EROFS: { code: 503, problem: 'The disk is read-only' },
  EIO: { code: 503, problem: 'The disk fails' },
  EFULL: {
    code: 507,
    problem: 'The quota of etcd is used up',
    remedy:
      'make room in etcd (etcdctl compact, etcdctl defrag) or raise its --quota-backend-bytes, then run etcdctl alarm disarm',
  },
  EUNREACH: { code: 503, problem: 'etcd cannot be reached' },
  EREFUSED: { code: 503, problem: 'etcd refuses' },
  EQUEUE: { code: 429, problem: 'Too much waits for etcd' },
};
const STORAGE_REASONS: Readonly<Record<number, StatusReason>> = {
  429: 'TooManyRequests',
  507: 'InsufficientStorage',
};
const STORAGE_RETRY_SECONDS = 5;
const LOCK_RETRY_SECONDS = 2;
const NOTHING_WRITTEN = 'nothing was written';
const UNKNOWN_OUTCOME = 'the write may still take effect: read the object before trying again';

/** `unexpected`: a fault of the server. It is logged with its stack, and clients do not see its text. */
export function toStatusError(error: unknown): { status: StatusError; unexpected: boolean } {
  if (error instanceof StatusError) return { status: error, unexpected: false };
  if (error instanceof RemoteError) return { status: remoteStatus(error), unexpected: false };
  if (error instanceof RefLockedError) {
    const problem = 'Another git process holds the branch';
    const text = `${problem}: ${NOTHING_WRITTEN}; reads go on`;
    return { status: unavailable(text, LOCK_RETRY_SECONDS), unexpected: true };
  }
  if (error instanceof GitLimitError) {
    return { status: new StatusError(500, 'InternalError', error.message), unexpected: true };
  }
  const code = codeOf(error);
  const storage = storageStatus(error, code);
  if (storage !== undefined) return { status: storage, unexpected: true };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return { status: tooLarge(DEFAULT_MAX_BODY_BYTES), unexpected: false };
  }
  if (isBrokenOff(error)) {
    const text = 'The connection was closed before the whole body came';
    return { status: new StatusError(400, 'BadRequest', text), unexpected: false };
  }
  if (code?.startsWith('FST_ERR_') === true && isOfClient(error)) {
    return { status: new StatusError(400, 'BadRequest', messageOf(error)), unexpected: false };
  }
  const status = new StatusError(
    500,
    'InternalError',
    'Internal error occurred: see the log of the server',
  );
  return { status, unexpected: true };
}

/** True if the client closed the connection in the middle of a request (ECONNRESET). */
export function isBrokenOff(error: unknown): boolean {
  return isOfClient(error) && codeOf(error) === 'ECONNRESET';
}

/** Errors of Fastify carry the status code of their answer. */
function isOfClient(error: unknown): boolean {
  if (!(error instanceof Error) || !('statusCode' in error)) return false;
  return Number(error.statusCode) >= 400 && Number(error.statusCode) < 500;
}

function storageStatus(error: unknown, code: string | undefined): StatusError | undefined {
  const known = STORAGE_CODES[code ?? ''];
  if (known === undefined) return undefined;
  const moved = (error instanceof StorageError && error.moved) || isUnknown(error);
  const remedy = known.remedy === undefined ? '' : `; ${known.remedy}`;
  const text = `${known.problem}: ${moved ? UNKNOWN_OUTCOME : NOTHING_WRITTEN}; reads go on${remedy}`;
  const reason = STORAGE_REASONS[known.code] ?? 'ServiceUnavailable';
  return new StatusError(known.code, reason, text, { retryAfterSeconds: STORAGE_RETRY_SECONDS });
}

/** True if etcd may have done what it was asked to do. */
function isUnknown(error: unknown): boolean {
  return error instanceof Error && 'unknown' in error && error.unknown === true;
}

const REMOTE_RETRY_SECONDS = 5;
const SUSPENDED = 'Nothing was written; gitplane resume remote ends the suspension';
const REVIEW = 'Where a branch is protected, --write-branch sends writes to one for review.';

/** The text of the remote is shown only where it helps the caller. */
function remoteStatus({ problem, sentence, message }: RemoteError): StatusError {
  if (problem === 'refused') {
    return forbiddenError(`${message}. Nothing was written. ${REVIEW}`);
  }
  if (problem === 'suspended') {
    // Without Retry-After: kubectl would repeat the request ten times, silently, before it shows the reason.
    return new StatusError(503, 'ServiceUnavailable', `${message}. ${SUSPENDED}`);
  }
  const outcome = problem === 'unknown-outcome' ? UNKNOWN_OUTCOME : NOTHING_WRITTEN;
  return unavailable(`${sentence}: ${outcome}; reads go on`, REMOTE_RETRY_SECONDS);
}

function codeOf(error: unknown): string | undefined {
  if (!isRecord(error)) return undefined;
  const { code, cause } = error;
  if (typeof code === 'string') return code;
  return cause === undefined || cause === error ? undefined : codeOf(cause);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
