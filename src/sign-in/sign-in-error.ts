/** Why somebody was not let in. Browsers see `shown`; the reason is for log and audit. */
export class SignInError extends Error {
  /** A word for metrics and audit: `state-mismatch`, `not-a-member` … */
  readonly reason: string;
  /** 400 for a broken request, 403 for somebody who may not, 502–504 for a provider's fault. */
  readonly code: number;
  /** For a refresh: access is over, not merely unknown. */
  readonly isFinal: boolean;
  /** When it may be tried again, in seconds. */
  readonly retryAfterSeconds: number | undefined;
  readonly #shown: string | undefined;

  constructor(
    message: string,
    of: {
      reason: string;
      code?: number;
      isFinal?: boolean;
      retryAfterSeconds?: number;
      shown?: string;
      cause?: unknown;
    },
  ) {
    super(message, of.cause === undefined ? undefined : { cause: of.cause });
    this.name = 'SignInError';
    this.reason = of.reason;
    this.code = of.code ?? 400;
    this.isFinal = of.isFinal ?? this.code < 500;
    this.retryAfterSeconds = of.retryAfterSeconds;
    this.#shown = of.shown;
  }

  /** Nothing that came from outside is repeated to a browser. */
  get shown(): string {
    if (this.#shown !== undefined) return this.#shown;
    if (this.code === 401) return 'The user name or the password is wrong.';
    if (this.code === 403) return 'You may not sign in here.';
    if (this.code === 429) return 'Too many attempts. Wait a while, and try again.';
    if (this.code === 500) return 'Something went wrong here. Try again later.';
    return this.code >= 500
      ? 'The identity provider does not answer as it should. Try again later.'
      : 'Signing in did not work. Begin again.';
  }
}

/** `retryAfterSeconds`: when it may be tried again. */
export function tooManyAttempts(
  retryAfterSeconds: number,
  message = 'too many attempts to sign in',
): SignInError {
  return new SignInError(message, { reason: 'too-many', code: 429, retryAfterSeconds });
}
