/** A transport that spreads requests, so that a store with many secrets is not asked all at once. */
import { setTimeout as delay } from 'node:timers/promises';
import type { StoreRequest, Transport } from '../secretsync/store/transport.ts';

export interface Pace {
  readonly perSecond: number;
  /** Requests that may come at once after a pause. */
  readonly burst: number;
}

/** Waits where too much was sent. `sending` is called after the wait; a request that it throws at is not sent. */
export function pacedTransport(
  transport: Transport,
  { perSecond, burst }: Pace,
  sending: (request: StoreRequest) => void,
): Transport {
  const gap = 1000 / perSecond;
  let next = 0;
  return {
    origin: transport.origin,
    prefix: transport.prefix ?? '',
    close: () => transport.close(),
    send: async (request) => {
      const now = performance.now();
      next = Math.max(next, now - burst * gap) + gap;
      if (next > now) await delay(next - now);
      sending(request);
      return await transport.send(request);
    },
  };
}
