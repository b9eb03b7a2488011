/** What went wrong with a request to a Kubernetes API. */

export class ApiFailure extends Error {
  /** HTTP status; 0 where there was no answer. */
  readonly code: number;
  /** As in a Status: `NotFound`, `Conflict`; `Unreachable` where there was no answer. */
  readonly reason: string;
  /** How long the server asks to wait. */
  readonly retryAfterSeconds: number | undefined;

  constructor(of: { code: number; reason: string; message: string; retryAfterSeconds?: number }) {
    super(of.message);
    this.name = 'ApiFailure';
    this.code = of.code;
    this.reason = of.reason;
    this.retryAfterSeconds = of.retryAfterSeconds;
  }

  /** Whether the same request may succeed later, without anybody changing anything. */
  get isPassing(): boolean {
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
