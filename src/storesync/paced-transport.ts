/** A transport that spreads requests, so that a store with many secrets is not asked all at once. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Transport } from '../secretsync/store/transport.ts';

export interface Pace {
  readonly perSecond: number;
  /** Requests that may come at once after a pause. */
  readonly burst: number;
}

/** Counts what is sent; waits where too much was. */
export function pacedTransport(
  transport: Transport,
  { perSecond, burst }: Pace,
  sent: () => void,
): Transport {
  const gap = 1000 / perSecond;
  let next = 0;
  return {
    origin: transport.origin,
    close: () => transport.close(),
    send: async (request) => {
      const now = performance.now();
      next = Math.max(next, now - burst * gap) + gap;
      if (next > now) await delay(next - now);
      sent();
      return await transport.send(request);
    },
  };
}
