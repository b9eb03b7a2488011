/** Refusal of a sign-in. Browsers see `shown`; the reason is for log and audit. */
export class SignInError extends Error {
  /** Code for metrics and audit: `state-mismatch`, `not-a-member` … */
  readonly reason: string;
  /** 400 for a broken request, 403 for a refused user, 502–504 for a fault of the provider. */
  readonly code: number;
  /** For a refresh: access has ended, and is not merely unknown. */
  readonly isFinal: boolean;
  /** Seconds until a retry. */
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

  /** Text for browsers, which repeats nothing from outside. */
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

/** `retryAfterSeconds`: seconds until a retry. */
export function tooManyAttempts(
  retryAfterSeconds: number,
  message = 'too many attempts to sign in',
): SignInError {
  return new SignInError(message, { reason: 'too-many', code: 429, retryAfterSeconds });
}
