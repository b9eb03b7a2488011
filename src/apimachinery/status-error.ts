/**
 * Errors as clients of a Kubernetes API server expect them: a constructor per reason, each with
 * the wording kubectl and controllers know (reference: Kubernetes API, section 2.4).
 */
import { type FieldError, formatFieldError, formatPath } from './field-error.ts';

export type StatusReason =
  | ''
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'Invalid'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'InsufficientStorage'
  | 'Timeout';

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  /** The plural resource name, except for `Invalid`, where it is the kind. */
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, unknown>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code: number;
}

/** Resource of an error: `teams.management.gitplane.dev`. */
export interface ResourceName {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

export class StatusError extends Error {
  readonly code: number;
  readonly reason: StatusReason;
  readonly details: StatusDetails | undefined;
  /** List metadata of the Status, such as a continue token. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Texts of `Warning` headers. */
  warnings: readonly string[] = [];

  constructor(
    code: number,
    reason: StatusReason,
    message: string,
    details?: StatusDetails,
    metadata: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.metadata = metadata;
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: { ...this.metadata },
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** Runs `work`. If it throws a StatusError, adds the warnings: Kubernetes sends them with errors too. */
export function withWarnings<T>(warnings: readonly string[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StatusError) error.warnings = [...warnings, ...error.warnings];
    throw error;
  }
}

function qualified(resource: ResourceName): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

function about(resource: ResourceName, name: string): StatusDetails {
  return {
    ...(name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.plural,
  };
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

export function unauthorized(message = 'Unauthorized'): StatusError {
  return new StatusError(401, 'Unauthorized', message);
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError(429, 'TooManyRequests', message, { retryAfterSeconds });
}

/** `message` is the whole sentence; see `auth/authorizer.ts` for the usual wording. */
export function forbiddenError(message: string, resource?: ResourceName, name = ''): StatusError {
  return new StatusError(
    403,
    'Forbidden',
    message,
    resource === undefined ? undefined : about(resource, name),
  );
}

export function notFound(resource: ResourceName, name: string): StatusError {
  return new StatusError(
    404,
    'NotFound',
    `${qualified(resource)} ${JSON.stringify(name)} not found`,
    about(resource, name),
  );
}

export function noSuchRoute(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** 405 with the allowed methods (RFC 9110, section 15.5.6). */
export class MethodNotAllowedError extends StatusError {
  /** Methods of HTTP; they become the header `Allow`. */
  readonly allowed: readonly string[];

  constructor(message: string, details: StatusDetails, allowed: readonly string[]) {
    super(405, 'MethodNotAllowed', message, details);
    this.allowed = allowed;
  }
}

export function methodNotAllowed(
  verb: string,
  resource: ResourceName,
  allowed: readonly string[],
): StatusError {
  const message = `${verb} is not supported on resources of kind "${qualified(resource)}"`;
  return new MethodNotAllowedError(message, about(resource, ''), allowed);
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  return new StatusError(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${accepted.join(', ')}`,
  );
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

/** 415 for a Content-Encoding: only a body without one is read (RFC 9110, section 8.4). */
export function unsupportedContentEncoding(encoding: string): StatusError {
  return new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request has the content encoding ${JSON.stringify(encoding)}, which is not supported: send the body without Content-Encoding`,
  );
}

export function alreadyExists(resource: ResourceName, name: string): StatusError {
  return new StatusError(
    409,
    'AlreadyExists',
    `${qualified(resource)} ${JSON.stringify(name)} already exists`,
    about(resource, name),
  );
}

export function generateNameExhausted(resource: ResourceName, name: string): StatusError {
  return new StatusError(
    409,
    'AlreadyExists',
    `${qualified(resource)} ${JSON.stringify(name)} already exists, the server was not able to generate a unique name for the object`,
    { ...about(resource, name), retryAfterSeconds: 1 },
  );
}

export const MODIFIED_MEANWHILE =
  'the object has been modified; please apply your changes to the latest version and try again';

export function conflict(
  resource: ResourceName,
  name: string,
  why: string = MODIFIED_MEANWHILE,
): StatusError {
  return new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource)} ${JSON.stringify(name)}: ${why}`,
    about(resource, name),
  );
}

/** Limit of the problems in one answer: a body of 3 MB can have 200,000 of them. */
export const MOST_PROBLEMS = 100;

/** The first problems, and the number of those that an answer leaves out. */
export function firstProblems<T>(all: readonly T[]): { shown: readonly T[]; more: string[] } {
  const left = all.length - MOST_PROBLEMS;
  return { shown: all.slice(0, MOST_PROBLEMS), more: left > 0 ? [`and ${left} more`] : [] };
}

export function invalidObject(
  resource: ResourceName,
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const { shown, more } = firstProblems(errors);
  const texts = [...shown.map(formatFieldError), ...more];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const id = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;
  return new StatusError(422, 'Invalid', `${id} ${JSON.stringify(name)} is invalid: ${list}`, {
    ...(name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.kind,
    causes: shown.map((error) => ({
      reason: error.type,
      message: error.message,
      field: formatPath(error.path),
    })),
  });
}

/** A JSON patch that parses but cannot be applied: a failed test, a missing path. */
export function unprocessablePatch(detail: string): StatusError {
  return new StatusError(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: ${detail}`,
    {},
  );
}

export function expired(message: string, metadata?: { continue: string }): StatusError {
  return new StatusError(410, 'Expired', message, undefined, metadata);
}

export function tooLarge(limitBytes: number): StatusError {
  return new StatusError(
    413,
    'RequestEntityTooLarge',
    `Request entity too large: limit is ${limitBytes}`,
  );
}

export function resourceVersionTooLarge(wanted: number, current: number): StatusError {
  return new StatusError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}

export function unavailable(message: string, retryAfterSeconds = 1): StatusError {
  return new StatusError(503, 'ServiceUnavailable', message, { retryAfterSeconds });
}
