/** A rate-limit quota as OpenBao has it: a number of requests in each of equal windows. */
export interface RateLimit {
  readonly requests: number;
  readonly intervalMs: number;
  /** Whether the operator turned response headers on. */
  readonly hasHeaders: boolean;
  /** Milliseconds. */
  readonly now: () => number;
}

export interface RateVerdict {
  readonly isAllowed: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** Judges requests in the order of the calls. */
export function rateLimit({ requests, intervalMs, hasHeaders, now }: RateLimit): () => RateVerdict {
  let window = Number.NEGATIVE_INFINITY;
  let used = 0;
  return () => {
    const current = Math.floor(now() / intervalMs);
    if (current !== window) used = 0;
    window = current;
    const isAllowed = used < requests;
    if (isAllowed) used += 1;
    const left = String(Math.floor(((current + 1) * intervalMs - now()) / 1_000));
    if (!hasHeaders) return { isAllowed, headers: {} };
    const headers = {
      'x-ratelimit-limit': String(requests),
      'x-ratelimit-remaining': String(requests - used),
      'x-ratelimit-reset': left,
      ...(!isAllowed && { 'retry-after': left }),
    };
    return { isAllowed, headers };
  };
}
