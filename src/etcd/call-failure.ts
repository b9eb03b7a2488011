/** Classification of failed calls to a member. */
import { type ServiceError, status } from '@grpc/grpc-js';
/**
 * `refused`: the call had no effect and a retry would not either. `elsewhere`: it had no effect, and may
 * succeed at another member or later. `sign-in`: it had no effect, since the token has expired.
 * `unknown`: it may have taken effect.
 */
export type FailureKind = 'refused' | 'elsewhere' | 'sign-in' | 'unknown';

const SIGN_IN = [
  'etcdserver: invalid auth token',
  'etcdserver: revision of auth store is old',
  'etcdserver: user name is empty',
];

/** Errors before the call had any effect, from etcd or from the library that did not send it. */
const NOT_DONE = [
  'etcdserver: no leader',
  'etcdserver: too many requests',
  'etcdserver: not capable',
  'etcdserver: rpc not supported for learner',
  'No connection established',
  'Name resolution failed',
  'Channel closed before call started',
];

const REFUSALS: readonly status[] = [
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.RESOURCE_EXHAUSTED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
];

export function classifyFailure(error: Pick<ServiceError, 'code' | 'details'>): FailureKind {
  const { code, details } = error;
  if (code === status.UNAUTHENTICATED || SIGN_IN.includes(details)) return 'sign-in';
  if (NOT_DONE.some((text) => details.startsWith(text))) return 'elsewhere';
  return REFUSALS.includes(code) ? 'refused' : 'unknown';
}

export function isFull(error: Pick<ServiceError, 'details'>): boolean {
  return error.details.includes('database space exceeded');
}

/** Advice for the operator, or an empty text. */
export function remedyFor({ code, details }: Pick<ServiceError, 'code' | 'details'>): string {
  if (isFull({ details })) {
    return '; make room in etcd (etcdctl compact, etcdctl defrag) or raise its --quota-backend-bytes, then run etcdctl alarm disarm';
  }
  if (code === status.PERMISSION_DENIED || details.includes('permission denied')) {
    return '; grant its user a role that may read and write everything below the prefix';
  }
  if (details.includes('authentication is not enabled'))
    return '; configure no user name, or enable authentication';
  if (details.includes('authentication failed')) return '; check the user name and the password';
  return '';
}
