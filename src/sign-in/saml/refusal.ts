/** Refusal of a SAML response. */
export class Refusal extends Error {
  /** Code for metrics and audit. */
  readonly reason: string;
  /** 400: invalid response; 403: user not admitted; 502: provider, or its configuration. */
  readonly code: RefusalCode;

  /** `message` repeats nothing of the response. */
  constructor(
    message: string,
    of: { readonly reason: string; readonly code?: RefusalCode; readonly cause?: unknown },
  ) {
    super(message, of.cause === undefined ? undefined : { cause: of.cause });
    this.name = 'Refusal';
    this.reason = of.reason;
    this.code = of.code ?? 400;
  }
}

export type RefusalCode = 400 | 403 | 502;

/** Throws Refusal unless the condition holds. */
export function demand(holds: boolean, reason: string, message: string): asserts holds {
  if (!holds) throw new Refusal(message, { reason });
}
