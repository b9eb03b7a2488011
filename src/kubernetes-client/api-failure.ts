/** A failed request to a Kubernetes API. */

/** Reason of an answer beyond the limits of this client. */
export const TOO_LARGE = 'AnswerTooLarge';

export class ApiFailure extends Error {
  /** HTTP status; 0 without an answer. */
  readonly code: number;
  /** Reason of a Status, such as `NotFound` or `Conflict`; `Unreachable` without an answer. */
  readonly reason: string;
  /** Delay that the server asks for. */
  readonly retryAfterSeconds: number | undefined;

  constructor(of: { code: number; reason: string; message: string; retryAfterSeconds?: number }) {
    super(of.message);
    this.name = 'ApiFailure';
    this.code = of.code;
    this.reason = of.reason;
    this.retryAfterSeconds = of.retryAfterSeconds;
  }

  /** True if the same request may succeed later without a change. */
  get isTransient(): boolean {
    const { code } = this;
    return code === 0 || code === 409 || code === 429 || code >= 500 || code === 408;
  }
}

export function unreachable(error: unknown): ApiFailure {
  const { code, message = String(error) } = error as { code?: string; message?: string };
  const why = code === undefined || message.includes(code) ? message : `${code}: ${message}`;
  return new ApiFailure({ code: 0, reason: 'Unreachable', message: why });
}

export function hasReason(error: unknown, ...reasons: readonly string[]): boolean {
  return error instanceof ApiFailure && reasons.includes(error.reason);
}
