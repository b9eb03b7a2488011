/** Why a response of a SAML provider is not taken. */
export class Refusal extends Error {
  /** A word for metrics and audit. */
  readonly reason: string;
  /** 400: the response is at fault; 403: the person; 502: the provider, or how it is configured. */
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

/** Throws Refusal unless it holds. */
export function demand(holds: boolean, reason: string, message: string): asserts holds {
  if (!holds) throw new Refusal(message, { reason });
}
